"""`read_only` and questions hold for every spelling of a request: other methods in headers, other forms of a path."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.catalog.records import Records
from callsheet.client.request.build import Builder
from callsheet.client.request.http_request import Body, Form, Json, Raw, query_text
from callsheet.client.request.operation_call import call_of
from callsheet.errors import CallsheetError, UsageError
from support.cases import environment, nobody, run_program
from support.fakes import FakeSite, Kept
from support.server import exchange, reply, serve
from support.waiting import PATIENCE

ORDER = ["local", "read", "write", "destroy"]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    yield catalog
    catalog.close()


@pytest.fixture(scope="module")
def builder(catalog: Catalog) -> Builder:
    return Builder(catalog, FakeSite(), "suite")


def spellings(path: str) -> list[str]:
    """Of one path: as servers and proxies take them for the same."""
    last = path.rpartition("/")[2]
    once = path.removesuffix(last) + "".join(f"%{ord(letter):02x}" for letter in last)
    return [
        path + "/",
        path.replace("/", "//")[1:],
        path + ";a=b",
        path + ".json",
        path.rpartition("/")[0] + "/" + last.upper(),
        "/tracker" + path,
        "/ex/tracker/11223344-a1b2" + path,
        once,
        once.replace("%", "%25"),
        path.replace("/rest/api/3/", "/rest/api/2/"),
        path.replace("/rest/api/3/", "/rest/api/latest/"),
        *(
            path + end
            for end in (".", ".action", "%20", "%09", "%00", "%00.json", "%3Fx=/y", "%2523x", "%3Bx", "\u200b")
        ),
        path.replace("\\", "/").replace("/", "%5c")[3:],
        path.replace("a", "\uff41").replace("s", "\u017f"),
        "/%20" + path[1:],
        path.removesuffix(last) + once[len(path) - len(last) :].replace("%", "%25252525252525"),
    ]


@pytest.mark.slow
def test_every_spelling_of_an_operation_has_its_class(catalog: Catalog) -> None:
    """Or a worse one. Of those that read by POST, the plain spelling is known for what it is."""
    everything = Kept(catalog)
    builder, kept = Builder(everything, FakeSite(), "suite"), everything.records_of_kind("operation")  # type: ignore[arg-type]
    unusual = [id for id, operation in kept.items() if operation.get("safety") and not operation.get("hidden")]
    usual = [id for id in list(kept)[::24] if not kept[id].get("hidden")]
    assert len(unusual) > 40
    for id in [*unusual, *usual]:
        call = call_of(catalog, id, "cloud")
        path = call.path.replace("{", "X").replace("}", "1")
        plain = "destroy" if call.method == "DELETE" else call.safety  # typed by hand, a DELETE always destroys
        assert builder.build_raw_request(call.method.lower(), path).safety == plain, id
        for spelled in spellings(path):
            got = builder.build_raw_request(call.method, spelled).safety
            assert ORDER.index(got) >= ORDER.index(call.safety), (id, spelled, got)


OVERRIDES = [
    "X-HTTP-Method-Override",
    "x-http-method",
    "X-METHOD-OVERRIDE",
    "X_HTTP_Method_Override",
    "HTTP-Method-Override",
    "X-Original-Method",
    "_method",
]
ISSUE = "/rest/api/3/issue/DEMO-1"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "HEAD"])
@pytest.mark.parametrize("name", OVERRIDES)
def test_a_method_in_a_header_counts(builder: Builder, method: str, name: str) -> None:
    assert builder.build_raw_request(method, ISSUE, headers=[(name, " delete ")]).safety == "destroy"
    assert builder.build_raw_request(method, f"{ISSUE}?_method=DELETE").safety == "destroy"
    assert builder.build_raw_request(method, ISSUE, [("_method", "Delete")]).safety == "destroy"
    assert builder.build_raw_request("GET", ISSUE, headers=[(name, "PUT")]).safety == "write"
    assert (
        builder.build_raw_request("GET", ISSUE, headers=[("Access-Control-Request-Method", "DELETE")]).safety == "read"
    )


@pytest.mark.parametrize(
    "body",
    [
        Form((("_method", "DELETE"),)),
        Raw(b"a=1&_method=delete", "application/x-www-form-urlencoded; charset=utf-8"),
        Json({"_method": "DELETE"}),
        Json([{"deep": {"_Method": ["GET", "delete"]}}]),
        Raw(b'{"_method": "DELETE"}', "text/plain"),
        Raw(b'\xef\xbb\xbf{"_method": "DELETE", "x": ' + b"1" * 5000 + b', "_method": "GET"}', "application/json"),
        Raw(b"a=1;_method=DELETE", None),
        Raw("_method=DELETE".encode("utf-16"), "application/x-www-form-urlencoded; charset=utf-16"),
        Raw(b'--b\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--b--', "multipart/form-data"),
    ],
)
def test_a_method_in_the_body_counts(builder: Builder, body: Body) -> None:
    assert builder.build_raw_request("POST", "/rest/api/3/search", body=body).safety == "destroy"


OVERRIDING = [
    *("?a=b;_method=DELETE", "?_method%00x=DELETE", "?_method.=DELETE", "?%5Fmethod%5B0=DELETE", "?%255Fmethod=DELETE"),
    *("?a=b%26_method=DELETE", "?a=b%3B_method%3DDELETE", "?a=b%253B_method%253DD%2545LETE", "?.method=DELETE"),
    *("?x.http.method.override=DELETE", "?+_method=DELETE", "?_method[]=DELETE", "?a[_method]=DELETE"),
    *(
        "?filter._method=DELETE",
        "?_METHOD=delete",
        "?_method=DEL%45TE",
        "?_method=%2544ELETE",
        "?%EF%BC%BFmethod=DELETE",
    ),
    *("?_method=%EF%BC%A4ELETE", "?x-http-method%20=DELETE", "?_method=GET&_method=DELETE", "?_method%0a=DELETE"),
]


@pytest.mark.parametrize("query", OVERRIDING)
def test_a_method_in_the_query_counts_however_it_is_written(builder: Builder, query: str) -> None:
    form = Raw(query[1:].encode(), "application/x-www-form-urlencoded")
    assert builder.build_raw_request("POST", "/rest/api/3/search", body=form).safety == "destroy"
    assert builder.build_raw_request("GET", f"{ISSUE}{query}").safety == "destroy"
    name, _, value = unquote(query[1:]).partition("=")
    assert builder.build_raw_request("GET", ISSUE, [(name, value)]).safety == "destroy"


@pytest.mark.parametrize(
    "query", ["?payment_method=DELETE", "?method=DELETE", "?billing_http_method=DELETE", "?methods=DELETE"]
)
def test_the_names_of_other_methods_change_nothing(builder: Builder, query: str) -> None:
    assert builder.build_raw_request("GET", f"{ISSUE}{query}").safety == "read"


PIECES = st.sampled_from(
    [
        *(
            "_method",
            "x-http-method",
            "X_HTTP_METHOD_OVERRIDE",
            "method",
            "a",
            "0",
            "=",
            "=",
            "DELETE",
            "delete",
            "PUT",
        ),
        *("&", ";", "[", "]", ".", "+", "-", "_", " ", "\t", "%00", "%5F", "%5B", "%3D", "%26", "%3B", "%25", "\uff3f"),
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=12).map("".join))
@example("a=b;_method=DELETE")
@example("%255Fmethod%253DDELETE")
def test_a_query_is_judged_at_least_as_severely_as_the_same_form(builder: Builder, text: str) -> None:
    """The same text as it is sent: what is left out of a query, or written otherwise, cannot act there."""
    path = "/rest/api/3/search"
    for request in (
        builder.build_raw_request("POST", f"{path}?{text}"),
        builder.build_raw_request("POST", path, parse_qsl(text, keep_blank_values=True)),
    ):
        form = Raw(query_text(request.query).encode(), "application/x-www-form-urlencoded")
        by_form = builder.build_raw_request("POST", path, body=form)
        assert ORDER.index(request.safety) >= ORDER.index(by_form.safety)


def test_a_query_that_holds_a_form_is_judged_as_that_form(builder: Builder) -> None:
    for text in ("a=b;_method=DELETE", "%255Fmethod%253DDELETE", "_method=DELETE", "a[_method]=DELETE"):
        assert builder.build_raw_request("POST", f"/rest/api/3/issue/DEMO-1?{text}").safety == "destroy", text


def test_a_body_that_cannot_be_read_is_not_sent(builder: Builder) -> None:
    with pytest.raises(UsageError, match="nested too deeply"):
        builder.build_raw_request("POST", "/rest/api/3/search", body=Raw(b"[" * 100_000, "text/plain"))


@pytest.mark.parametrize("value", ["{}", "{}?x=1", "https://other.example{}", "//other.example{}#x", "/gateway{}/"])
def test_a_path_in_a_header_counts(builder: Builder, value: str) -> None:
    """As servers and proxies take `X-Original-URL` for the path that was asked for."""
    path = "/rest/api/3/bulk/issues/delete"
    for name, safety in (("X-Original-URL", "destroy"), ("x-rewrite-url", "destroy"), ("Referer", "read")):
        assert (
            builder.build_raw_request("POST", "/rest/api/3/search", headers=[(name, value.format(path))]).safety
            == safety
        )
    assert builder.build_raw_request("GET", ISSUE, headers=[("X-Original-URL", value.format(path))]).safety == "read"


def test_two_threads_that_begin_at_once_both_know_every_operation(catalog: Catalog) -> None:
    """As changes of many items do: none is judged by operations that another thread has read only a part of."""
    begun, judged = threading.Event(), threading.Event()

    class Slow(Kept):
        def records_of_kind(self, kind: str) -> dict[str, dict[str, Any]]:
            found = super().records_of_kind(kind)
            return Interrupted(found) if kind == "operation" and not begun.is_set() else found

    class Interrupted(dict[str, Any]):
        def items(self) -> Any:
            for number, item in enumerate(super().items()):
                if number == 1:
                    begun.set()
                    assert judged.wait(PATIENCE)
                yield item

    shared = Builder(Slow(catalog), FakeSite(), "suite")  # type: ignore[arg-type]
    requests = [
        ("POST", "/rest/api/3/project/DEMO/archive"),
        ("PUT", "/rest/api/3/version/1/mergeto/2"),
        ("POST", "/rest/api/3/search"),
    ]
    alone = Builder(Kept(catalog), FakeSite(), "suite")  # type: ignore[arg-type]
    expected = [alone.build_raw_request(*request).safety for request in requests]
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: [shared.build_raw_request(*request).safety for request in requests])
        assert begun.wait(PATIENCE)
        try:
            assert [shared.build_raw_request(*request).safety for request in requests] == expected
        finally:
            judged.set()
        assert first.result() == expected


def test_an_operation_cannot_be_given_another_method(builder: Builder) -> None:
    arguments = {"issueIdOrKey": "DEMO-1", "_method": "DELETE"}
    assert builder.build_request("getIssue", arguments, strict=False).safety == "destroy"
    assert builder.build_request("getIssue", {"issueIdOrKey": "DEMO-1"}).safety == "read"


@given(path=st.text(st.sampled_from("/%2eE25.;\\ab5cC"), max_size=30))
def test_a_delete_destroys_and_a_path_stays_below(path: str) -> None:
    class Nothing(Records):
        def records_of_kind(self, kind: str) -> dict[str, dict[str, str]]:
            return {"p": {"service": "s"}} if kind == "product" else {}

        def shipped_paths(self) -> list[tuple[str, str, str]]:
            return []

    try:
        request = Builder(Nothing(), FakeSite(), "suite").build_raw_request("DELETE", "/" + path)  # type: ignore[arg-type]
    except CallsheetError:
        return
    assert request.safety == "destroy"
    assert ".." not in request.path.split("/")
    assert "%2e%2e" not in request.path.lower().split("/")


DESTROYING = [
    ["api", "DELETE", ISSUE],
    ["api", "delete", "/rest/unknown"],
    ["api", "POST", "/rest/api/3/bulk/issues/delete", "-d", "{}"],
    ["api", "POST", "/rest/api/2/bulk//issues/%64elete/", "-d", "{}"],
    ["api", "POST", "/rest/api/latest/project/DEMO/delete"],
    ["api", "PUT", "/rest/api/3/version/1/mergeto/2"],
    ["api", "POST", ISSUE, "-H", "X-HTTP-Method-Override: DELETE"],
    ["api", "GET", f"{ISSUE}?_method=DELETE"],
    ["op", "call", "getIssue", "--no-strict", "--param", "issueIdOrKey=DEMO-1", "--param", "_method=DELETE"],
]


@pytest.mark.slow
@pytest.mark.parametrize("words", DESTROYING)
def test_what_destroys_is_asked_about_and_refused_where_nothing_is_changed(words: list[str], tmp_path: Path) -> None:
    with serve([]) as server:
        environ = environment(tmp_path / "home", server.url)
        done = run_program("suite", words, environ)
        assert (done.exit, server.requests) == (2, []), done.stderr
        assert "--yes" in done.stderr
        read_only(tmp_path / "home", server.url)
        environ = {name: text for name, text in environ.items() if not name.startswith("SUITE_")} | {"WORK_TOKEN": "t"}
        done = run_program("suite", [*words, "--yes"], environ)
        assert (done.exit, server.requests) == (3, []), done.stderr


def read_only(home: Path, url: str) -> None:
    home.mkdir(exist_ok=True)
    settings = f'base_url = "{url}"\nemail = "a@b.c"\ntoken_env = "WORK_TOKEN"\nread_only = true\n'
    (home / "profiles.toml").write_text(f'site = "work"\n[sites.work]\n{settings}', encoding="utf-8")


def test_a_read_by_post_is_no_change(tmp_path: Path) -> None:
    with serve(
        [exchange("POST", "/rest/api/3/search/approximate-count", reply(json={"count": 1}))], trusted=True
    ) as server:
        environ = environment(tmp_path / "home", server.url)
        read_only(tmp_path / "home", server.url)
        environ = {name: text for name, text in environ.items() if not name.startswith("SUITE_")} | {"WORK_TOKEN": "t"}
        done = run_program(
            "suite", ["api", "POST", "/rest/api/3/search/approximate-count", "-d", '{"jql": ""}'], environ
        )
    assert done.exit == 0, done.stderr
