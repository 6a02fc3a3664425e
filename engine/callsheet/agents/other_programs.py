"""What is known of the other programs in a shell line: which start what they name, and which only read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .shell_words import Word


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})
EVALUATING = frozenset({"eval", "trap", ".", "source"})
SEARCHERS = frozenset({"find"})
# Builtins that a line could use to make a known name mean something else.
UNREADABLE = frozenset(["alias", "bind", "complete", "enable", "fc", "hash", "history", "let", "unalias"])
# Builtins that give the variables they name a value, or take it away.
ASSIGNING = frozenset(["getopts", "mapfile", "printf", "read", "readarray", "unset", "wait"])
DECLARING = frozenset({"declare", "export", "local", "readonly", "typeset"})
HARMLESS_DECLARING_OPTION = re.compile(r"-[xrgaApluf]+")
PYTHON = re.compile(r"python[\d.]*|py")
# Variables by which our programs, the shell or Python find what they run and what it goes by.
SETTINGS = _names("""
    APPDATA BASHOPTS ENV HOME HOMEDRIVE HOMEPATH IFS LOCALAPPDATA PATH PATHEXT PS4 SHELLOPTS USERPROFILE
    ZDOTDIR
    """)
SETTINGS_BEGIN = ("BASH_", "DYLD_", "LD_", "PYTHON", "XDG_")


class StartingProgram(NamedTuple):
    """How a program starts what it names: behind options, and so many `operands`, or one `subcommand`.

    `taking`: its options with a value, which may stand apart; any other may only be one of `plain`.
    """

    taking: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    operands: int = 0
    subcommand: str = ""
    adds_words: bool = False

    def kind_of(self, option: str) -> str | None:
        """What an option does; None for one that is not known."""
        if option in ("-v", "-V") and option not in self.taking and not self.plain:
            return "looks up"
        if self.adds_words and option[:2] == "-I":
            return "replaces"
        if option in self.taking:
            return "takes a value"
        attached = option.partition("=")[0] if option.startswith("--") else option[:2]
        return "plain" if option in self.plain or attached in self.taking else None


# Programs and builtins that start the program that they name.
WRAPPERS = {
    "builtin": StartingProgram(plain=("--",)),
    "command": StartingProgram(),
    "doas": StartingProgram(taking=("-u",), plain=("-n",)),
    "env": StartingProgram(plain=("--",)),
    "exec": StartingProgram(plain=("--",)),
    "ionice": StartingProgram(taking=("-c", "-n"), plain=("-t",)),
    "nice": StartingProgram(taking=("-n", "--adjustment"), plain=("--",)),
    "nohup": StartingProgram(plain=("--",)),
    "poetry": StartingProgram(plain=("-q",), subcommand="run"),
    "setsid": StartingProgram(plain=("-c", "-f", "-w")),
    "stdbuf": StartingProgram(taking=("-i", "-o", "-e"), plain=("--",)),
    "sudo": StartingProgram(taking=("-u", "-g"), plain=("-n", "-E", "-H", "-S", "--")),
    "time": StartingProgram(plain=("-p",)),
    "timeout": StartingProgram(
        taking=("-k", "-s", "--kill-after", "--signal"), plain=("--foreground", "-v"), operands=1
    ),
    "uv": StartingProgram(plain=("-q",), subcommand="run"),
    "xargs": StartingProgram(
        taking=("-d", "-n", "-P", "-L", "-s", "-E", "--max-args", "--max-procs", "--delimiter", "--max-lines"),
        plain=("-0", "-r", "-t", "-x", "-0r", "-r0", "--null", "--no-run-if-empty", "--verbose"),
        adds_words=True,
    ),
}
# Programs that print, search or describe what they are given, and start nothing.
_READERS = _names("""
    : [ basename cat cd cmp cut diff dirname echo egrep false fgrep file grep head jq ls mkdir printf
    pwd rg rm rmdir sort stat tail tee test touch tr true type uniq wc whereis which
    """)
# What makes one of these start a program or evaluate a text all the same; long options may be abbreviated.
_STARTING = {
    "[": re.compile(r"-[vR]$"),
    "test": re.compile(r"-[vR]$"),
    "printf": re.compile(r"-"),
    "rg": re.compile(r"--(pr|ho)"),
    "sort": re.compile(r"--co"),
}
_OPTIONS_OF_GIT_WITH_A_VALUE = frozenset({"-C", "--git-dir", "--work-tree", "--namespace"})
_OPTIONS_OF_GIT = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
_NOTHING = re.compile(r"(?!)")
_TRANSFERRING = re.compile(r"-\w*[uc]|--(u|r|e|co|te)|.*::")
_QUIET_COMMANDS_OF_GIT = _names("""
    add apply blame branch checkout cherry-pick commit describe diff init log ls-files ls-tree merge mv notes
    reset restore rev-list rev-parse revert rm shortlog show stash status switch tag worktree
    """)
# Commands of git that only take names, paths and messages, and what makes them start something.
_COMMANDS_OF_GIT = {
    **dict.fromkeys(_QUIET_COMMANDS_OF_GIT, _NOTHING),
    **dict.fromkeys(["clone", "fetch", "pull", "push"], _TRANSFERRING),
    "grep": re.compile(r"-\w*O|--op"),
}
_COMMANDS_OF_PIP = frozenset(["check", "download", "freeze", "install", "list", "show", "uninstall", "wheel"])

KNOWN = _READERS | SHELLS | WRAPPERS.keys() | SEARCHERS | EVALUATING | UNREADABLE | ASSIGNING | DECLARING | {"git"}


def only_reads(name: str, words: Sequence[Word], *, more: bool) -> bool:
    """Whether a program starts nothing that stands in these words. With `more`, others are added to them."""
    if name == "git":
        return _git_only_reads(words)
    if name in ("pip", "pip3"):
        return bool(words) and words[0].fixed and words[0].text in _COMMANDS_OF_PIP
    starting = _STARTING.get(name)
    if name not in _READERS or (starting and more):
        return False
    return starting is None or not any(starting.match(word.text) for word in words)


def _git_only_reads(words: Sequence[Word]) -> bool:
    place = 0
    while place < len(words) and words[place].text.startswith("-"):
        option = words[place].text
        if option in _OPTIONS_OF_GIT_WITH_A_VALUE:
            place += 1
        elif option not in _OPTIONS_OF_GIT and option.partition("=")[0] not in _OPTIONS_OF_GIT_WITH_A_VALUE:
            return False
        place += 1
    if place >= len(words) or not words[place].fixed:
        return False
    starting = _COMMANDS_OF_GIT.get(words[place].text)
    return starting is not None and not any(starting.match(word.text) for word in words[place + 1 :])
