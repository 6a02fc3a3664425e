"""Which store holds a credential, and where its password is from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callsheet.errors import CallsheetError, NotAllowed, UsageError
from callsheet.sites.credentials.secrets import (
    Secrets,
    account_of_secret,
    chosen_name,
    has_own_access,
    open_store,
    service_name,
)
from callsheet.sites.profiles.choose import Variables


@pytest.mark.parametrize(
    ("environ", "recorded", "name"),
    [
        ({}, None, "keyring"),
        ({"S_KEYRING_PASSWORD": "p"}, None, "file"),
        ({"S_KEYRING_PASSWORD_FILE": "f"}, None, "file"),
        ({"S_KEYRING_PASSWORD": "p"}, "keyring", "keyring"),
        ({}, "file", "file"),
        ({"S_KEYRING_BACKEND": "file"}, "keyring", "file"),
        ({"S_KEYRING_BACKEND": "keyring", "S_KEYRING_PASSWORD": "p"}, None, "keyring"),
    ],
)
def test_what_is_forced_comes_first_then_what_is_recorded(
    environ: dict[str, str], recorded: str | None, name: str
) -> None:
    assert chosen_name(Variables("S", environ), recorded) == name


def test_a_store_that_there_is_not() -> None:
    with pytest.raises(UsageError, match=r"^S_KEYRING_BACKEND: unknown store 'fil', did you mean 'file'"):
        chosen_name(Variables("S", {"S_KEYRING_BACKEND": "fil"}))


def opened(tmp_path: Path, **environ: str) -> object:
    environ = {"CALLSHEET_HOME": str(tmp_path), **environ}
    return open_store("file", Variables("S", environ), environ, "suite")


def test_the_password_is_in_a_variable_or_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(" from the file\n", encoding="utf-8")
    file.chmod(0o600)
    assert opened(tmp_path, S_KEYRING_PASSWORD="said")._password == "said"  # type: ignore[attr-defined]
    both = opened(tmp_path, S_KEYRING_PASSWORD="said", S_KEYRING_PASSWORD_FILE=str(file))
    assert both._password == "said"  # type: ignore[attr-defined]
    assert opened(tmp_path, S_KEYRING_PASSWORD_FILE=str(file))._password == "from the file"  # type: ignore[attr-defined]
    file.write_text(" \n", encoding="utf-8")
    with pytest.raises(CallsheetError, match=r"the password file .* is empty"):
        opened(tmp_path, S_KEYRING_PASSWORD_FILE=str(file))
    with pytest.raises(NotAllowed, match="the encrypted file needs its password") as caught:
        opened(tmp_path)
    assert caught.value.hint == "set S_KEYRING_PASSWORD or S_KEYRING_PASSWORD_FILE"


def test_entries_of_another_home_are_kept_apart(tmp_path: Path) -> None:
    assert service_name({}, "suite") == "callsheet"
    assert service_name({"CALLSHEET_HOME": str(tmp_path)}, "suite") == f"callsheet:{tmp_path}"


WIKI = {"base_url": "https://wiki.org"}


@pytest.mark.parametrize(
    ("own", "apart"),
    [
        ({}, False),
        (WIKI, True),
        ({"base_url": "https://site.org/wiki"}, False),
        ({"base_url": "https://site.org:444"}, True),
        ({"token_env": "T"}, True),
        ({"store": "file"}, True),
        ({"method": "basic"}, False),
        ({"method": "pat"}, True),
        ({"email": "me"}, False),
    ],
)
def test_which_service_has_a_credential_of_its_own(own: dict[str, str], apart: bool) -> None:
    settings = {"base_url": "https://site.org", "method": "basic", "services": {"wiki": own}}
    assert has_own_access(settings, "wiki") is apart
    assert account_of_secret("work", settings, "wiki") == ("work/wiki" if apart else "work")
    assert account_of_secret("work", settings, "other") == "work"


@pytest.mark.parametrize(
    ("settings", "token", "place"),
    [
        ({"token_env": "T"}, False, "T"),
        ({"token_file": "f"}, False, "f"),
        ({"store": "file"}, False, "encrypted file"),
        ({"store": "keyring"}, False, "key store"),
        ({}, False, "none"),
        ({"token_env": "T"}, True, "S_TOKEN"),
    ],
)
def test_where_a_secret_is_looked_for(settings: dict[str, str], token: bool, place: str) -> None:
    secrets = Secrets("work", settings, Variables("S", {}), {}, program="suite", token=token)
    assert secrets.place_of_secret("wiki") == place


def test_a_secret_out_of_a_variable_or_a_file(tmp_path: Path) -> None:
    environ = {"CALLSHEET_HOME": str(tmp_path), "T": "from T", "S_TOKEN": "from S"}
    (tmp_path / "f").write_text("from f", encoding="utf-8")
    os.chmod(tmp_path / "f", 0o600)

    def found(token: bool = False, **settings: str) -> tuple[str, str]:
        secret = Secrets("work", settings, Variables("S", environ), environ, program="suite", token=token).find_secret(
            "wiki", [], dict
        )
        return secret.text, secret.place

    assert found(token_env="T") == ("from T", "T")
    assert found(token_file="f") == ("from f", str(tmp_path / "f"))
    assert found(token=True, token_env="T") == ("from S", "S_TOKEN")
    with pytest.raises(NotAllowed, match="takes its token from U, which is not set"):
        found(token_env="U")
    with pytest.raises(NotAllowed, match="no credential for site 'work'") as caught:
        found()
    told = "sign in: {program} auth login --site work; or name a token_env or token_file"
    assert str(caught.value.hint).startswith(told)
