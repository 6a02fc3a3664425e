"""What is known of the other programs in a shell line: which start what they name, and which only read."""

from __future__ import annotations

from collections.abc import Sequence

# Words that stand before a command and are none.
RESERVED = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}", "coproc", "esac"}
)
DATA_FOLLOWS = frozenset({"for", "case", "select", "in"})
SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})
READS_A_SCRIPT = SHELLS | {".", "source"}
# Programs that start the program that they name.
STARTERS = frozenset(
    [
        "builtin",
        "chrt",
        "command",
        "doas",
        "env",
        "exec",
        "find",
        "ionice",
        "nice",
        "nohup",
        "parallel",
        "pipx",
        "poetry",
        "setsid",
        "stdbuf",
        "sudo",
        "time",
        "timeout",
        "uv",
        "uvx",
        "watch",
        "xargs",
    ]
)
FROM_INPUT = frozenset({"find", "parallel", "xargs"})  # these add words that stand nowhere in the line
# Programs that print, search or describe what they are given, and start nothing.
PRINTERS = frozenset({"cat", "echo", "printf"})
READERS = PRINTERS | frozenset(
    [
        "cd",
        "cmp",
        "diff",
        "egrep",
        "fgrep",
        "file",
        "git",
        "grep",
        "head",
        "jq",
        "less",
        "ls",
        "man",
        "mkdir",
        "more",
        "pip",
        "pip3",
        "pwd",
        "rg",
        "sort",
        "stat",
        "tail",
        "tee",
        "test",
        "touch",
        "tr",
        "type",
        "uniq",
        "wc",
        "whereis",
        "which",
    ]
)
# What makes one of these start a program all the same; long options may be abbreviated.
_STARTING_OPTIONS = {
    "git": ("--exec", "--ext-diff", "-O", "--op", "--upload", "--receive"),
    "man": ("-P", "--pag", "-H", "--html"),
    "rg": ("--pre", "--hostname"),
    "sort": ("--comp",),
}
# Commands of git that only take names, paths and messages.
_QUIET_OF_GIT = frozenset(
    [
        "add",
        "apply",
        "blame",
        "branch",
        "checkout",
        "cherry-pick",
        "clone",
        "commit",
        "describe",
        "diff",
        "fetch",
        "grep",
        "init",
        "log",
        "ls-files",
        "ls-tree",
        "merge",
        "mv",
        "notes",
        "push",
        "reset",
        "restore",
        "rev-list",
        "rev-parse",
        "revert",
        "rm",
        "shortlog",
        "show",
        "stash",
        "status",
        "switch",
        "tag",
        "worktree",
    ]
)
_OPTIONS_OF_GIT_WITH_A_VALUE = frozenset({"-C", "--git-dir", "--work-tree", "--namespace"})


def only_reads(name: str, arguments: Sequence[str]) -> bool:
    """Whether a program starts nothing that stands in these arguments."""
    if any(word.startswith(_STARTING_OPTIONS.get(name, ())) for word in arguments):
        return False
    if name == "find":
        return not any(word.startswith(("-exec", "-ok")) for word in arguments)
    return name in READERS and (name != "git" or _command_of_git(arguments) in _QUIET_OF_GIT)


def sets_alias(name: str, arguments: Sequence[str]) -> bool:
    """A program's own way to give a command another name, where it could start anything."""
    return name == "git" and any(
        word.startswith(("-c", "--exec-path", "--config-env", "config")) for word in arguments[:3]
    )


def _command_of_git(arguments: Sequence[str]) -> str:
    words = iter(arguments)
    for word in words:
        if word in _OPTIONS_OF_GIT_WITH_A_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return "status"
