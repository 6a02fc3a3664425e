"""One thing of each kind, added from outside: one entry in one registry, or one definition, and it works everywhere."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Required

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from callsheet import registry
from callsheet import richtext as rich_text
from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import run
from callsheet.client.pagination.page_walk import Walk
from callsheet.client.pagination.paging_plan import PageKind
from callsheet.errors import DefinitionError
from callsheet.language.checks import references as links
from callsheet.language.functions import Functions
from callsheet.language.shape import KINDS
from callsheet.language.shape.access import AuthDefinition
from callsheet.output.output_formats import Layout, Renderer
from callsheet.sandbox.simulated_site import SandboxSite
from callsheet.sites.credentials.secrets import Credential, Scheme
from support.canary import TOKEN
from support.places import ROOT
from support.programs import small_program
from support.server import Exchange, exchange, reply, serve
from support.simulated import ask

SHOP = """
[service.shop]
title = "Shop"

[product.shop]
title = "Shop"
service = "shop"
base = "/shop"

[operation.listThings]
product = "shop"
http = "GET /shop/things"
params = [{ name = "page", type = "integer" }, { name = "said", type = "array" }]
view = "things"

[view.things]
columns = [{ name = "name", value = "name" }]
"""
ENTRY = "test_extension_outside:{}"


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts a function or record into a module that registries can name, and its entry into one of them."""
    import sys
    from types import ModuleType

    module = ModuleType("test_extension_outside")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def add(entries: dict[str, str], name: str, value: Any) -> None:
        attribute = f"entry_{len(vars(module))}"
        setattr(module, attribute, value)
        monkeypatch.setitem(entries, name, ENTRY.format(attribute))
        links.adapter_of.cache_clear()
        links.kind_schema.cache_clear()

    yield add
    links.adapter_of.cache_clear()
    links.kind_schema.cache_clear()


class Program:
    """Runs a program with definitions of its own against a scripted server."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self.prefix = name.upper()
        self.env = {f"{self.prefix}_EMAIL": "robin@example.org", f"{self.prefix}_TOKEN": TOKEN}

    def __call__(self, *argv: str, definitions: str = "", exchanges: Iterable[Exchange] = (), stdin: str = "") -> str:
        own = self.directory / "home" / "definitions" / self.name / "own.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        text = textwrap.dedent(definitions)
        if not own.exists() or own.read_text(encoding="utf-8") != text:  # what is the same is not compiled again
            own.write_text(text, encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with serve(exchanges, trusted=True) as server:
            environ = {
                "CALLSHEET_HOME": str(self.directory / "home"),
                f"{self.prefix}_BASE_URL": server.url,
                **self.env,
            }
            code = run(self.name, list(argv), environ=environ, stdin=io.StringIO(stdin), stdout=out, stderr=err)
        assert code == 0, err.getvalue()
        return out.getvalue()


@pytest.fixture
def shop(tmp_path: Path) -> Program:
    """It has no operation but those of the test."""
    program = Program("shop", tmp_path)
    small_program(tmp_path / "home")
    return program


def things() -> Exchange:
    return exchange("GET", "/shop/things", reply(json=[{"name": "ball"}, {"name": "kite"}]))


def test_an_output_format(shop: Program, outside: Any) -> None:
    """A choice of `-o`, of the site's settings and of the environment at once."""

    def shouted(items: Iterable[Any], layout: Layout) -> Iterator[str]:
        del layout
        return (f"{item['name'].upper()}!\n" for item in items)

    outside(registry.OUTPUT_FORMATS, "shout", Renderer(shouted, lambda value, layout: shouted([value], layout)))
    argv = ["op", "call", "listThings"]
    assert shop(*argv, "-o", "shout", definitions=SHOP, exchanges=[things()]) == "BALL!\nKITE!\n"
    shop.env["SHOP_OUTPUT"] = "shout"
    assert shop(*argv, definitions=SHOP, exchanges=[things()]) == "BALL!\nKITE!\n"
    with pytest.raises(AssertionError, match="did you mean 'shout'"):
        shop(*argv, "-o", "shoot", definitions=SHOP)
    from callsheet.sites.profiles.validate import PROFILES

    site = {"base_url": "https://shop.example", "output": "shout"}
    assert PROFILES.validate_python({"sites": {"shop": site}}) == {"sites": {"shop": site}}


def test_an_auth_scheme(shop: Program, outside: Any) -> None:
    """With a key of its own, which other schemes do not have."""

    class TicketAuth(AuthDefinition, total=False):
        gate: Required[Annotated[str, Field(description="ticket: where it is shown.")]]

    def ticket(auth: Any, access: Any, find: Any) -> Credential:
        del access
        secret = find().text
        return Credential({"Authorization": f"Ticket {secret} at {auth['gate']}"}, (secret,))

    outside(registry.AUTH_SCHEMES, "ticket", Scheme(ticket, TicketAuth))
    auth = '[auth.ticket]\ntitle = "A ticket"\nscheme = "ticket"\nsecret = "ticket"\n'
    shop.env = {"SHOP_METHOD": "ticket", "SHOP_TOKEN": TOKEN}
    answer = exchange("GET", "/shop/things", reply(json=[]), headers={"authorization": f"Ticket {TOKEN} at north"})
    called = ["op", "call", "listThings", "-o", "json"]
    assert shop(*called, definitions=SHOP + auth + 'gate = "north"\n', exchanges=[answer]) == "[]\n"
    with pytest.raises(AssertionError, match="scheme 'ticket' needs 'gate'"):
        shop("definitions", "check", definitions=SHOP + auth)
    with pytest.raises(AssertionError, match="header: not a key of scheme 'ticket'"):
        shop("definitions", "check", definitions=SHOP + auth + 'gate = "north"\nheader = "X-Ticket"\n')
    with pytest.raises(AssertionError, match="gate: not a key of scheme 'bearer'"):
        shop("definitions", "check", definitions=SHOP + auth.replace('"ticket"\nsecret', '"bearer"\ngate'))


def test_a_pagination_kind(shop: Program, outside: Any) -> None:
    """Pages that are counted themselves, from one on, until one is empty."""

    def following(walk: Walk, reply: Any, body: Any) -> tuple[Any, str | None]:
        del body
        page = int(dict(reply.request.query).get("page", 1)) + 1
        return (walk.request_at(reply.request, str(page)), str(page)) if walk.received else (None, None)

    outside(registry.PAGINATION, "numbered", PageKind(following, counted=True))
    paged = SHOP + (
        '[operation.listThings.paginate]\nusing = "numbered"\n[paginator.numbered]\nkind = "numbered"\nsend = "page"\n'
    )
    pages = [
        exchange("GET", "/shop/things", reply(json=[{"name": "ball"}]), query=[]),
        exchange("GET", "/shop/things", reply(json=[{"name": "kite"}]), query=["page=2"]),
        exchange("GET", "/shop/things", reply(json=[]), query=["page=3"]),
    ]
    argv = ["op", "call", "listThings", "--all", "-o", "ndjson"]
    assert shop(*argv, definitions=paged, exchanges=pages) == '{"name": "ball"}\n{"name": "kite"}\n'


def test_a_column_format(shop: Program, outside: Any) -> None:
    outside(registry.COLUMN_FORMATS, "backwards", lambda value, context: str(value)[::-1])
    view = SHOP.replace('value = "name" }', 'value = "name", format = "backwards" }')
    assert "llab" in shop("op", "call", "listThings", definitions=view, exchanges=[things()])


def test_a_function_of_expressions(shop: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    function = {"function": lambda self, text: text[::-1], "signature": ({"types": ["string"]},)}
    monkeypatch.setitem(Functions.FUNCTION_TABLE, "backwards", function)
    view = SHOP.replace('value = "name" }', 'value = "backwards(name)" }')
    assert "llab" in shop("op", "call", "listThings", definitions=view, exchanges=[things()])


def test_a_builtin(shop: Program, outside: Any) -> None:
    def greet(context: Any, values: dict[str, Any]) -> None:
        context.streams.out.write(f"hello {values['name']}\n")

    outside(registry.BUILTINS, "greet", greet)
    command = """
        [command.greet]
        help = "Say hello"
        safety = "local"
        builtin = "greet"
        params = [{ name = "name", kind = "argument" }]
    """
    assert shop("greet", "Robin", definitions=command) == "hello Robin\n"


def test_a_converter(shop: Program, outside: Any) -> None:
    outside(registry.CONVERTERS, "backwards", lambda context, value: str(value)[::-1])
    command = SHOP + (
        '[command."things list"]\nhelp = "List things"\nsafety = "read"\nview = "things"\n'
        'params = [{ name = "word", convert = "backwards" }]\ncall = "listThings"\nresult = { name = "{word}" }\n'
        '[group.things]\nhelp = "Things"\n'
    )
    out = shop("things", "list", "--word", "kite", "-o", "json", definitions=command, exchanges=[things()])
    assert json.loads(out) == {"name": "etik"}


def test_a_completion(shop: Program, outside: Any) -> None:
    outside(registry.COMPLETERS, "toys", lambda context, typed, incomplete: ["ball", "kite"])
    command = SHOP + (
        '[command.buy]\nhelp = "Buy a thing"\nsafety = "local"\nbuiltin = "version"\n'
        'params = [{ name = "toy", kind = "argument", complete = "toys" }]\n'
    )
    shop.env |= {"_SHOP_COMPLETE": "zsh"}
    assert [line.split("\t")[1] for line in shop("buy", "ki", definitions=command).splitlines()] == ["kite"]


def test_something_that_the_sandbox_does(shop: Program, outside: Any, tmp_path: Path) -> None:
    """What no definition can express is a function that the definition names."""
    outside(registry.BEHAVIORS, "shout", lambda entities, members, scope: members["said"].append("HEY"))
    simulated = SHOP + (
        '[entity.thing]\nproduct = "shop"\n[entity.thing.actions.listThings]\nreply = "{params.said}"\n'
        'do = [{ run = "shout", to = { said = "{params.said}" } }]\n'
    )
    shop("definitions", "check", definitions=simulated)
    catalog = open_catalog("shop", {"CALLSHEET_HOME": str(tmp_path / "home")})
    site = SandboxSite(catalog, "own")
    assert ask(site, "GET /shop/things?said=a&said=b").body == ["a", "b", "HEY"]
    site.close()
    catalog.close()


@pytest.mark.slow
def test_a_kind_of_definition(shop: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked, shown, and part of the schema for editors."""

    class Gadget(TypedDict, total=False):
        __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012 - as pydantic wants it
        colour: str

    monkeypatch.setitem(KINDS, "gadget", Gadget)
    assert " definitions in " in shop("definitions", "check", definitions='[gadget.top]\ncolour = "red"\n')
    shown = shop("definitions", "show", "gadget", "top", definitions='[gadget.top]\ncolour = "red"\n')
    assert 'colour = "red"' in shown
    assert "gadget" in json.loads(shop("definitions", "schema"))["properties"]
    with pytest.raises(AssertionError, match="did you mean 'colour'"):
        shop("definitions", "check", definitions='[gadget.top]\ncolor = "red"\n')


def test_a_node_of_rich_text(shop: Program) -> None:
    """An inline one, and a block that Markdown has as an alert, in all four formats, by their definitions alone."""
    node = """
        [node.ticket]
        group = "inline"
        says = "{number}"
        text = ["{{ticket:{number}}}"]
        adf = { type = "ticket", attrs = { number = "string" } }
        storage = [{ macro = "ticket", params = { number = "number" } }]
        wiki = [{ macro = "ticket", params = { number = "number" } }]

        [node.stage]
        group = "block"
        empty = "paragraph"
        alerts = { STAGE = { side = "left" }, BACKSTAGE = { side = "behind" } }
        adf = { type = "stage", holds = ["paragraph"], within = ["doc"], attrs = { side = "string" } }
        storage = [{ macro = "stage", body = "rich", params = { side = "side" } }]
        wiki = [{ macro = "stage", params = { side = "side" } }]
    """

    place = shop.directory / "home" / "definitions" / "shop"
    (place / "shipped").mkdir()  # deeper files come first
    shutil.copy(ROOT / "definitions" / "suite" / "richtext.toml", place / "shipped")
    (place / "nodes.toml").write_text(textwrap.dedent(node), encoding="utf-8")
    with closing(open_catalog("shop", {"CALLSHEET_HOME": str(shop.directory / "home")})) as catalog:
        nodes = catalog.nodes.all()

    def convert(source: str, to: str, text: str) -> str:
        value = rich_text.convert_rich_text(
            json.loads(text) if source == "adf" else text, source, to, nodes=nodes
        ).value
        return json.dumps(value) if to == "adf" else str(value).strip()

    document = json.loads(convert("markdown", "adf", "see {ticket:12}"))
    assert document["content"][0]["content"][1] == {"type": "ticket", "attrs": {"number": "12"}}
    assert document["content"][0]["content"][0]["text"] == "see "
    assert convert("adf", "markdown", json.dumps(document)) == "see {ticket:12}"
    assert convert("storage", "markdown", convert("markdown", "storage", "see {ticket:12}")) == "see {ticket:12}"
    assert convert("adf", "wiki", json.dumps(document)) == "see {ticket:number=12}"

    block = "see\n\n> [!BACKSTAGE]\n> all *on*"
    document = json.loads(convert("markdown", "adf", block))
    assert document["content"][1]["type"] == "stage"
    assert document["content"][1]["attrs"] == {"side": "behind"}
    for format in ("adf", "storage"):
        assert convert(format, "markdown", convert("markdown", format, block)) == block
    assert convert("markdown", "wiki", block) == "see\n\n{stage:side=behind}\nall _on_\n{stage}"


def handlers_of(table: str, directory: Path) -> Any:
    """The handlers of a routes file with one route."""
    from callsheet.listener.handlers import HandlerContext
    from callsheet.listener.route_set import RouteSelection, read_routes

    routes = directory / "routes.toml"
    routes.write_text(f"[route.r]\n[[route.r.do]]\n{table}", encoding="utf-8")
    context = HandlerContext(str(directory), {}, frozenset(), print, 1.0, lambda *_, **__: 0)
    catalog = open_catalog("lms", {"CALLSHEET_HOME": str(directory / "home")})
    try:
        rules = read_routes(catalog, RouteSelection(("lms",), (), (str(routes),), ()), context)
    finally:
        catalog.close()
    return [job.handler for route in rules.routes for job in route.jobs]


def test_a_kind_of_handler(tmp_path: Path, outside: Any) -> None:
    """It runs for an event, and says itself which keys its table may have."""
    from callsheet.language.shape.listener import HandlerDefinition
    from callsheet.listener.handlers.base_handler import Base

    seen: list[str] = []

    class RememberTable(HandlerDefinition, total=False):
        shelf: Required[Annotated[str, Field(description="remember: where it is put.")]]

    class Remember(Base):
        shape = RememberTable

        async def run(self, event: Any, job: str) -> None:
            seen.append(f"{self.table['shelf']}: {event.type} ({job})")

    outside(registry.HANDLERS, "remember", Remember)
    made = handlers_of('handler = "remember"\nshelf = "a"\n', tmp_path)
    event: Any = SimpleNamespace(type="ring")
    asyncio.run(made[0].run(event, "r/0"))
    assert seen == ["a: ring (r/0)"]
    with pytest.raises(DefinitionError) as caught:
        handlers_of('handler = "remember"\nshelf = "a"\nurl = "https://h"\n', tmp_path)
    assert "url: not a key of handler 'remember'" in caught.value.details[0]
    with pytest.raises(DefinitionError) as caught:
        handlers_of('handler = "remember"\n', tmp_path)
    assert "handler 'remember' needs 'shelf'" in caught.value.details[0]
    with pytest.raises(DefinitionError) as caught:
        handlers_of('handler = "remembr"\nshelf = "a"\n', tmp_path)
    assert "no handler 'remembr', did you mean 'remember'?" in caught.value.details[0]
    with pytest.raises(DefinitionError) as caught:
        handlers_of('handler = "remember"\nshelf = 7\n', tmp_path)
    assert "shelf: expected a text" in caught.value.details[0]
    with pytest.raises(DefinitionError) as caught:
        handlers_of('handler = "append"\nfile = "a"\nshelf = "a"\n', tmp_path)
    assert "shelf: not a key of handler 'append'" in caught.value.details[0]
