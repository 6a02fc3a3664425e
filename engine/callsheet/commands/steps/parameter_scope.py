"""What the expressions of a command see: its arguments and options, front matter, files, mentions."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote

from ...client.request.json_body import members_of_words, parse_value, split_word
from ...errors import UsageError
from ...language.parameters import TAKEN_AWAY, to_identifier
from ...language.query_text import EXCEPT
from ...language.template import Scope, evaluate, fill_template, fill_text, to_text
from ...registry import MARKDOWN, SITE_SETTINGS
from ...richtext import ATTACHING
from ...richtext.markdown.addresses import NotBesideError
from ...richtext.markdown.front_matter import LONGEST, front_matter_fault, leading_comment, split_front_matter
from ..context import ParameterValues, Typed
from .converters import Unknown, convert_argument, convert_text, read_text
from .lookup import Lookups, Match

if TYPE_CHECKING:
    from ...language.shape.commands import Param
    from ...language.shape.steps import TextCase
    from ..context import Context


# `NAME=VALUE` words → fields of a body, typed by what the service says about each field.
#
# `NAME:=JSON` sends the JSON as it is. An empty value clears the field: null, or an empty list.


def assigned_fields(
    lookups: Lookups, id: str, words: Iterable[str], scope: Mapping[str, Any], option: str
) -> dict[str, Any]:
    """Field id → value. Raises `UsageError` for an unknown field and for a text that its type does not take."""
    assignment = lookups.context.catalog.assignments.get(id)
    fields: dict[str, Any] = {}
    for word in words:
        name, is_json, text = split_word(word, option)
        if is_json and lookups.context.is_foreign(word):
            raise UsageError(
                f"{option}: {name}:= takes JSON, and text from a tool call or an event cannot be used there"
            )
        match = lookups.find_candidate(assignment["lookup"], name, scope)
        if is_json:
            value = parse_value(text, option, name)
        elif isinstance(match.value, Unknown):
            value = Unknown(f'value of "{text}"')  # how it is sent depends on the field's type
        else:
            case = _fitting_case(assignment["cases"], match.item)
            inner = {**scope, "field": match.item}
            where = f"{option} {name}"
            value = _typed_value(case, text, partial(_assigned_value, lookups, case, scope=inner, option=where), name)
        fields[match.value if isinstance(match.value, str) else to_text(match.value)] = value
    return fields


def _fitting_case(cases: list[TextCase], field: Any) -> TextCase:
    nothing_special: TextCase = {}
    return next((case for case in cases if "when" not in case or evaluate(case["when"], field)), nothing_special)


def _typed_value(case: TextCase, text: str, value_of: Callable[[str], Any], name: str) -> Any:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()] if case.get("split") else [text]
    if text == "":
        return [] if case.get("split") else None
    values = [value_of(piece) for piece in pieces]
    if None in values:
        expected = f": expected {case['takes']}" if "takes" in case else ""
        raise UsageError(f"{name}: {text!r} does not fit the field{expected}")
    return values if case.get("split") else values[0]


def _assigned_value(lookups: Lookups, case: TextCase, text: str, *, scope: Mapping[str, Any], option: str) -> Any:
    if "convert" in case:
        return convert_argument(lookups.context, str(fill_text(case["convert"], scope)), text, option)
    resolved = lookups.resolve_word(case["lookup"], text, scope) if "lookup" in case else text
    return fill_template(case.get("value", "{text}"), {**scope, "text": resolved})


# What the front matter of a text says, as the definition of an option expects it.


HINT = "put a value with a colon or another sign of YAML into quotes"


def front_matter(text: str, keys: Mapping[str, str], option: str) -> tuple[dict[str, Any], str]:
    """What the front matter says, as JSON would have it, and the text to convert. A date is its text.

    Markdown keeps its front matter, which its reader leaves out. A first line that is a comment of keys and values says
    the same for formats that have no front matter, and is cut off. `keys` are those whose values must be a `text`, or a
    `list` of texts, for which a text with commas stands as well. `option` is where the text comes from, for messages.
    """
    said, rest = leading_comment(text)
    if not said:
        if found := front_matter_fault(text):
            hint = HINT if text.lstrip("\ufeff").startswith("---") else None
            raise UsageError(f"{option}: the front matter cannot be read: {found}", hint=hint)
        said = split_front_matter(text)[0]
    plain = dict(json.loads(json.dumps(said, default=str)))
    for key in plain.keys() & keys.keys():
        value = plain[key]
        plain[key] = _front_texts(key, value, option) if keys[key] == "list" else _front_text(key, value, option)
    return {key: value for key, value in plain.items() if value is not None}, rest


def _front_text(key: str, value: Any, option: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"{option}: {key} in the front matter: expected a text, not {json.dumps(value)}")


def _front_texts(key: str, value: Any, option: str) -> list[str] | None:
    if isinstance(value, dict | bool):
        raise UsageError(f"{option}: {key} in the front matter: expected a list of texts, not {json.dumps(value)}")
    items = value if isinstance(value, list) else str(value or "").split(",")
    texts = [_front_text(f"an item of {key}", item, option) for item in items]
    return [words for item in texts if item and (words := item.strip())] or None


# The files beside one of Markdown: images that go along with it, and other texts that became pages.
#
# The text may be a stranger's. So nothing but images by their names goes along, and only regular files in its folder
# or below it, wherever a link in that folder leads; a folder that a person names holds for all of them.


PAGES = (".md", ".markdown")
SAID = re.compile(r"[?#]")
UNSAFE = re.compile(r"[^\w .()+@,=&-]|^\.")  # what some format has a meaning for in the name of an attachment
CHUNK = 1 << 20


@dataclass
class FilesBeside:
    """What may go along with a text: files of `root`, at addresses relative to `base`, which is `root` or in it."""

    base: str
    root: str
    addresses: Mapping[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def image(self, url: str, target: str | None) -> str:
        """See `richtext.markdown.relative.Beside`."""
        path = self._file_beside(url)
        kind, coding = mimetypes.guess_type(path)
        if coding or not (kind or "").startswith("image/"):
            raise NotBesideError("is not an image by its name")
        name = self._attached_name(path)
        return quote(name, safe="") if target in ATTACHING else self.addresses.get(name, "")

    def page(self, href: str) -> tuple[str, str]:
        """See `richtext.markdown.relative.Beside`."""
        address, _, anchor = href.partition("#")
        if not unquote(address).lower().endswith(PAGES):
            raise NotBesideError("is not a page")
        path = self._file_beside(address)
        try:
            with open(path, encoding="utf-8-sig", errors="replace") as file:
                title = split_front_matter(file.read(LONGEST))[0].get("title")
        except OSError as error:
            raise NotBesideError(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
        if not isinstance(title, str) or not title.strip():
            raise NotBesideError("has no title in its front matter, so its page is not known")
        return title.strip(), unquote(anchor)

    def met_images(self) -> list[dict[str, Any]]:
        """The images that were met, each once."""
        return [
            {"path": path, "name": name, "size": os.path.getsize(path), "hash": f"sha256:{_file_digest(path)}"}
            for path, name in self._names.items()
        ]

    def _file_beside(self, url: str) -> str:
        """The file that a relative address leads to; raises `NotBesideError` for any other thing."""
        words = [url, SAID.split(url)[0]]
        for path in dict.fromkeys(unquote(word) for word in words):
            if "\\" in path or "\0" in path or os.path.isabs(path) or os.path.splitdrive(path)[0]:
                raise NotBesideError(f"is outside {self.root}")
            whole = os.path.normpath(os.path.join(self.base, path))
            if not (_is_within(whole, self.root) and _is_within(os.path.realpath(whole), self.root)):
                raise NotBesideError(f"is outside {self.root}")
            if os.path.lexists(whole):
                return _regular_file(whole)
        raise NotBesideError("does not exist")

    def _attached_name(self, path: str) -> str:
        """The name that a file is attached under: its own, or with its folders where that one is taken."""
        if path not in self._names:
            short = UNSAFE.sub("-", os.path.basename(path))
            long = UNSAFE.sub("-", os.path.relpath(path, self.root).replace(os.sep, "-"))
            self._names[path] = short if short not in self._names.values() else long
        return self._names[path]


class Accompanied(Typed):
    """A text of a person's own, and what is beside the file it was read from."""

    beside: FilesBeside

    def __new__(cls, text: str, beside: FilesBeside) -> Self:
        made = super().__new__(cls, text)
        made.beside = beside
        return made


def with_folder(context: Context, text: str, given: str, folder: str | None, option: str) -> str:
    """`text`, with the folder of the file it was `given` as; without a file, the folder that a person named."""
    file = given[1:] if given[:1] == "@" and given not in ("@", "@-") and not given.startswith("@@") else None
    if context.is_literal(given) or (file is None and folder is None):
        return text
    base = os.path.dirname(os.path.realpath(file)) if file is not None else None
    root = os.path.realpath(folder) if folder is not None else base or ""
    if not os.path.isdir(root):
        raise UsageError(f"{option}: {folder} is not a folder")
    if base is not None and not _is_within(base, root):
        raise UsageError(f"{option}: {file} is not in {folder}")
    return Accompanied(text, FilesBeside(base or root, root))


def found_beside(text: str) -> dict[str, Any] | None:
    """What expressions see of a text that was converted; None where no image goes along."""
    images = text.beside.met_images() if isinstance(text, Accompanied) else []
    return {"text": text, "images": images} if images else None


def _is_within(path: str, root: str) -> bool:
    try:
        return os.path.commonpath([root, path]) == root
    except ValueError:  # another drive
        return False


def _regular_file(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise NotBesideError(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if not stat.S_ISREG(mode):
        raise NotBesideError("is a directory" if stat.S_ISDIR(mode) else "is not a regular file")
    return path


def _file_digest(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    return digest.hexdigest()


# Code keeps its signs, an escaped sign is one, and a name with an address behind it is a mention already.
_FENCED = r"^ {0,3}(?P<fence>```+|~~~+).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
_TICKED = r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
_NAMED = r"(?<!\w)@\[(?P<name>[^\[\]\n]+)\](?!\()"
_MENTION = re.compile(rf"{_FENCED}|{_TICKED}|\\.|{_NAMED}", re.DOTALL | re.MULTILINE)


def mentioned_names(text: str) -> list[str]:
    """The names that a text mentions, each once."""
    return list(dict.fromkeys(match["name"].strip() for match in _MENTION.finditer(text) if match["name"]))


class Mentions:
    """The texts of one command that name people. `find` looks these up, and converts the texts once more."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._texts: list[tuple[Param, str, str, str]] = []  # the parameter, its name in the scope, converter, text

    def add_text(self, param: Param, name: str, converter: str, text: str) -> None:
        """A stranger's text mentions nobody."""
        if converter in MARKDOWN and not self._context.is_foreign(text) and mentioned_names(text):
            self._texts.append((param, name, converter, text))

    def find_people(self, lookups: Lookups, scope: Scope) -> None:
        """Raises `UsageError` where nobody, or several people, are called so."""
        id = self._context.definition.get("mentions") if self._texts else None
        if id is None:
            return
        template = lookups.lookup_definition(id).get("mention", "")
        for param, name, converter, text in self._texts:
            written: dict[str, str] = {}
            for word in mentioned_names(text):
                value = lookups.find_candidate(id, word, scope).value
                if value is not None and not isinstance(value, Unknown):
                    written[word] = str(fill_text(template, {"value": value, "name": word}))
            result = _replace_mentions(text, written)
            scope[name] = convert_text(self._context, converter, result, f"--{param['name']}")
            if "beside" in param and scope.get(param["beside"]):
                scope[param["beside"]]["text"] = result


def _replace_mentions(text: str, written: dict[str, str]) -> str:
    """The text with its mentions written out; it still knows what is beside it, and whose it is."""
    plain = _MENTION.sub(lambda match: written.get((match["name"] or "").strip(), match[0]), text)
    if isinstance(text, Accompanied):
        return Accompanied(plain, text.beside)
    return Typed(plain) if isinstance(text, Typed) else plain


# What a command was called with → the names its expressions see.


_SEPARATOR = re.compile(r"(?<!\\),")


def scope_of(context: Context, params: list[Param], values: ParameterValues) -> dict[str, Any]:
    """The plain values by name, the same once more under `given`, the site, and the output's format.

    `named` has them as they can be shown; look-ups put the name and the id of what they found in their places.
    """
    plain = {to_identifier(name): None if value == [] else value for name, value in values.items()}
    for param in params:
        if param.get("lines") and values.get(param["name"]):
            plain[to_identifier(param["name"])] = list(dict.fromkeys(_with_lines(context, values[param["name"]])))
        if param.get("split") and to_identifier(param["name"]) in plain:  # a run that is resumed is given nothing
            plain[to_identifier(param["name"])] = _comma_pieces(context, plain[to_identifier(param["name"])])
    site = context.site()
    for param in params:
        if "setting" in param and plain.get(to_identifier(param["name"])) is None:
            plain[to_identifier(param["name"])] = site.default_of(param["setting"])
    shown = {name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in plain.items()}
    for param in params:
        if param.get("removes") and (words := plain.get(to_identifier(param["name"]))):
            plain[to_identifier(param["name"])] = _additions_and_removals(context, words, param)
    return {**plain, "given": dict(plain), "named": shown, **of_the_run(context)}


def of_the_run(context: Context) -> dict[str, Any]:
    """What expressions see of the run itself: the site, and the output's format."""
    site = context.site()
    settings = {name: site.default_of(name) for name in SITE_SETTINGS}
    about = {
        "name": site.name,
        "deployment": site.deployment,
        "journal": context.journaling.journal_setting,
        **settings,
    }
    return {"site": about, "output": context.output_format}


def _with_lines(context: Context, words: list[str]) -> Iterator[str]:
    """The words, and in the place of a dash the first word of each line of standard input."""
    for word in words:
        if word == "-" and not context.is_literal(word):
            yield from (line.split()[0] for line in context.input_lines() if line.strip())
        else:
            yield word


def _comma_pieces(context: Context, given: str | list[str] | None) -> list[str] | None:
    r"""What stands between commas, in any of the words; `\,` is a comma of its own. None where there is nothing."""
    if isinstance(given, list):
        texts = [piece for word in given for piece in ([word] if context.is_literal(word) else _SEPARATOR.split(word))]
    else:
        texts = _SEPARATOR.split(given or "")
    return [text.strip().replace("\\,", ",") for text in texts if text.strip()] or None


def _additions_and_removals(context: Context, words: list[str], param: Param) -> dict[str, list[str] | None]:
    r"""What is to be added, and behind a hyphen what is to be taken away; `\-` is a hyphen of the name's own.

    Raises `UsageError` for a hyphen alone, and for a name that stands on both sides.
    """
    add, remove = [], []
    for word in words:
        if context.is_foreign(word) or not word.startswith((TAKEN_AWAY, f"\\{TAKEN_AWAY}")):
            add.append(word)
        elif word.startswith("\\"):
            add.append(word[1:])
        else:
            remove.append(word[1:])
    if "" in remove:
        raise UsageError(f"{_shown_name(param)}: - needs a name to remove, as in -NAME")
    if both := [name for name in add if name in remove]:
        raise UsageError(f"{_shown_name(param)}: {both[0]!r} cannot be added and removed at once")
    return {"add": add or None, "remove": remove or None}


def convert_values(context: Context, params: list[Param], scope: Scope) -> Mentions:
    """Texts and files into what is sent, in place. Nothing is sent here: who is mentioned is looked up later."""
    mentions = Mentions(context)
    for param in params:
        name = to_identifier(param["name"])
        if "front" in param or "beside" in param:
            _take_text(context, param, name, scope, mentions)
        elif "convert" in param and scope.get(name) is not None:
            converter = _converter_name(param, scope)
            if isinstance(scope[name], list):
                scope[name] = [convert_argument(context, converter, word, _shown_name(param)) for word in scope[name]]
            else:
                text = read_text(context, scope[name], _shown_name(param))
                scope[name] = convert_text(context, converter, text, _shown_name(param))
                mentions.add_text(param, name, converter, text)
    return mentions


def _converter_name(param: Param, scope: Scope) -> str:
    """Its name; the text stays as it is where the definition finds none."""
    return to_text(fill_text(param["convert"], scope)) or "text"


def _take_text(context: Context, param: Param, name: str, scope: Scope, mentions: Mentions) -> None:
    """A text with its front matter and what is beside it under names of their own; it is read once."""
    scope.update(dict.fromkeys(param[key] for key in ("front", "beside") if key in param))
    given = scope.get(name)
    if given is None:
        return
    text = read_text(context, given, _shown_name(param))
    if "front" in param:
        said, rest = front_matter(text, param.get("front_keys", {}), _shown_name(param))
        scope[param["front"]] = said or None
        text = Typed(rest) if isinstance(text, Typed) else rest
    if "beside" in param:
        folder = param.get("folder")
        text = with_folder(context, text, given, scope.get(to_identifier(folder)) if folder else None, f"--{folder}")
    converter = _converter_name(param, scope)
    scope[name] = convert_text(context, converter, text, _shown_name(param))
    mentions.add_text(param, name, converter, text)
    if "beside" in param:
        scope[param["beside"]] = found_beside(text)


def resolve_values(lookups: Lookups, params: list[Param], scope: Scope) -> None:
    """People's words into ids, in the order of the parameters: later look-ups see earlier results."""
    for param in params:
        name = to_identifier(param["name"])
        if scope.get(name) is None:
            continue
        if "lookup" in param:
            _resolve_lookups(lookups, param, name, scope)
        if "members" in param:
            body = lookups.dispatcher.builder.operation_call(param["members"]).operation.get("body", {})
            scope[name] = members_of_words(
                scope[name], body, lookups.context.catalog, _shown_name(param), lookups.context.is_foreign
            )
        if "assign" in param:
            scope[name] = assigned_fields(lookups, param["assign"], scope[name], scope, _shown_name(param))


def _resolve_lookups(lookups: Lookups, param: Param, name: str, scope: Scope) -> None:
    words = scope[name]
    find = _find_except if param.get("excludes") else Lookups.find_candidate
    found = [find(lookups, param["lookup"], word, scope) for word in (words if isinstance(words, list) else [words])]
    scope[name] = [match.value for match in found] if isinstance(words, list) else found[0].value
    scope["named"] = {**scope["named"], name: ", ".join(match.name for match in found)}


def _find_except(lookups: Lookups, lookup: str, word: str, scope: Scope) -> Match:
    """A word after `not:` is looked up without it, and has it in front again."""
    if not word.startswith(EXCEPT) or lookups.context.is_foreign(word):
        return lookups.find_candidate(lookup, word, scope)
    match = lookups.find_candidate(lookup, word.removeprefix(EXCEPT), scope)
    value = match.value if isinstance(match.value, Unknown) else f"{EXCEPT}{'' if match.value is None else match.value}"
    return Match(value, f"{EXCEPT}{match.name}", match.item)


def _shown_name(param: Param) -> str:
    name: str = param["name"]
    return name if param.get("kind") == "argument" else f"--{name}"
