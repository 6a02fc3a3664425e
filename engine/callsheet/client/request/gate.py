"""What a request may do, in every way that a server may read it. The one place that judges it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ...errors import CallsheetError, NotAllowed, UsageError
from ...language.merge import deployment_variants
from ...language.safety import Safety, by_method, class_for_policies, removes_something, worst_safety
from ...language.template import TemplateError, evaluate
from ...policy.policy import VERSION, Facts, NamedThings, Policy, PolicyVerdict, path_pattern
from ...urls import url_origin
from .http_request import Body, Form, Json, Multipart, Raw, Request, query_text

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.agents import ContainerDefinition
    from .operation_call import Call


# What a query is restricted to for certain, without knowing the language it is written in any better than this.
#
# Understood are clauses that are joined by AND: `FIELD = VALUE` and `FIELD IN (VALUE, ...)`, at the top or in
# parentheses. With an OR beside it, a clause restricts nothing.


_TOKEN = re.compile(r"""\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|&&|\|\||[!<>]=|!~|[^\s"'()=!<>~&|,]+|.)""", re.DOTALL)
_AND, _OR = {"and", "&&", "&"}, {"or", "||", "|"}
_ALONE = frozenset("()=!<>~&|,\"'") | {"&&", "||", "!=", "<=", ">=", "!~"}
_DEEPEST = 20  # parentheses in one another


def restricted_to(query: str, fields: Collection[str]) -> set[str] | None:
    """The values that the query allows for these fields (in lower case); None where it may find anything."""
    return _values_of_clause(_without_order(_TOKEN.findall(query)), fields, _DEEPEST)


def _without_order(tokens: Sequence[str]) -> Sequence[str]:
    pairs = enumerate(pairwise(tokens))
    end = next((at for at, pair in pairs if [word.casefold() for word in pair] == ["order", "by"]), None)
    return tokens[:end]


def _values_of_clause(tokens: Sequence[str], fields: Collection[str], depth: int) -> set[str] | None:
    clauses = _clauses_of_query(tokens)
    if clauses is None or not depth:
        return None
    found = [values for clause in clauses if (values := _of_clause(clause, fields, depth)) is not None]
    return set().union(*found) if found else None


def _clauses_of_query(tokens: Sequence[str]) -> list[list[str]] | None:
    """What stands between the ANDs outside of parentheses; None with an OR there, or parentheses that do not close."""
    clauses: list[list[str]] = [[]]
    depth = 0
    for word in tokens:
        depth += (word == "(") - (word == ")")
        if depth < 0 or (not depth and word.casefold() in _OR):
            return None
        if not depth and word.casefold() in _AND:
            clauses.append([])
        else:
            clauses[-1].append(word)
    return None if depth else clauses


def _of_clause(clause: Sequence[str], fields: Collection[str], depth: int) -> set[str] | None:
    match [each.casefold() for each in clause[:3]]:
        case ["(", *_] if clause[-1] == ")":
            return _values_of_clause(clause[1:-1], fields, depth - 1)
        case [field, "=", _] if _plain_word(field) in fields and len(clause) == 3:
            values = [clause[2]]
        case [field, "in", "("] if _plain_word(field) in fields and clause[-1] == ")" and set(clause[4:-1:2]) <= {","}:
            values = list(clause[3:-1:2])
        case _:
            return None
    if not values or _ALONE.intersection(values) or any("\\" in each for each in values):  # `\u0041` is an A
        return None
    return {_plain_word(each) for each in values}


def _plain_word(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] in "\"'" else word


# Every name and value that the body of a request holds, at any depth, in all the ways that a server may read it.


PairIterator = Iterator[tuple[str, Any]]

_DECODINGS = 4

_PART = re.compile(rb'\bname="?([^";\r\n]+)"?[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\n(.*?)(?=\r?\n--|\Z)', re.DOTALL)


def pairs_in(body: Body | None) -> PairIterator:
    """Raises `UsageError` for bytes that are nested too deeply to be read. Files are not read."""
    match body:
        case Json(value):
            yield from _members_inside(value)
        case Form(pairs):
            yield from pairs
            yield from pairs_of_text(query_text(pairs))
        case Multipart(parts):
            yield from ((part.name, part.text) for part in parts if part.text is not None)
        case Raw(data, _):
            yield from _of_bytes(data)


def pairs_of_text(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of a query or a form, with either separator and however often it is encoded."""
    for each in decoded_forms(text):
        for separator in ("&", ";"):
            yield from ((name.strip(), value) for name, value in parse_qsl(each, separator=separator))


def decoded_forms(text: str) -> list[str]:
    """The text, and what is read by those who take away its percent-encoding again and again."""
    found = [text]
    while len(found) <= _DECODINGS and (plain := unquote(found[-1])) != found[-1]:
        found.append(plain)
    return found


def _of_bytes(data: bytes) -> PairIterator:
    """As JSON, or as a form of either kind, whatever its type says. Of a name that occurs twice, either may count."""
    found: list[tuple[str, Any]] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.extend(pairs)
        return dict(pairs)

    try:
        json.loads(data, object_pairs_hook=keep, parse_int=str, parse_float=str)
    except RecursionError:
        raise UsageError("the body is nested too deeply", hint="nothing was sent") from None
    except ValueError:
        plain = data.replace(b"\0", b"")  # of UTF-16 that is what names and methods are in
        found += pairs_of_text(plain.decode("utf-8", "replace"))
        found += (
            (name.decode("utf-8", "replace"), text.decode("utf-8", "replace")) for name, text in _form_parts(plain)
        )
    yield from found


def _form_parts(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    for part in _PART.finditer(data) if b"form-data" in data else ():
        yield part[1], part[2]


def _members_inside(value: Any) -> PairIterator:
    """Every key at any depth, with its value. What is waiting is kept in a list, so depth costs no stack."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            yield from each.items()
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)


# The ways in which a server may read a request: its method and its path, however they are spelled or overridden.


# What frameworks let stand in the place of the method (X-HTTP-Method-Override and its relatives).
# Frameworks join words with what they like, take any of it for an underscore, and look into brackets; a word with
# letters before it is another name, such as that of a payment's method.
_OVERRIDES = re.compile(
    r"(?<![a-z0-9])(?<![a-z0-9][_-])(?:(?:x[\W_])?(?:http[\W_])?method[\W_]override"
    r"|x[\W_](?:http[\W_]|original[\W_]|forwarded[\W_])?method|http[\W_]method|[_.\-\s]method)(?![_-]*[a-z0-9])"
)
_METHOD = re.compile(r"[A-Z]+")
# Headers that name an address of somebody else. Any other path in a header may stand in the place of the request's own,
# as servers and proxies do with X-Original-URL and X-Rewrite-URL.
_OF_OTHERS = frozenset({"origin", "referer"})
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://[^/?#]*)?(/[^?#]*)(?:[?#].*)?", re.IGNORECASE | re.DOTALL)
_SEPARATORS = re.compile(r"[/\\]")
_END = re.compile(r"[?#\0].*", re.DOTALL)  # of a path: who decodes it first sees a query, a fragment or the end there
_FORMAT = re.compile(r"(?<=.)\.\w{1,10}\Z")  # what frameworks take off the end of a path

Segments = tuple[str, ...]


def overriding_methods(request: Request) -> set[str]:
    """Methods that a header, a parameter or a field of the body may put in the place of the request's own."""
    found: set[str] = set()
    read_again = pairs_of_text(query_text(request.query))
    for name, value in (*request.headers, *request.query, *read_again, *pairs_in(request.body)):
        if _overrides_method(name):
            found.update(word for text in _strings_of(value) for word in _METHOD.findall(_folded_text(text).upper()))
    return found


@lru_cache(maxsize=1024)
def _overrides_method(name: str) -> bool:
    """Many requests have the same few names."""
    return bool(_OVERRIDES.search(_folded_text(name).lower()))


def overriding_paths(request: Request) -> list[str]:
    """Paths that a header may put in the place of the request's own."""
    values = (value.strip() for name, value in request.headers if name.strip().lower() not in _OF_OTHERS)
    return [found[1] for value in values if (found := _ADDRESS.fullmatch(value))]


def path_of(request: Request) -> str:
    return urlsplit(request.root).path + request.path


def leaves_base(path: str) -> bool:
    """Whether a segment of the path is `.` or `..`, however often it is encoded."""
    return any(segment in {".", ".."} for text in decoded_forms(path) for segment in _SEPARATORS.split(text))


def is_encoded_too_often(path: str) -> bool:
    """Whether a server that decodes it again and again would read something else than all that is known here."""
    last = decoded_forms(path)[-1]
    return unquote(last) != last


def path_readings(path: str) -> Iterator[Segments]:
    """The segments that servers may see in a path: as it is, decoded, without what changes nothing or says a format."""
    for text in _path_spellings(path):
        kept: list[str] = []
        for segment in _SEPARATORS.split(text):
            plain = segment.partition(";")[0].strip()
            if plain == "..":
                del kept[-1:]
            elif plain.strip("."):
                kept.append(plain.rstrip(". "))
        yield tuple(kept)
        if kept and (plain := _FORMAT.sub("", kept[-1])) != kept[-1]:
            yield (*kept[:-1], plain)


def _path_spellings(path: str) -> Iterator[str]:
    for text in decoded_forms(path):
        yield text
        if (cut := _END.sub("", text)) != text:
            yield cut
        if not text.isascii():
            yield _folded_text(text)


def _folded_text(text: str) -> str:
    """With plain letters for others that some servers take for them, and without what cannot be seen."""
    if text.isascii():
        return text
    from unicodedata import category, normalize

    return "".join(letter for letter in normalize("NFKC", text) if category(letter) != "Cf")


def _strings_of(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, str)]


# What a request may do: read, write or destroy. The one place that judges it, however the request was spelled.


_HOLE = "{}"


class PathTemplate(NamedTuple):
    """The path of an operation, and what a call of it may do."""

    segments: Segments
    safety: Safety
    operation: str
    own: bool = False  # it stands in a person's own definitions

    @property
    def literal_segments(self) -> int:
        return sum(not _is_placeholder(segment) for segment in self.segments)

    def fits_path(self, path: Segments) -> bool:
        """At the end of the path: a context path or a gateway's prefix may stand before it. Versions are alike."""
        if len(path) < len(self.segments) or (len(path) > len(self.segments) and _is_placeholder(self.segments[0])):
            return False
        pairs = zip(self.segments, path[-len(self.segments) :], strict=True)
        return all(_segments_match(wanted, segment) for wanted, segment in pairs)

    def path_arguments(self, path: Segments) -> Iterator[tuple[str, str]]:
        """Name and value of what stands in the path for a placeholder of its own."""
        for wanted, segment in zip(self.segments, path[-len(self.segments) :], strict=True):
            if wanted.startswith("{") and wanted.endswith("}"):
                yield wanted[1:-1], segment


class Meaning(NamedTuple):
    """What a request may do, and the documented operations that it may be, in all the ways to read it.

    `arguments` are the parameters in the path, by name; `unknown` the segments of readings that no operation has.
    `unbelieved` is the class where what a person's own definitions say of it does not count.
    """

    safety: Safety
    operations: frozenset[str]
    methods: frozenset[str]
    paths: frozenset[str]
    arguments: frozenset[tuple[str, str]] = frozenset()
    unknown: frozenset[str] = frozenset()
    unbelieved: Safety = "local"


class Templates:
    """The paths of all operations. They are read when the first request has to be looked up."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._by_end: dict[tuple[str, str], list[PathTemplate]] | None = None

    def closest_templates(self, method: str, path: Segments) -> list[PathTemplate]:
        """The templates that fit the path; of several, those with the most that is literal.

        One of a person's own is never in the place of one that comes with the program.
        """
        fitting = [template for template in self._with_ending(method, path[-1:]) if template.fits_path(path)]
        shipped = _most_literal([template for template in fitting if not template.own])
        return shipped + _most_literal([template for template in fitting if template.own])

    def _with_ending(self, method: str, end: Segments) -> list[PathTemplate]:
        """Those of the method that end like the path, so that few have to be compared whole."""
        if self._by_end is None:
            by_end: dict[tuple[str, str], list[PathTemplate]] = {}
            for template, verb in self._all_templates():
                by_end.setdefault((verb, _path_ending(template.segments[-1])), []).append(template)
            self._by_end = by_end  # whole: another thread that judges a request meanwhile must not miss any
        ends = {_HOLE, *map(_path_ending, end)}
        return [template for each in ends for template in self._by_end.get((method, each), ())]

    def _all_templates(self) -> Iterator[tuple[PathTemplate, str]]:
        """Of every deployment: a path that means an operation on one of them is no riddle on another."""
        for id, operation in self._catalog.operations.all().items():
            own = bool(operation.get("own"))
            for table in (operation, *deployment_variants(operation).values()):
                yield _path_template(table["http"], class_for_policies(table), id, own=own)
        for http, safety, id in self._catalog.shipped_paths():
            yield _path_template(http, safety, id, own=False)


def _path_template(http: str, safety: Safety, operation: str, *, own: bool) -> tuple[PathTemplate, str]:
    verb, _, path = http.partition(" ")
    return PathTemplate(tuple(path.strip("/").split("/")), safety, operation, own), verb


def _most_literal(templates: list[PathTemplate]) -> list[PathTemplate]:
    most = max((template.literal_segments for template in templates), default=0)
    return [template for template in templates if template.literal_segments == most]


def with_safety(templates: Templates, request: Request, *, known: Safety | None = None) -> Request:
    """The request with its class: that of the catalogued operation which its method and path belong to.

    `known` is the class where the operation is known already. Without an operation the method decides, and the end of
    the path where it says delete or the like. A method that removes does so whatever the operation says. A request that
    can be read in several ways, by what overrides its method or path or is encoded in it, has the worst class of them.
    """
    overridden = bool(overriding_methods(request) - {request.method} or overriding_paths(request))
    if known is not None and not overridden:
        return replace(request, safety=known)
    found = _meaning_by_path(templates, request)
    return replace(request, safety=worst_safety([found.safety, *([known] if known is not None else [])]))


def request_meaning(templates: Templates, request: Request) -> Meaning:
    """All that a request may be. Where it was built as an operation, that is one of the ways to read it.

    So a definition that calls a request milder than the documented operation with the same path changes nothing.
    """
    found = _meaning_by_path(templates, request, by_method_too=request.operation is None)
    itself = [] if request.operation is None else [request.operation]
    return found._replace(
        safety=worst_safety([found.safety, request.safety]),
        unbelieved=worst_safety([found.unbelieved, request.safety]),
        operations=found.operations.union(itself),
    )


def _meaning_by_path(templates: Templates, request: Request, *, by_method_too: bool = True) -> Meaning:
    methods = {request.method, *overriding_methods(request)}
    spelled = [path_of(request), *overriding_paths(request)]
    paths = dict.fromkeys(reading for path in spelled for reading in path_readings(path))
    classes: list[Safety] = []
    guessed: list[Safety] = []
    operations: set[str] = set()
    arguments: set[tuple[str, str]] = set()
    unknown: set[str] = set()
    for method in methods:
        if by_method(method) != "read" and any(map(is_encoded_too_often, spelled)):
            classes.append("destroy")
        for reading in paths:
            fitting = templates.closest_templates(method, reading)
            operations.update(template.operation for template in fitting)
            arguments.update(pair for template in fitting for pair in template.path_arguments(reading))
            unknown.update(() if fitting else reading)
            classes += [template.safety for template in fitting]
            guess: Safety = "destroy" if removes_something(method, reading[-1:]) else by_method(method)
            if by_method_too and (not fitting or guess == by_method(method) == "destroy"):
                classes.append(guess)
            if fitting and all(template.own for template in fitting):
                guessed.append(guess)
    said = frozenset(arguments), frozenset(unknown), worst_safety([*classes, *guessed])
    as_texts = frozenset("/" + "/".join(reading) for reading in paths)
    return Meaning(worst_safety(classes), frozenset(operations), frozenset(methods), as_texts, *said)


def _is_placeholder(segment: str) -> bool:
    return "{" in segment


def _path_ending(segment: str) -> str:
    """What the last segments of two paths share when they may be the same."""
    if _is_placeholder(segment):
        return _HOLE
    return "v" if VERSION.fullmatch(segment) else segment.casefold()


def _segments_match(wanted: str, segment: str) -> bool:
    if _is_placeholder(wanted) or wanted.casefold() == segment.casefold():
        return True
    return bool(VERSION.fullmatch(wanted) and VERSION.fullmatch(segment))


# Which projects, spaces and the like a request names, as far as it tells: in its path, its query and its body.


Pairs = Sequence[tuple[str, Any]]


def named_in(
    containers: Mapping[str, ContainerDefinition], request: Request, meaning: Meaning
) -> dict[str, NamedThings]:
    """By kind of container. Where no operation has the path, each of its segments may be a name.

    What is about something in a container by its id is unclear, and so is a search, unless its query is restricted.
    """
    written = [*pairs_in(request.body)]
    asking = request.query if by_method(request.method) == "read" else written  # where a search has its query
    deciding = asking if len(meaning.methods) == 1 else []
    pairs = [*meaning.arguments, *request.query, *written]
    return {
        id: _named_things(container, pairs, deciding, meaning, request.body) for id, container in containers.items()
    }


def _named_things(
    container: ContainerDefinition, pairs: Pairs, deciding: Pairs, meaning: Meaning, body: Body | None
) -> NamedThings:
    keys, names, unclear = frozenset(container.get("keys", ())), set[str](), False
    wanted = re.compile(container["pattern"])
    values = [
        *(value for name, value in pairs if name in keys),
        *_members_for_policy(container.get("bodies", {}), body, meaning),
    ]
    for value in values:
        for text in _names_in(value, container.get("key")):
            match = wanted.fullmatch(text)
            names.update([match[1]] if match else ())
            unclear = unclear or match is None
    certain = re.compile(container.get("query_pattern", container["pattern"]))
    for text in _query_texts(container, pairs):
        for value in restricted_to(text, container.get("fields", ())) or [""]:
            match = certain.fullmatch(value)
            names.update([match[1]] if match else ())
            unclear = unclear or match is None
    names.update(match[1] for segment in meaning.unknown if (match := wanted.fullmatch(segment)))
    return NamedThings(frozenset(names), unclear or _is_hidden(container, deciding, meaning))


def _members_for_policy(bodies: Mapping[str, str], body: Body | None, meaning: Meaning) -> Iterator[Any]:
    """What the body tells if the request is one of these operations; an empty text where it cannot be read as JSON."""
    for operation in sorted(meaning.operations.intersection(bodies)):
        try:
            yield evaluate(bodies[operation], body.value) if isinstance(body, Json) else ""
        except TemplateError:
            yield ""


def _is_hidden(container: ContainerDefinition, deciding: Pairs, meaning: Meaning) -> bool:
    """Whether the request is about something without saying where that is."""
    if all(_is_one_of(container.get("searches", ()), path, meaning) for path in meaning.paths):
        return not any(_query_texts(container, deciding))
    anywhere = [*container.get("within", ()), *container.get("searches", ())]
    return any(_is_one_of(anywhere, path, meaning) for path in meaning.paths)


def _query_texts(container: ContainerDefinition, pairs: Pairs) -> Iterator[str]:
    keys = frozenset(container.get("queries", ()))
    for name, value in pairs:
        if name in keys and value is not None:
            yield from map(str, value if isinstance(value, list | tuple) else [value])


def _is_one_of(patterns: Sequence[str], path: str, meaning: Meaning) -> bool:
    for text in patterns:
        method, _, wanted = text.rpartition(" ")
        if (not method or method in meaning.methods) and path_pattern(wanted).fullmatch(path):
            return True
    return False


def _names_in(value: Any, key: str | None) -> Iterator[str]:
    """The texts that may be names; an empty one, which no pattern fits, for what cannot tell."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, list | tuple):
        for item in value:
            yield from _names_in(item, key)
    elif isinstance(value, Mapping):
        yield from _names_in(value[key], None) if key is not None and value.get(key) else ("",)
    else:
        yield from (part.strip() for part in str(value).split(","))


class ApprovalRequest(NamedTuple):
    """What a person is asked before a request is sent, and all that is known of it."""

    text: str
    request: Request
    facts: Facts
    verdict: PolicyVerdict


# True where a person agreed, False where one did not; None where there is nobody to ask.
Ask = Callable[[ApprovalRequest], bool | None]


def ask_nobody(_question: ApprovalRequest) -> None:
    """Where nobody can be asked."""


class Gate:
    """`site` is the site's name, `known_as` what else rules may call it; `ask` asks a person."""

    def __init__(
        self,
        policy: Policy,
        catalog: Catalog | None = None,
        *,
        site: str = "",
        known_as: frozenset[str] = frozenset(),
        ask: Ask = ask_nobody,
    ) -> None:
        self.policy = policy
        self._templates = Templates(catalog) if catalog is not None else None
        self._containers = catalog.containers.all() if catalog is not None and policy.names_things else {}
        self._sites = frozenset([site, *known_as]) - {""}
        self._ask = ask
        self._asking = threading.Lock()
        self._allowed: set[Any] = set()  # what a person has agreed to in this run

    def check_policy(self, request: Request) -> None:
        """Raise `NotAllowed` for a request that may not be sent; ask where that is what the policy wants."""
        if not self.policy:
            return
        facts = self.facts_of(request)
        verdict = self.policy.judge_request(facts)
        _refuse_denied(request, verdict)
        if verdict.decision == "ask":
            self._confirm_request(request, facts, verdict)

    def refuse_denied(self, request: Request) -> None:
        """Raise `NotAllowed` for a request that is denied, without asking anybody."""
        _refuse_denied(request, self.judge_request(request))

    def check_hop(self, request: Request, method: str, url: str) -> None:
        """The same for one message of an exchange: the request itself, or where an answer sends it on to."""
        if not self.policy or (method == request.method and url == request.url):
            self.check_policy(request)
            return
        parts = urlsplit(url)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        root = f"{parts.scheme}://{parts.netloc}"
        self.check_policy(replace(request, method=method, root=root, path=parts.path, query=query, operation=None))

    def judge_request(self, request: Request) -> PolicyVerdict:
        """What the policy says of a request, without asking anybody."""
        return self.policy.judge_request(self.facts_of(request)) if self.policy else PolicyVerdict()

    def facts_of(self, request: Request) -> Facts:
        found = self._meaning_of(request)
        sites = self._sites | {url_origin(request.root)}
        named = named_in(self._containers, request, found) if self._containers else {}
        return Facts(found.safety, found.operations, found.methods, found.paths, sites, named, found.unbelieved)

    def _meaning_of(self, request: Request) -> Meaning:
        if self._templates is not None:
            return request_meaning(self._templates, request)
        return Meaning(request.safety, frozenset(), frozenset({request.method}), frozenset({request.path}))

    def _confirm_request(self, request: Request, facts: Facts, verdict: PolicyVerdict) -> None:
        """One question for each operation of a run, not for each of its requests."""
        key = (verdict, facts.safety, facts.operations or facts.paths)
        with self._asking:
            if key in self._allowed:
                return
            what = f"{request.method} {request.path}"
            text = f"{what}?" if request.name == what else f"{request.name}: {what}?"
            answer = self._ask(ApprovalRequest(f"{text} ({verdict})", request, facts, verdict))
            if answer is None:
                raise unasked_error(request.name, verdict)
            if not answer:
                raise NotAllowed(f"{request.name}: not confirmed, not sent")
            self._allowed.add(key)


def facts_of(call: Call) -> Facts:
    """What is known of an operation without arguments."""
    operations, methods = frozenset({call.id}), frozenset({call.method})
    return Facts(call.safety, operations, methods, paths=None, sites=None, named=None)


def _refuse_denied(request: Request, verdict: PolicyVerdict) -> None:
    if verdict.decision == "deny":
        raise policy_error(request.name.strip(), verdict)


def policy_error(what: str, verdict: PolicyVerdict) -> CallsheetError:
    details = [f"reason: {verdict.reason}"] if verdict.reason else []
    return NotAllowed(f"{what}: denied by the policy ({verdict})", details=details)


def unasked_error(what: str, verdict: PolicyVerdict) -> CallsheetError:
    details = [f"reason: {verdict.reason}"] if verdict.reason else []
    hint = "run it at a terminal, where a person can answer"
    return NotAllowed(
        f"{what}: the policy wants a person to confirm this ({verdict}), and nobody can be asked here",
        hint=hint,
        details=details,
    )
