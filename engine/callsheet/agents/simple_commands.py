"""Simple commands of a shell line: which start a program of ours, which only read, and which nothing is known of."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from .shell_syntax import Unclear, Word

# What is known of the other programs in a shell line: which start what they name, and which only read.


def _names_in_text(text: str) -> frozenset[str]:
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
SETTINGS = _names_in_text("""
    APPDATA BASHOPTS ENV HOME HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PS4 SHELLOPTS USERPROFILE ZDOTDIR
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
    looking_up: tuple[str, ...] = ()
    adds_words: bool = False

    def kind_of(self, option: str) -> str | None:
        """What an option does; None for one that is not known."""
        if option in self.looking_up:
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
    "command": StartingProgram(plain=("-p", "--"), looking_up=("-v", "-V")),
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
_RUNNING_BUILTINS = frozenset({"builtin", "command"})  # what these start can set variables of the shell
# Programs that print, search or describe what they are given, and start nothing.
_READERS = _names_in_text("""
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
_QUIET_COMMANDS_OF_GIT = _names_in_text("""
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


_ENGINE = ("-m", "callsheet")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=")
# What may stand within a name, and beside it, in a text that is read once or twice more before it runs.
_QUOTES = re.compile(r"""\\+\r?\n|[\\'"]""")
_CONTINUATIONS = re.compile(r"\\+n"), re.compile(r"\\{2,}n")
_ESCAPES = re.compile(r"\\+(?:[0-7]{1,3}|x[\da-fA-F]{1,2}|[uU][\da-fA-F]{1,8}|[abeEfnrtv])|%[-+ #\d.*]*[A-Za-z]")
_SHELL_OPTION = re.compile(r"-[abefhklmnptuvxBCEHPT]*[co]?|--(?:login|norc|noprofile|posix)")
ADDED = Word("$@", fixed=False, several=True)  # what a program adds to the words that it was given
# What arrives on a command's standard input: nothing that the line knows of, something, or a text that names a program.
NOTHING, SOMETHING, NAMED = 0, 1, 2


class Invocation(NamedTuple):
    """`open`: words that stand nowhere in the line may be added at the end."""

    program: str
    words: tuple[Word, ...]
    open: bool = False


class CommandReader:
    """Goes through simple commands. What methods return tells whether what they print may name a program.

    `files_named`: such a text is written to a file; `starts_others`: something may read it there. `functions`: the line
    has some; `settings`: a variable that our programs go by is set for a command that may be one.
    """

    def __init__(self, programs: frozenset[str]) -> None:
        self.programs = programs
        names = "|".join(map(re.escape, sorted(programs)))
        edge = r"(?:(?<![\w.-])|(?<![\w-])-[A-Za-z]*?)"  # short options may stand right before a value
        self._name = re.compile(rf"{edge}(?:{names})(?![\w/-]|\.(?!exe\b)\w)", re.IGNORECASE)
        self._prefixes = tuple(f"{name.upper().replace('-', '_')}_" for name in programs) + SETTINGS_BEGIN
        self.found: list[Invocation] = []
        self.files_named = False
        self.starts_others = False
        self.functions = False
        self.settings = False

    def mentions_program(self, text: str) -> bool:
        """Whether a text names one of the programs, also where quotes and escapes stand in it or beside it."""
        joined = [text, *(each.sub("", text) for each in _CONTINUATIONS)]
        variants = [*joined, *(_ESCAPES.sub(" ", each) for each in joined)]
        return any(self._name.search(each) or self._name.search(_QUOTES.sub("", each)) for each in variants)

    def read_script(self, line: str, fed: int) -> bool:
        """Go through a line that a command runs."""
        raise NotImplementedError

    def refuse_setting(self, name: str) -> None:
        raise Unclear(f"{name} can change which program runs, and what it goes by")

    def is_setting(self, name: str) -> bool:
        return name in SETTINGS or name.startswith(self._prefixes)

    def read_call(self, words: Sequence[Word], fed: int, *, settings: bool = False, more: bool = False) -> bool:
        """`settings`: variables that our programs go by are set for this command; `more`: words are added to it."""
        if not words[0].fixed:
            raise Unclear("the command's name is only known when the line runs")
        name, rest = _program_name(words[0].text), words[1:]
        ours = self._note_own_program(name, rest)
        if ours is not None:
            if settings:
                raise Unclear("a variable before it can change what it goes by")
            self.found.append(ours._replace(open=more))
            return False
        if name in SHELLS | WRAPPERS.keys() | SEARCHERS | EVALUATING:
            if settings:
                raise Unclear(f"a variable before {name} can change what is started")
            return self._read_started_program(name, rest, fed, more=more)
        if only_reads(name, rest, more=more):
            named = fed == NAMED or any(word.named for word in rest)
            self.files_named = self.files_named or (named and name == "tee")
            return named
        self.settings = self.settings or settings
        return self._read_unknown_program(name, words, fed)

    def _note_own_program(self, name: str, rest: Sequence[Word]) -> Invocation | None:
        """Also `python -m callsheet PROGRAM ...`."""
        if name in self.programs:
            return Invocation(name, tuple(rest))
        module = [word.text for word in rest[:3] if word.fixed]
        if not PYTHON.fullmatch(name) or module[:2] != [*_ENGINE] or not self.programs.intersection(module[2:]):
            return None
        return Invocation(module[2], tuple(rest[3:]))

    def _read_started_program(self, name: str, rest: Sequence[Word], fed: int, *, more: bool) -> bool:
        if name in SHELLS:
            return self._read_shell(name, rest, fed, more=more)
        if name in WRAPPERS:
            return self._read_wrapper(name, rest, fed, more=more)
        if name in SEARCHERS:
            return self._read_find(rest, fed, more=more)
        return self._read_evaluated_text(name, rest, fed, more=more)

    def _read_unknown_program(self, name: str, words: Sequence[Word], fed: int) -> bool:
        """A program that may do anything with what it is given."""
        self.starts_others = True
        rest = words[1:]
        if fed == NAMED:
            raise Unclear(f"{name} may run what it reads")
        if words[0].named or any(_may_start(word, rest[place + 1 :]) for place, word in enumerate(rest)):
            raise Unclear(f"{name} may start one of these programs")
        if name in UNREADABLE | DECLARING:
            raise Unclear(f"{name} may give a name another meaning")
        if name in ASSIGNING:
            for word in rest:
                if not word.fixed or self.is_setting(word.text):
                    raise Unclear(f"{name} may change which program runs, and what it goes by")
        return False

    def _read_evaluated_text(self, name: str, rest: Sequence[Word], fed: int, *, more: bool) -> bool:
        """`eval`, `trap`, `.` and `source`. A file that is read is a script in a file, whoever names it."""
        reads_file = name in (".", "source") and not fed
        if more or not (reads_file or all(word.fixed for word in rest)):
            raise Unclear(f"what {name} runs is only known when the line runs")
        if name == "eval":
            return self.read_script(" ".join(word.text for word in rest), fed)
        if name == "trap":
            return bool(rest) and not rest[0].text.startswith("-") and self.read_script(rest[0].text, fed)
        self.starts_others = True
        if not rest or rest[0].text.startswith(("/dev/", "/proc/")) or any(word.named for word in rest):
            raise Unclear("a shell runs what it reads")
        return False

    def _read_shell(self, name: str, rest: Sequence[Word], fed: int, *, more: bool) -> bool:
        self.starts_others = True
        place = 0
        while place < len(rest) and rest[place].text.startswith("-"):
            option = rest[place]
            if not option.fixed or not _SHELL_OPTION.fullmatch(option.text):
                raise Unclear(f"{name} may start something by {option.text}")
            is_short = not option.text.startswith("--")
            place += 2 if is_short and option.text.endswith("o") else 1
            if is_short and option.text.endswith("c"):
                script, behind = rest[place : place + 1], rest[place + 1 :]
                if more or not script or not script[0].fixed or any(word.named for word in behind):
                    raise Unclear("what a shell is told to run is only known when the line runs")
                return self.read_script(script[0].text, fed)
        if place >= len(rest) and not fed and not more:
            return False  # it asks whoever started the line
        if place >= len(rest) or not rest[place].fixed or any(word.named for word in rest) or fed == NAMED:
            raise Unclear("a shell runs what it reads")
        if rest[place].text.startswith(("/dev/", "/proc/")):
            raise Unclear("a shell runs what it reads")
        return False

    def _read_wrapper(self, name: str, rest: Sequence[Word], fed: int, *, more: bool) -> bool:
        """Programs and builtins that start what stands behind their options."""
        wrapper = WRAPPERS[name]
        place = 0
        replaced = ""
        while place < len(rest) and rest[place].text.startswith("-") and rest[place].fixed:
            option = rest[place].text
            kind = wrapper.kind_of(option)
            if kind is None:
                if more or name in _RUNNING_BUILTINS or not all(word.fixed for word in rest):
                    raise Unclear(f"{name} may start something by {option}")
                return self._read_unknown_program(name, [Word(name), *rest], fed)
            place += 1
            if kind == "looks up":
                return any(word.named for word in rest)
            if kind == "replaces":
                replaced = option[2:] or (rest[place].text if place < len(rest) else "")
                place += not option[2:]
            elif kind == "takes a value":
                place += 1
        place += wrapper.operands
        if wrapper.subcommand:
            if place >= len(rest) or rest[place].text != wrapper.subcommand:
                return self._read_unknown_program(name, [Word(name), *rest], fed)
            place += 1
        settings = False
        while name == "env" and place < len(rest) and (found := _ASSIGNMENT.match(rest[place].text)):
            if rest[place].named:
                raise Unclear(f"{found[1]} may be started")
            settings = settings or self.is_setting(found[1])
            place += 1
        if not all(word.fixed for word in rest[:place] if not _ASSIGNMENT.match(word.text) or name != "env"):
            raise Unclear(f"what {name} starts is only known when the line runs")
        command = [_with_replaced(word, replaced) for word in rest[place:]]
        more = more or (wrapper.adds_words and not replaced)
        if command:
            return self.read_call(command, fed, settings=settings, more=more)
        if name == "exec" and fed:
            raise Unclear("what the line reads from now on is not known")
        if more and not wrapper.adds_words:
            raise Unclear(f"what {name} starts is only known when the line runs")
        return fed == NAMED

    def _read_find(self, rest: Sequence[Word], fed: int, *, more: bool) -> bool:
        """`find`, and what it starts for each file."""
        place, started = 0, False
        while place < len(rest):
            if rest[place].fixed and rest[place].text.startswith(("-exec", "-ok")):
                end = next((i for i in range(place, len(rest)) if rest[i].text in (";", "+")), len(rest))
                command = [_with_replaced(word, "{}") for word in rest[place + 1 : end]]
                adds = end < len(rest) and rest[end].text == "+"
                if not command or more:
                    raise Unclear("what find starts is only known when the line runs")
                self.read_call(command[:-1] if adds else command, fed, more=adds)
                place, started = end, True
            place += 1
        return not started and any(word.named for word in rest)


def _with_replaced(word: Word, replaced: str) -> Word:
    """Where a program puts something else in the place of a text."""
    if not replaced or replaced not in word.text:
        return word
    return word._replace(text=word.text.replace(replaced, ADDED.text), fixed=False)


def _program_name(text: str) -> str:
    """As the system finds it: on some of them it does not matter how a name is capitalized."""
    return text.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _may_start(word: Word, behind: Sequence[Word]) -> bool:
    """Whether the word is one of the programs, or a text that starts one.

    A directory of that name is neither, unless words stand behind it as they would behind a program.
    """
    if not word.named:
        return False
    if not word.fixed or not os.path.isdir(word.text):
        return True
    argument = next((each.text for each in behind if not each.text.startswith("-")), None)
    return "/" not in word.text and argument is not None and not os.path.lexists(argument)
