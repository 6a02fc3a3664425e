"""Which programs of ours a shell line would start, and what a policy says of each, without running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ..language.safety import Safety
from ..policy.policy import Decision, PolicyVerdict
from .shell_syntax import Node, Unclear, Word, WrittenText, parse_statements, pieces_of_word, read_word
from .simple_commands import (
    ADDED,
    DECLARING,
    HARMLESS_DECLARING_OPTION,
    KNOWN,
    NAMED,
    NOTHING,
    SOMETHING,
    CommandReader,
    Invocation,
)

# Which programs of ours a shell line would start, and with which words.
#
# Only what is known to be harmless passes: every kind of node, every way to start a program and every place where one
# of the names stands is either understood here, or the line is unclear.

_DEEPEST = 4
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_OF_STATEMENTS = frozenset(
    ["Pos", "End", "Position", "Semicolon", "Comments", "Cmd", "Negated", "Background", "Redirs"]
)
_CALCULATING = frozenset({"ArithmCmd", "LetClause"})
_COMPOUND = _CALCULATING | {"Block", "CaseClause", "IfClause", "Subshell", "TestClause", "TimeClause", "WhileClause"}
_STATEMENTS = frozenset({"Body", "Cond", "Do", "Stmt", "Stmts", "Then"})


def find_invocations(line: str, programs: Collection[str]) -> list[Invocation]:
    """Raises `Unclear` where a program of ours may be started in a way that the line does not show."""
    reader = _LineReader(frozenset(programs))
    if not reader.mentions_program(line):
        return []
    try:
        reader.read_script(line, NOTHING)
    except RecursionError:
        raise Unclear("commands are nested too deeply") from None
    except (
        AttributeError,
        LookupError,
        TypeError,
    ):  # shfmt says some things in another shape, as a function without name
        raise Unclear("the guard cannot read how it is written") from None
    if reader.files_named and reader.starts_others:
        raise Unclear("what is written to a file may be started")
    if reader.functions and reader.settings:
        raise Unclear("a variable before a function can change what it starts")
    return reader.found


class _LineReader(CommandReader):
    """Goes through the statements of a line. What methods return tells whether what is printed names a program."""

    def __init__(self, programs: frozenset[str]) -> None:
        super().__init__(programs)
        self.source = b""
        self.depth = 0

    def read_script(self, line: str, fed: int) -> bool:
        if self.depth > _DEEPEST:
            raise Unclear("shells start shells")
        outer, self.source = self.source, line.encode(errors="replace")
        self.depth += 1
        named = self.read_statements(parse_statements(line), fed)
        self.depth -= 1
        self.source = outer
        return named

    def read_statements(self, nodes: Iterable[Node], fed: int) -> bool:
        return _any_of_all(self.read_statement(node, fed) for node in nodes)

    def read_statement(self, node: Node, fed: int) -> bool:
        if not node.keys() <= _OF_STATEMENTS:
            raise Unclear("it starts something in a way that the guard cannot read")
        to_file = False
        for redirection in node.get("Redirs", ()):
            operator, target = redirection["Op"], self.read_known_word(redirection["Word"])
            if "Hdoc" in redirection:
                self._check_delimiter(redirection["Word"])
                fed = max(fed, NAMED if self._names_program(redirection["Hdoc"]) else SOMETHING)
            elif operator.startswith("<"):
                fed = max(fed, NAMED if target.named and (operator == "<<<" or not target.fixed) else SOMETHING)
            else:
                to_file = to_file or not (target.text.isdigit() or target.text == "/dev/null")
        if "Cmd" not in node:
            return False
        named = self._read_command(node["Cmd"], fed)
        self.files_named = self.files_named or (named and to_file)
        return named

    def _check_delimiter(self, word: Node) -> None:
        """Shells disagree on what ends the text where the word has several kinds of quotes, or `$` before them."""
        parts = word["Parts"]
        if len(parts) != 1 or parts[0].get("Dollar") or "\\" in pieces_of_word(word).text:
            raise Unclear("it is not certain where a here-document ends")

    def _read_command(self, node: Node, fed: int) -> bool:
        kind = node["Type"]
        if kind in _COMPOUND:
            return self._parts_of_block(node, fed)
        if kind not in _KINDS:
            raise Unclear(f"the guard cannot read {kind}")
        return _KINDS[kind](self, node, fed)

    def _parts_of_block(self, node: Node, fed: int) -> bool:
        """What stands in a block, a loop or a test, in the order of the line."""
        named = False
        for key, value in node.items():
            if key in _STATEMENTS:
                named = self.read_statements(value if isinstance(value, list) else [value], fed) or named
            elif key in ("Else", "Items"):
                parts = value if isinstance(value, list) else [value]
                named = _any_of_all(self._parts_of_block(each, fed) for each in parts) or named
            elif key in ("Word", "Patterns", "X", "Exprs"):
                self._names_program(value, calculated=node.get("Type") in _CALCULATING)
        return named

    def read_pair(self, node: Node, fed: int) -> bool:
        named = self.read_statement(node["X"], fed)
        if not node["Op"].startswith("|") or node["Op"] == "||":
            return self.read_statement(node["Y"], fed) or named
        return self.read_statement(node["Y"], NAMED if named else SOMETHING)

    def read_loop_over(self, node: Node, fed: int) -> bool:
        if node.get("Select"):
            raise Unclear("what a person chooses is not known")
        loop = node["Loop"]
        if loop["Type"] == "WordIter":
            named = _any_of_all(self.read_known_word(each).named for each in loop.get("Items", ()))
            self._check_assigned(loop["Name"]["Value"], named=named)
        else:
            self._names_program(
                [value for key, value in loop.items() if key in ("Init", "Cond", "Post")], calculated=True
            )
        return self._parts_of_block(node, fed)

    def read_function(self, node: Node, fed: int) -> bool:
        name = node["Name"]["Value"]
        if name in self.programs or name in KNOWN or self.mentions_program(name):
            raise Unclear(f"{name} is given another meaning")
        self.functions = True
        if self._parts_of_block(node, fed):
            raise Unclear("what a function prints may be started")
        return False

    def read_declaration(self, node: Node, fed: int) -> bool:
        del fed
        if node["Variant"]["Value"] not in DECLARING:
            raise Unclear(f"{node['Variant']['Value']} may give a name another meaning")
        for each in node.get("Args", ()):
            if not each.get("Naked"):
                self._check_assigned(each["Name"]["Value"], named=self._assigns_variable(each))
            elif "Value" in each and not HARMLESS_DECLARING_OPTION.fullmatch(self.read_known_word(each["Value"]).text):
                raise Unclear("which variable is declared is not certain")
        return False

    def read_simple(self, node: Node, fed: int) -> bool:
        assigned = node.get("Assigns", ())
        for each in assigned:
            self._check_assigned(each["Name"]["Value"], named=self._assigns_variable(each), settings=False)
        settings = [name for each in assigned if self.is_setting(name := each["Name"]["Value"])]
        words = [self.read_known_word(each) for each in node.get("Args", ())]
        if not words and settings:
            self.refuse_setting(settings[0])
        return bool(words) and self.read_call(words, fed, settings=bool(settings))

    def _assigns_variable(self, node: Node) -> bool:
        return _any_of_all(
            self._names_program(node[key], calculated=key == "Index")
            for key in ("Index", "Value", "Array")
            if key in node
        )

    def _check_assigned(self, name: str, *, named: bool, settings: bool = True) -> None:
        """A variable can hold what another program starts, as PAGER does, or what ours goes by."""
        if named:
            raise Unclear(f"{name} may be started")
        if settings and self.is_setting(name):
            self.refuse_setting(name)

    def read_known_word(self, node: Node) -> Word:
        return read_word(node, self.source, named=self._names_program(node))

    def _names_program(self, node: Any, *, calculated: bool = False) -> bool:
        """Whether one of the names stands there, or is printed by a command there. Commands are gone through."""
        found: WrittenText = pieces_of_word(node)
        if self.mentions_program(found.evaluated) or (calculated and self.mentions_program(found.text)):
            raise Unclear("what a shell evaluates names one of these programs")
        named = self.mentions_program(found.text)
        for name in found.assigned:
            self._check_assigned(name, named=named)
        for name in _VARIABLE.findall(found.evaluated + (found.text if calculated else "")):
            self._check_assigned(name, named=False)  # (( HOME = 5 ))
        for command in found.commands:
            fed = NAMED if command.get("Op") == ">(" else NOTHING
            named = self.read_statements(command.get("Stmts", ()), fed) or named
        return named


# A statement of any other kind is unclear.
_KINDS: dict[str, Callable[[_LineReader, Node, int], bool]] = {
    "BinaryCmd": _LineReader.read_pair,
    "CallExpr": _LineReader.read_simple,
    "DeclClause": _LineReader.read_declaration,
    "ForClause": _LineReader.read_loop_over,
    "FuncDecl": _LineReader.read_function,
}


def _any_of_all(found: Iterable[bool]) -> bool:
    """Whether one of them is true; all are looked at."""
    return True in [*found]


# What a command line of one of the programs would do, and what a policy says of it, without running it.


class Effect(NamedTuple):
    """`safety` is None where the line does not tell. `note` says what else there is to know, in words."""

    line: str
    safety: Safety | None
    command: str = ""
    operations: tuple[str, ...] = ()
    verdict: PolicyVerdict = PolicyVerdict()
    note: str = ""


# The words of one invocation → its effect; raises `Unclear` where they do not tell, and what a run would raise where a
# policy or the definitions cannot be read.
Read = Callable[[str, Sequence[Word]], Effect]


def effects_of_line(line: str, programs: Sequence[str], read: Read) -> list[Effect]:
    """Of every program of ours that a shell line would start."""
    try:
        found = find_invocations(line, programs)
    except Unclear as error:
        return [Effect(line, None, note=str(error))]
    return [_effect_of_invocation(invocation, read) for invocation in found]


def _effect_of_invocation(invocation: Invocation, read: Read) -> Effect:
    words = [*invocation.words, *([ADDED] if invocation.open else [])]
    shown = " ".join([invocation.program, *(word.text for word in words)])
    try:
        return read(invocation.program, words)._replace(line=shown)
    except Unclear as error:
        return Effect(shown, None, note=str(error))


class Ruling(NamedTuple):
    """What a guard says of a line, and why."""

    decision: Decision
    reason: str


ALLOWED = Ruling("allow", "")


def ruling_on_effects(found: Sequence[Effect], *, all_writes: bool) -> Ruling:
    """The strictest of all effects. A policy's question is a denial: a program that an agent starts can ask nobody.

    Without a policy a person is asked before something is destroyed, with `all_writes` before any change, and wherever
    the line does not tell.
    """
    rulings = [_ruling_on_effect(effect, all_writes=all_writes) for effect in found]
    strictness = {"allow": 0, "ask": 1, "deny": 2}
    return max(rulings, key=lambda each: strictness[each.decision], default=ALLOWED)


def _ruling_on_effect(effect: Effect, *, all_writes: bool) -> Ruling:
    verdict = effect.verdict
    if verdict.decision == "deny":
        return Ruling("deny", f"`{effect.line}` is denied by the policy ({verdict}){_reason_of_verdict(verdict)}")
    if verdict.decision == "ask":
        why = f"the policy wants a person to confirm this ({verdict}){_reason_of_verdict(verdict)}"
        return Ruling("deny", f"`{effect.line}`: {why}; ask the person to run it at a terminal")
    if effect.safety is None or effect.note:
        return Ruling("ask", f"`{effect.line}`: {effect.note}")
    asks = ("destroy", "write") if all_writes else ("destroy",)
    if effect.safety in asks:
        verb = "takes something away" if effect.safety == "destroy" else "changes something"
        return Ruling("ask", f"`{effect.line}` {verb}")
    return ALLOWED


def _reason_of_verdict(verdict: PolicyVerdict) -> str:
    return f": {verdict.reason}" if verdict.reason else ""
