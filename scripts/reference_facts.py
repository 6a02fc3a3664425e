"""Pages of facts that are read from the engine and the definitions: exit codes, environment variables, messages."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from callsheet import errors
from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import INTERRUPTED
from callsheet.client.http import failure

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = "Written by `scripts/reference.py`."
CLASSES = {
    each.__name__: each
    for each in vars(errors).values()
    if inspect.isclass(each) and issubclass(each, errors.CallsheetError)
}
MEANINGS = {
    0: "Done.",
    1: "The site or the program failed in another way.",
    2: "The command line, a file or a definition is wrong. Nothing was sent.",
    3: "Not signed in, or not allowed. A policy may have refused it.",
    4: "It does not exist, or this account may not see it.",
    5: "It was changed by somebody else meanwhile, or its state forbids the change.",
    6: "Too many requests. The message says when to try again.",
    7: "The network failed, or no answer came in time.",
    INTERRUPTED: "Ctrl-C.",
}


def exit_codes() -> str:
    names, statuses = defaultdict(list), defaultdict(list)
    for each in CLASSES.values():
        names[each.exit_code].append(f"`{each.code}`")
    for status, each in failure._CLASSES.items():  # noqa: SLF001 - the one place where this is said
        statuses[each.exit_code].append(str(status))
    rows = [
        (str(code), meaning, ", ".join(dict.fromkeys(names[code])), ", ".join(statuses[code]))
        for code, meaning in MEANINGS.items()
    ]
    hints = [(str(status), hint) for status, hint in failure._HINTS.items()]  # noqa: SLF001
    return f"""# Exit codes

{WRITTEN} `suite`, `lms` and programs of your own all end with one of these.

{table(("code", "meaning", "`code` of the error", "HTTP status"), rows)}

Every other status of a site ends with 1. The name in the third column stands in the JSON form of an error, which
`-o json` prints on standard error:

```console
$ suite issues get DEMO-999 -o json --jq .key
{{"error": {{"code": "not_found", "status": 404, ...
```

## In a script

```sh
suite issues get "$key" -o json > issue.json
case $? in
  0) ;;
  4) echo "$key does not exist" ;;
  6 | 7) echo "try again later" ;;
  *) exit 1 ;;
esac
```

## Output that cannot be written

| where to | what happens | code |
|---|---|---|
| standard output is closed (`>&-`), or nobody reads on | the rest is left out | as without it |
| standard output is full (`> /dev/full`) | `error: cannot write the result: ...` | 1 |
| standard error is closed (`2>&-`) or full (`2> /dev/full`) | notes and errors are left out | as without it |

## What an HTTP status means

{table(("status", "what to do"), hints)}
"""


class Variable(NamedTuple):
    """`name` begins with PREFIX where each program has its own."""

    name: str
    meaning: str


OF_A_SITE = (
    Variable("PREFIX_BASE_URL", "Address of the site. With a token, no settings file is needed."),
    Variable("PREFIX_EMAIL", "E-mail address or user name. Counts only together with `PREFIX_TOKEN`."),
    Variable("PREFIX_TOKEN", "API token, password or personal access token."),
    Variable("PREFIX_METHOD", "Way of signing in: `basic`, `pat`, `oauth2` or `none`. Counts only with the token."),
    Variable("PREFIX_CLOUD_ID", "The vendor's id of the site, for its gateway. Counts only with the token."),
    Variable("PREFIX_DEPLOYMENT", "`cloud` or `datacenter`."),
    Variable("PREFIX_COMPLETION", "`off`: completion asks no site for names."),
    Variable("PREFIX_JOURNAL", "Which changes are kept in a journal, for `undo`: `always`, `many` or `never`."),
    Variable("PREFIX_MIRROR", "The mirror that agents may ask in SQL: a file that `mirror` made."),
    Variable("PREFIX_SITE", "Name of the site to use, instead of the one chosen by `config use`."),
)
OF_ALL = (
    Variable("PREFIX_OUTPUT", "Format of results, instead of `table`."),
    Variable("PREFIX_POLICY", "What is allowed, such as `destroy=deny`, or a file. See [Agents](agents.md#a-policy)."),
    Variable("PREFIX_DEFINITIONS", "Further folders of definitions, separated as in `PATH`."),
    Variable("PREFIX_KEYRING_PASSWORD", "Password of the encrypted file, where there is no key store."),
    Variable("PREFIX_KEYRING_PASSWORD_FILE", "A file that holds this password."),
    Variable("PREFIX_KEYRING_BACKEND", "`file` or `keyring`: keep credentials only there."),
)
OF_THE_LISTENER = (
    Variable("PREFIX_INBOX", "File of the inbox, instead of `--inbox` of the `inbox` commands."),
    Variable("PREFIX_QUEUE", "Address of the queue, instead of `--queue`."),
    Variable("PREFIX_QUEUE_CREDENTIALS", "Credentials: a `.creds` file, an nkey, `USER:PASSWORD` or a token."),
    Variable("PREFIX_QUEUE_CREDENTIALS_FILE", "A file that holds these credentials."),
)
SHARED = (
    Variable("CALLSHEET_HOME", "Folder of settings, credentials, aliases and your definitions."),
    Variable(
        "CALLSHEET_CACHE", "Folder of what can be made again, such as compiled definitions and copies of key sets."
    ),
    Variable("CALLSHEET_BIN", "Where `callsheet new` puts the launcher of a program."),
    Variable("NO_COLOR", "Set to anything: no colors."),
    Variable("CLICOLOR_FORCE", "Set to 1: colors in pipes and files too."),
    Variable("VISUAL, EDITOR", "The editor for texts that a command asks for."),
    Variable("CI", "Set to anything but 0 or false: nothing is ever asked for."),
    Variable("COLUMNS", "Width of the terminal, for tables and help."),
    Variable("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY", "Proxies, as other programs use them."),
    Variable(
        "SSL_CERT_FILE, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE", "Certificates to trust (PEM); the first that is set."
    ),
    Variable("SSL_CERT_DIR", "A folder of such certificates."),
)
FOR_HANDLERS = (
    Variable("EVENT_TYPE, EVENT_ID, EVENT_TIME, EVENT_SOURCE", "What a handler is told about its event."),
    Variable("EVENT_ATTEMPT", "1 for the first run, 2 for the second ..."),
)


def environment(environ: Mapping[str, str]) -> str:
    def rows(variables: Sequence[Variable], prefix: str = "") -> list[tuple[str, str]]:
        return [
            (", ".join(f"`{name}`" for name in variable.name.replace("PREFIX", prefix).split(", ")), meaning)
            for variable in variables
            for meaning in [variable.meaning.replace("PREFIX", prefix)]
        ]

    heads = ("variable", "meaning")
    return f"""# Environment variables

{WRITTEN} Options win over variables, and variables win over the settings file. A site
named with `--site` takes nothing from the environment.

A program of your own has the variables of `suite` under its own name: `SHOP_BASE_URL`, `SHOP_TOKEN` and so on.

## `suite`

{table(heads, rows((*OF_A_SITE, *OF_ALL), "SUITE"))}

## `lms`

{table(heads, rows((*OF_THE_LISTENER, *OF_ALL), "LMS"))}

Secrets of the sources, one a line:

{table(("variable", "source"), list(_secrets(environ)))}

## All programs

{table(heads, rows(SHARED))}

## Programs that handle events

{table(heads, rows(FOR_HANDLERS))}

Handlers do not see variables that hold secrets unless their route names them. See [Routes](listener.md#routes).
"""


def _secrets(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    catalog = open_catalog("lms", environ)
    for name, source in sorted(catalog.sources.all().items()):
        found = dict.fromkeys(re.findall(r"'env': '([A-Z_]+)'", repr(source)))
        if found:
            yield ", ".join(f"`{variable}`" for variable in found), f"`{name}`"
    catalog.close()


class Message(NamedTuple):
    text: str
    hint: str


LEAST = 12  # letters without which a message cannot be looked up
DEEPEST = 3  # names that stand for names
Texts = dict[str, ast.expr]


def messages() -> str:
    """Every message that is written out in the engine and the definitions, by exit code.

    `…` stands for what a run puts there.
    """
    found: dict[int, set[Message]] = defaultdict(set)
    for path in sorted((ROOT / "engine").rglob("*.py")):
        for error, call, texts in _errors(ast.parse(path.read_text(encoding="utf-8"))):
            text = _words(call.args[0], texts)
            hint = next((_words(each.value, texts) for each in call.keywords if each.arg == "hint"), "")
            if sum(map(str.isalpha, text)) >= LEAST:
                of_listener = "listener" in path.parts or "{program} webhook" in hint
                program = "lms" if of_listener else "suite"
                found[error.exit_code].add(Message(text, errors.name_program(hint, program)))
    for path in sorted((ROOT / "definitions").rglob("*.toml")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        for step in _failures({kind: each for kind, each in tables.items() if kind != "palette"}):
            code = next((each.exit_code for each in CLASSES.values() if each.code == step.get("code", "usage")), 2)
            found[code].add(Message(re.sub(r"\{[^{}]*\}", "…", step["fail"]), step.get("hint", "")))
    sections = [
        f"## Exit code {code}\n\n{MEANINGS[code]}\n\n{table(('message', 'what to do'), [*_rows(found[code])])}"
        for code in sorted(found)
    ]
    return "\n\n".join(["# Error messages", f"{WRITTEN} `…` stands for a name, a value or a place.", *sections]) + "\n"


def _errors(module: ast.Module) -> Iterator[tuple[type[errors.CallsheetError], ast.Call, Texts]]:
    """The errors that are made, each with the texts that names stand for in its place."""
    shared = _assigned(module.body)
    in_functions: set[ast.AST] = set()
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [*ast.walk(function)]
            in_functions.update(inside)
            yield from _made(inside, shared | _assigned(inside))
    yield from _made([each for each in ast.walk(module) if each not in in_functions], shared)


def _made(nodes: Sequence[ast.AST], texts: Texts) -> Iterator[tuple[type[errors.CallsheetError], ast.Call, Texts]]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CLASSES and node.args:
            yield CLASSES[node.func.id], node, texts


def _assigned(nodes: Sequence[ast.AST]) -> Texts:
    """Name → the text it is assigned, where that is done once."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id].append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _failures(value: Any) -> Iterator[dict[str, Any]]:
    """The steps that end a command deliberately, at any depth of a file of definitions."""
    if isinstance(value, dict):
        if isinstance(value.get("fail"), str):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _failures(each)


def _rows(found: set[Message]) -> Iterator[tuple[str, str]]:
    for message in sorted(found, key=lambda each: (each.text.lstrip("…: ").casefold(), each)):
        yield _escaped(message.text), _escaped(message.hint)


def _escaped(text: str) -> str:
    return re.sub(r"([<>*_\[\]{}\\])", r"\\\1", text)


def _words(node: ast.expr, texts: Texts, depth: int = 0) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = [_words(each, texts, depth) or "…" for each in node.values]
        return re.sub("…(?: ?…)+", "…", "".join(parts)).replace("\n", " ")
    if isinstance(node, ast.FormattedValue):
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        return _words(node.value, texts, depth) if isinstance(texts.get(name), ast.Constant | ast.JoinedStr) else ""
    if isinstance(node, ast.Name):
        return _words(texts[node.id], texts, depth + 1) if node.id in texts and depth < DEEPEST else ""
    if isinstance(node, ast.BinOp):
        return _words(node.left, texts, depth) + _words(node.right, texts, depth)
    if isinstance(node, ast.IfExp):
        return _words(node.body, texts, depth) or _words(node.orelse, texts, depth)
    return ""


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(heads), "|" + "---|" * len(heads), *map(line, rows)])
