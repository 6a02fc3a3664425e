"""A listener that lacks a proof does not start, unless it was told that nothing is to be verified."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import NotAllowed, UsageError
from callsheet.listener.verify.secret_options import collect_secrets
from callsheet.listener.verify.source import Source, check_proofs
from support.listening import listening, run

HMAC = {"header": "X-S", "algorithm": "sha256", "encoding": "hex", "env": "SHOP_SECRET"}


def source(name: str, *secrets: str, **more: Any) -> Source:
    definition: Any = {"title": name, "path": f"/{name}", "type": "payload.type", "hmac": HMAC, **more}
    return Source(name, definition, secrets)


PROVED, OPEN, MEANT = source("proved", "s"), source("open"), source("meant", unverified=True)
LOCAL = source("local", unverified="local")
NONE = Source("none", {"title": "none", "path": "/none", "type": "payload.type"})


@pytest.mark.parametrize(
    ("sources", "options", "served"),
    [
        ([OPEN], {}, None),
        ([OPEN, MEANT], {}, None),
        ([LOCAL], {}, ["local"]),
        ([LOCAL, MEANT, NONE], {}, ["local", "meant", "none"]),
        ([LOCAL, OPEN], {}, None),
        ([PROVED, MEANT], {}, ["meant"]),
        ([PROVED, OPEN], {"insecure": True}, ["open"]),
        ([OPEN], {"insecure": True, "is_public": True}, ["open"]),
        ([MEANT], {"is_public": True}, ["meant"]),
        ([PROVED], {"is_public": True}, []),
        ([OPEN], {"is_public": True}, None),
        ([PROVED, OPEN], {}, None),
        ([MEANT, OPEN], {"is_public": True}, None),
        ([PROVED, LOCAL], {}, None),
        ([LOCAL], {"is_public": True}, None),
        ([NONE], {"is_public": True}, None),
    ],
)
def test_only_what_was_meant_is_served_unverified(
    sources: list[Source], options: dict[str, bool], served: list[str] | None
) -> None:
    given = {"insecure": False, "is_public": False, **options}
    if served is not None:
        assert check_proofs(sources, **given) == served
        return
    with pytest.raises(UsageError, match=r"source '(open|local|none)'") as refused:
        check_proofs(sources, **given)
    assert "SHOP_SECRET" in str(refused.value.hint) or sources == [NONE]
    assert "--insecure" in str(refused.value.hint)


JWT = {"algorithms": ["RS256"]}


@pytest.mark.parametrize(
    ("sources", "is_public", "hint"),
    [
        ([OPEN], True, "set SHOP_SECRET, or give --secret-file; with --insecure anyone who can reach this host can "),
        ([source("j", jwt=JWT, hmac={})], True, "give --jwks-url; with --insecure anyone"),
        ([PROVED, source("j", jwt=JWT, hmac={})], False, "name it first, and give its proof with options; with "),
        ([PROVED, OPEN], False, "set SHOP_SECRET; with --insecure any program on this host can send events"),
    ],
)
def test_what_to_do_about_a_source_without_a_proof(sources: list[Source], is_public: bool, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_proofs(sources, insecure=False, is_public=is_public)
    assert str(refused.value.hint).startswith(hint)


@pytest.mark.parametrize("text", ["", "\n", "\n\n"])
def test_a_variable_that_is_set_and_empty_is_a_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="SHOP_SECRET is set, but contains no secret"):
        collect_secrets(["given"], (), (), "SHOP_SECRET", {"SHOP_SECRET": text}, "SHOP", "suite")
    assert collect_secrets(["given"], (), (), "SHOP_SECRET", {}, "SHOP", "suite") == ["given"]


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfhush\n", b"\xff\xfeh\0u\0"])
def test_a_byte_order_mark_is_named(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(UsageError, match="byte-order mark") as refused:
        collect_secrets((), [str(path)], (), None, {}, "SHOP", "suite")
    assert "hush" not in str(refused.value)
    with pytest.raises(UsageError, match="SHOP_SECRET begins with a byte-order mark"):
        collect_secrets((), (), (), "SHOP_SECRET", {"SHOP_SECRET": "\ufeffhush"}, "SHOP", "suite")


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("hush", encoding="utf-8")
    path.chmod(0o640)
    with pytest.raises(NotAllowed, match="can be read by others"):
        collect_secrets((), [str(path)], (), None, {}, "SHOP", "suite")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_second_source_without_its_secret_does_not_start(tmp_path: Path) -> None:
    two = ("--source", "lms", "--source", "github")
    done = run(tmp_path, "listen", "--addr", ":0", *two, LMS_SECRET="x")
    assert done.returncode == 2
    assert "source 'github': it has no secret or key set to verify events with" in done.stderr
    assert "set GITHUB_WEBHOOK_SECRET" in done.stderr
    empty = run(tmp_path, "listen", "--addr", ":0", LMS_SECRET="")
    assert empty.returncode == 2
    assert "LMS_SECRET is set, but contains no secret" in empty.stderr
    with listening(tmp_path, *two, "--insecure", environ={"LMS_SECRET": "x"}) as listener:
        assert "note: github: nothing is verified" in listener.err
        assert listener.post(b"{}", {"X-GitHub-Event": "star"}, path="/github").status == 200


@pytest.mark.parametrize("url", ["", "https://a..b/keys", "https://xn--/keys"])
def test_an_address_of_keys_that_is_none_does_not_start(url: str, tmp_path: Path) -> None:
    """An empty one, as of a variable that is not set, would else be no proof at all."""
    done = run(tmp_path, "listen", "--addr", "127.0.0.1:0", "--jwks-url", url)
    assert (done.returncode, "is not a valid address" in done.stderr) == (2, True), done.stderr
