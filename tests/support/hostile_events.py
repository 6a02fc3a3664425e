"""What a sender may put into an event so that the receiver does something with it."""

from __future__ import annotations

from support.hostile_text import EVERYTHING, TEXTS

# Text that would read a file, become an option, a command, another URL, another header, another definition.
VALUES = {
    "file": "@/etc/passwd",
    "standard input": "@-",
    "dash": "-",
    "long option": "--out=/tmp/evil",
    "short option": "-o/tmp/evil",
    "end of options": "--",
    "shell": "$(touch evil); `touch evil` | touch evil & touch evil",
    "new line": "one\ntwo --yes",
    "path": "../../admin?z=1#",
    "encoded path": "..%2f..%2fadmin",
    "authority": "@evil.example/",
    "port": ":2/steal",
    "whole address": "http://evil.example/steal",
    "header": "one\r\nX-Evil: two",
    "template": "{body.text}{secret}{{body}}",
    "JMESPath": "join(`,`, keys(@))",
    "mention": "@[~admin] [link](http://evil.example/)",
    "null": "a\x00b",
    "empty": "",
    "long": "x" * 100_000,
    "terminal": EVERYTHING,
    **TEXTS,
}
# What stands where text is expected.
TYPES = [None, True, 0, -1, 1.5, 1e308, 10**30, [], {}, [["x"]], {"x": {"y": []}}, "", "\ud800"]
