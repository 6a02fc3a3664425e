"""What the engine's own functions can reach by what definitions give them: programs, files, hosts, credentials.

A definition that others share may name any of them. What it would reach by a default or for an event is shown before it
is installed, and what is not declared here cannot be installed.
"""

from __future__ import annotations

from typing import Literal

# `sets`: a value that nobody typed, for a parameter that reaches nothing that is named here. `offers`: what agents may
# do, in words that their models read.
Reach = Literal["runs", "reads", "writes", "connects", "listens", "credentials", "sets", "offers"]
ITSELF = ""  # whatever its parameters are

_SIGN_IN: dict[str, Reach] = dict.fromkeys((ITSELF, "token", "client-secret", "email"), "credentials")
_QUEUE: dict[str, Reach] = {"queue": "connects", "inbox": "writes"}
_WORKING: dict[str, Reach] = {
    **dict.fromkeys(("handler", "routes"), "runs"),
    **dict.fromkeys(("forward-to", "queue"), "connects"),
    **dict.fromkeys(("tls-cert", "tls-key"), "reads"),
    "addr": "listens",
}
_LISTENING: dict[str, Reach] = {
    **_WORKING,
    **dict.fromkeys(("jwks-url", "public-url"), "connects"),
    **dict.fromkeys(("secret", "secret-key"), "credentials"),
    **dict.fromkeys(("insecure", "trust-proxy"), "listens"),
    "secret-file": "reads",
    "inbox": "writes",
}

# Registry → name in it → its parameter, or key → what that reaches.
REACH: dict[str, dict[str, dict[str, Reach]]] = {
    "builtin": {
        **{
            name: {}
            for name in (
                *("agent classify", "alias list", "completion", "config list-sites", "config path", "config view"),
                *("convert", "definitions path", "definitions schema", "definitions show", "doctor", "help", "events"),
                *("journals list", "op describe", "op list", "op search", "op skeleton", "programs check"),
                *("programs list", "auth status", "mcp tools", "version"),
            )
        },
        **{f"inbox {name}": _QUEUE for name in ("dead", "list", "show")},
        **{f"inbox {name}": {ITSELF: "writes", **_QUEUE} for name in ("purge", "replay")},
        "inbox ui": {ITSELF: "listens", "port": "listens", **_QUEUE},
        **{f"alias {name}": {ITSELF: "writes"} for name in ("remove", "set")},
        **{f"config {name}": {ITSELF: "writes"} for name in ("remove", "set", "use")},
        **{f"mcp {name}": {ITSELF: "writes", "project": "writes"} for name in ("disable", "enable")},
        **{f"webhook secret {name}": {ITSELF: "credentials"} for name in ("delete", "set")},
        "mirror": {ITSELF: "writes", "file": "writes", "to": "connects"},
        "watch": {ITSELF: "connects", "command": "runs", "routes": "runs", "inbox": "writes"},
        "apply": {ITSELF: "runs", "dir": "reads", "plan": "reads", "journal": "writes"},
        "plan": {ITSELF: "connects", "dir": "reads", "out": "writes"},
        "pull": {ITSELF: "writes", "dir": "writes"},
        "sql": {"file": "reads", "select": "reads"},
        "programs install": {ITSELF: "writes", "bin": "writes", "directory": "reads"},
        "programs link": {ITSELF: "writes", "bin": "writes"},
        "agent guard": {ITSELF: "writes", "dir": "writes"},
        "agent hook": {ITSELF: "reads"},
        "agent skill": {ITSELF: "writes", "dir": "writes"},
        "api": {ITSELF: "connects", "path": "connects", "header": "connects", "data": "reads", "out": "writes"},
        "auth login": _SIGN_IN,
        "auth logout": {ITSELF: "credentials"},
        "definitions check": {"path": "reads"},
        "definitions import": {ITSELF: "writes", "spec": "reads", "to": "writes", "address": "connects"},
        "definitions upgrade": {ITSELF: "writes", "path": "writes"},
        "init": {
            **_SIGN_IN,
            **dict.fromkeys(("base-url", "proxy"), "connects"),
            **dict.fromkeys(("ca-bundle", "client-cert", "client-key"), "reads"),
        },
        "journals show": {"file": "reads"},
        "listen": {ITSELF: "listens", **_LISTENING},
        "mcp list": {"project": "reads"},
        "mcp start": {ITSELF: "connects"},
        "mcp stream": {ITSELF: "listens", "token-file": "reads"},
        "mcp token": {ITSELF: "credentials"},
        "op call": {ITSELF: "connects", "data": "reads", "file": "reads", "out": "writes"},
        "open": {ITSELF: "runs"},
        "programs new": {ITSELF: "writes", "from": "reads", "bin": "writes", "base-url": "connects"},
        "programs remove": {ITSELF: "writes"},
        "programs run": {ITSELF: "runs", "program": "runs", "words": "runs"},
        "programs share": {ITSELF: "writes", "to": "writes"},
        "programs stubs": {ITSELF: "writes", "to": "writes"},
        "programs update": {ITSELF: "writes", "from": "reads", "base-url": "connects"},
        "sandbox reset": {ITSELF: "writes"},
        "sandbox start": {
            ITSELF: "listens",
            "port": "listens",
            "state": "writes",
            "webhooks": "connects",
            "webhook-secret-file": "reads",
        },
        "sandbox stop": {ITSELF: "writes"},
        "trigger": {
            ITSELF: "connects",
            "to": "connects",
            "data": "reads",
            "secret-file": "reads",
            "keys-addr": "listens",
            "jwt-key": "writes",
            "secret": "credentials",
            "secret-key": "credentials",
        },
        "ui": {ITSELF: "connects"},
        "undo": {ITSELF: "connects", "file": "reads", "journal": "writes"},
        "webhook check": {**_LISTENING, "handler": "reads", "routes": "reads"},
        "work": {ITSELF: "runs", **_WORKING},
    },
    "handler": {
        "append": {"file": "writes", "secrets": "credentials"},
        "command": {"run": "runs", "secrets": "credentials"},
        "exec": {"run": "runs", "secrets": "credentials"},
        "forward": {"url": "connects", "login": "credentials", "secrets": "credentials"},
        "publish": {"url": "connects", "login": "credentials"},
        "python": {"call": "runs", "program": "credentials", "secrets": "credentials", "site": "credentials"},
    },
    # A value that begins with @ names a file.
    "converter": {
        name: {ITSELF: "reads"} for name in ("adf", "json", "markdown", "storage", "text", "wiki", "wiki-of-adf")
    },
    "queue": {"jetstream": {"credentials": "credentials", "tls": "reads", "monitor": "connects"}},
}
# Options of a whole program.
OPTIONS: dict[str, Reach] = {
    "base-url": "connects",
    "journal": "writes",
    "out": "writes",
    "resume": "reads",
    "show-token": "credentials",
    "site": "credentials",
}
# Keys of other definitions, at any depth: kind → key → what it reaches.
KEYS: dict[str, dict[str, Reach]] = {
    "auth": {"scheme": "credentials", **dict.fromkeys(("authorize", "device", "token", "sites"), "connects")},
    "command": {"save": "writes", "files": "reads"},
    "host": {"user": "writes", "project": "writes", "path": "writes"},
    "service": {"base_url": "connects", "credential": "credentials", "gateway": "connects"},
    "source": {"env": "credentials", "vendor": "connects"},
}
