from __future__ import annotations

import pytest

from callsheet.client.request.build import Builder
from callsheet.client.request.operation_call import call_of, replace_base
from callsheet.errors import UsageError
from support.fakes import Definitions, FakeSite

DEFINITIONS = Definitions(
    """
[service.shop]
title = "Shop"

[product.items]
title = "Items"
service = "shop"
order = 1
base = "/api/3"
headers = { X-A = "1", X-B = "2" }
on.datacenter = { base = "/api/2", headers = { X-A = "3" } }

[product.pages]
title = "Pages"
service = "wiki"
order = 2
base = "/wiki/v2"
on.datacenter = { unavailable = "use the old pages" }

[product.old]
title = "Old pages"
service = "wiki"
order = 3
base = "/wiki/api"
on.datacenter = { base = "/api" }

[operation.get]
product = "items"
http = "GET /api/3/item/{id}"
params = [{ name = "id", in = "path" }, { name = "fields", help = "f" }, { name = "expand" }]
headers = { x-b = "op" }
on.datacenter = { params = [{ name = "fields", type = "array" }, { name = "expand", remove = true }, { name = "old" }] }

[operation.search]
product = "items"
http = "POST /api/3/find"
safety = "read"
on.datacenter = { http = "GET /api/2/search" }

[operation.outside]
product = "items"
http = "GET /api/31/item"

[operation.cloudOnly]
product = "items"
http = "DELETE /api/3/x"
on.datacenter = { unavailable = "call it by hand" }

[operation.page]
product = "pages"
http = "GET /wiki/v2/pages"

[operation.oldPage]
product = "old"
http = "GET /wiki/api/content"
"""
)
CLOUD = FakeSite("https://cloud.example")
CENTER = FakeSite(deployment="datacenter", roots={"shop": "https://h/shop", "wiki": "https://h/wiki"})


def url(site: FakeSite, operation: str, **arguments: str) -> str:
    return Builder(DEFINITIONS, site, "suite").build_request(operation, arguments).url


def test_the_base_of_the_deployment_stands_in_the_place_of_the_products() -> None:
    assert url(CLOUD, "get", id="7") == "https://cloud.example/api/3/item/7"
    assert url(CENTER, "get", id="7") == "https://h/shop/api/2/item/7"
    assert url(CENTER, "oldPage") == "https://h/wiki/api/content"
    assert url(CENTER, "outside") == "https://h/shop/api/31/item"


@pytest.mark.parametrize(
    ("path", "base", "here", "expected"),
    [
        ("/a/b", "/a", "/c", "/c/b"),
        ("/a", "/a", "/c", "/c"),
        ("/ab", "/a", "/c", "/ab"),
        ("/a/b", "", "/c", "/c/a/b"),
        ("/a/b", "/a", "", "/b"),
        ("/a/b", "/a/", "/c/", "/c/b"),
    ],
)
def test_rebasing(path: str, base: str, here: str, expected: str) -> None:
    assert replace_base(path, base, here) == expected


def test_what_an_operation_says_for_a_deployment_is_merged() -> None:
    call = call_of(DEFINITIONS, "get", "datacenter")
    assert [param["name"] for param in call.params] == ["id", "fields", "old"]
    assert call.params[1] == {"name": "fields", "help": "f", "type": "array"}
    search = call_of(DEFINITIONS, "search", "datacenter")
    assert (search.method, search.path) == ("GET", "/api/2/search")
    assert call_of(DEFINITIONS, "search", "cloud").path == "/api/3/find"


def test_what_does_not_exist_there_is_refused_locally() -> None:
    with pytest.raises(UsageError, match=r"^page does not exist on datacenter: use the old pages$"):
        call_of(DEFINITIONS, "page", "datacenter")
    with pytest.raises(UsageError, match=r"^cloudOnly does not exist on datacenter: call it by hand$"):
        call_of(DEFINITIONS, "cloudOnly", "datacenter")
    assert call_of(DEFINITIONS, "cloudOnly", "cloud").path == "/api/3/x"


def test_headers_of_product_operation_and_deployment() -> None:
    request = Builder(DEFINITIONS, CENTER, "suite").build_request("get", {"id": "7"})
    assert request.headers == (("X-A", "3"), ("x-b", "op"))
    assert Builder(DEFINITIONS, CLOUD, "suite").build_request("get", {"id": "7"}).headers == (
        ("X-A", "1"),
        ("x-b", "op"),
    )


def test_safety_is_the_methods_unless_said() -> None:
    safeties = {name: call_of(DEFINITIONS, name, "cloud").safety for name in ("get", "search", "cloudOnly")}
    assert safeties == {"get": "read", "search": "read", "cloudOnly": "destroy"}


def test_an_unknown_operation_is_named() -> None:
    with pytest.raises(UsageError, match="did you mean 'search'"):
        call_of(DEFINITIONS, "serch", "cloud")


class TestRaw:
    def raw(self, site: FakeSite, path: str, method: str = "get") -> tuple[str, str, str]:
        request = Builder(DEFINITIONS, site, "suite").build_raw_request(method, path, [("b", "2 3")])
        return request.url, request.service, request.safety

    def test_the_product_is_found_by_the_path(self) -> None:
        assert self.raw(CENTER, "/api/2/item?a=1") == ("https://h/shop/api/2/item?a=1&b=2%203", "shop", "read")
        assert self.raw(CENTER, "/api/content") == ("https://h/wiki/api/content?b=2%203", "wiki", "read")
        assert self.raw(CENTER, "elsewhere", "DELETE") == ("https://h/shop/elsewhere?b=2%203", "shop", "destroy")

    def test_a_url_of_the_site_is_taken(self) -> None:
        assert self.raw(CENTER, "https://h:443/wiki/api/content?a=1")[:2] == (
            "https://h/wiki/api/content?a=1&b=2%203",
            "wiki",
        )
        assert self.raw(CLOUD, "https://cloud.example/wiki/v2/x")[:2] == (
            "https://cloud.example/wiki/v2/x?b=2%203",
            "wiki",
        )

    def test_a_url_belongs_to_the_service_whose_address_it_starts_with(self) -> None:
        """Its path may start like a base of the other service, below another address."""
        assert self.raw(CENTER, "https://h/wiki/api/2/x")[:2] == ("https://h/wiki/api/2/x?b=2%203", "wiki")
        assert self.raw(CENTER, "https://h/shop/api/content")[:2] == ("https://h/shop/api/content?b=2%203", "shop")

    @pytest.mark.parametrize(
        "url",
        [
            "https://evil.example/api/2",
            "http://h/shop/x",
            "https://h:8443/shop/x",
            "https://h/shopping/x",
            "https://h.evil/shop",
        ],
    )
    def test_another_host_is_refused(self, url: str) -> None:
        with pytest.raises(UsageError, match="is not this site"):
            self.raw(CENTER, url)

    def test_what_cannot_be_sent_is_refused(self) -> None:
        with pytest.raises(UsageError, match="'FETCH' is not a method: expected one of GET, HEAD"):
            self.raw(CLOUD, "/x", "fetch")
        with pytest.raises(UsageError, match="are not allowed in a path"):
            self.raw(CLOUD, "/a/../b")
        with pytest.raises(UsageError, match="user name or password"):
            self.raw(CLOUD, "https://u:p@cloud.example/x")
        with pytest.raises(UsageError, match="header 'X': expected plain ASCII"):
            Builder(DEFINITIONS, CLOUD, "suite").build_raw_request("GET", "/x", headers=[("X", "a\nb")])

    def test_percent_encoding_is_kept_and_added(self) -> None:
        assert self.raw(CLOUD, "/a%2Fb/c d")[0] == "https://cloud.example/a%2Fb/c%20d?b=2%203"
