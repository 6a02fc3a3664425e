"""Signing in with OAuth 2.0, against an authorization server that checks everything and rotates refresh tokens."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from callsheet.sites.credentials.encrypted import EncryptedFile
from support.canary import CANARY
from support.fakesite import CLIENT_ID, CLIENT_SECRET, CLOUD_ID, FakeSite
from support.ports import free_port
from support.shell import Done, Shell
from support.waiting import PATIENCE

ANSWERED = b"Back to the terminal"


@pytest.fixture
def port() -> str:
    return str(free_port())


@pytest.fixture
def options(site: FakeSite, shell: Shell, port: str) -> list[str]:
    secret = shell.secret_file("client-secret", CLIENT_SECRET + "\n")
    return [
        *("init", "--name", "work", "--base-url", site.url, "--method", "oauth2"),
        *("--client-id", CLIENT_ID, "--client-secret", f"@{secret}", "--port", port),
    ]


def follow(url: str) -> httpx.Response:
    return httpx.get(url, follow_redirects=True, timeout=PATIENCE, trust_env=False)


def sign_in(
    shell: Shell, options: list[str], pasted: str | None = None, first: Callable[[str], None] = lambda _page: None
) -> tuple[Done, httpx.Response | None]:
    """`init --no-browser`, with this process as the person's browser; `pasted` goes to standard input instead.

    `first` happens before, with the page that is to be opened.
    """
    with shell.running(*options, "--no-browser") as process:
        for line in process.stderr:
            if line.startswith("http"):
                break
        else:
            _, err = process.communicate(timeout=PATIENCE)
            raise AssertionError(err)
        first(line.strip())
        answer = None
        if pasted is None:
            answer = follow(line.strip())
        else:
            asked = {name: values[0] for name, values in parse_qs(urlsplit(line.strip()).query).items()}
            sent = httpx.get(line.strip(), trust_env=False, timeout=PATIENCE).headers["location"]
            process.stdin.write(pasted.format(**asked, sent=sent) + "\n")
            process.stdin.flush()
        out, err = process.communicate(timeout=PATIENCE)
    return shell._done(process.returncode, out, line + err), answer


def record(shell: Shell) -> dict[str, object]:
    found = EncryptedFile(str(shell.home), f"{CANARY}-password", "").get("work")
    assert found is not None
    return found


def test_consent_code_and_site(shell: Shell, site: FakeSite, options: list[str], port: str) -> None:
    done, answer = sign_in(shell, options)
    assert done.code == 0, done.err
    assert answer is not None
    assert ANSWERED in answer.content
    asked = next(parse_qs(urlsplit(r.target).query) for r in site.requests if r.path == "/authorize")
    assert asked["redirect_uri"] == [f"http://127.0.0.1:{port}/callback"]
    assert asked["prompt"] == ["consent"]
    assert f'cloud_id = "{CLOUD_ID}"' in shell.profiles
    assert f'client_id = "{CLIENT_ID}"' in shell.profiles
    assert 'method = "oauth2"' in shell.profiles
    site.requests.clear()
    assert shell("op", "call", "getCurrentUser", "-o", "id").out == "a1\n"
    assert [request.path for request in site.requests] == [f"/ex/jira/{CLOUD_ID}/rest/api/3/myself"]
    # The id of the site was known before the credential was tried.
    assert not any(request.path == "/rest/api/3/myself" for request in site.requests)


@pytest.mark.slow
def test_a_real_browser_is_opened(shell: Shell, site: FakeSite, options: list[str], tmp_path: Path) -> None:
    browser = tmp_path / "browser.py"
    browser.write_text(f"#!{sys.executable}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n")
    browser.chmod(0o755)
    done = shell.process(*options, BROWSER=str(browser))
    assert done.code == 0, done.err


def test_the_address_can_be_pasted(shell: Shell, options: list[str]) -> None:
    done, _ = sign_in(shell, options, pasted="{sent}")
    assert done.code == 0, done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["code=stolen&state=forged", "code=stolen", "error=access_denied&state=forged", "state=a&state=b", ""]
)
def test_a_stray_answer_ends_nothing(query: str, shell: Shell, site: FakeSite, options: list[str], port: str) -> None:
    """Any page can send the browser to the redirect URL; the sign-in goes on until its own answer comes."""

    def strays(_page: str) -> None:
        answer = httpx.get(f"http://127.0.0.1:{port}/callback?{query}", trust_env=False, timeout=PATIENCE)
        assert answer.status_code == 400
        assert b"does not belong to the sign-in" in answer.content
        assert httpx.get(f"http://127.0.0.1:{port}/other?{query}", trust_env=False, timeout=PATIENCE).status_code == 404

    done, answer = sign_in(shell, options, first=strays)
    assert done.code == 0, done.err
    assert answer is not None
    assert ANSWERED in answer.content


def test_an_answer_of_the_server_with_another_state_is_not_taken(
    shell: Shell, site: FakeSite, options: list[str]
) -> None:
    def forged(page: str) -> None:
        site.wrong_state = True
        assert follow(page).status_code == 400
        site.wrong_state = False

    done, _ = sign_in(shell, options, first=forged)
    assert done.code == 0, done.err


def test_a_pasted_address_of_another_sign_in_is_asked_for_again(shell: Shell, options: list[str]) -> None:
    done, _ = sign_in(shell, options, pasted="{redirect_uri}?code=stolen&state=other\n{redirect_uri}?code=x\n{sent}")
    assert done.code == 0, done.err
    assert done.err.count("that address does not belong to this sign-in") == 2


def test_a_person_who_says_no(shell: Shell, site: FakeSite, options: list[str]) -> None:
    site.refuses = "access_denied"
    done, _ = sign_in(shell, options)
    assert done.code == 3
    assert "the sign-in was refused: access_denied: the person said no" in done.err


def test_a_wrong_client_secret_is_named(shell: Shell, options: list[str]) -> None:
    (shell.given / "client-secret").write_text(f"{CANARY}-other")
    done, _ = sign_in(shell, options)
    assert done.code == 3
    assert "invalid_client: unknown client" in done.err
    assert "hint: check the app's client id and client secret" in done.err


def test_a_missing_client_secret_is_named_before_anything_opens(shell: Shell, site: FakeSite) -> None:
    done = shell("init", "--base-url", site.url, "--method", "oauth2", "--client-id", CLIENT_ID)
    assert done.code == 2
    assert "the client secret is needed" in done.err
    assert "SUITE_CLIENT_SECRET" in done.err
    done = shell("init", "--base-url", site.url, "--method", "oauth2")
    assert "--client-id is needed" in done.err


def test_a_token_for_another_site_is_refused(shell: Shell, site: FakeSite, options: list[str]) -> None:
    site.sites = [{"id": "other", "url": "https://other.example.org", "scopes": []}]
    done, _ = sign_in(shell, options)
    assert done.code == 3
    assert f"the token does not reach {site.url}, only https://other.example.org" in done.err
    assert not shell.profiles


def test_a_port_in_use_is_named(shell: Shell, options: list[str], port: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(port)))
        taken.listen()
        done = shell.process(*options, BROWSER="true")
    assert done.code == 1
    assert f"cannot wait for the browser at http://127.0.0.1:{port}/callback" in done.err
    assert "--port" in done.err


@pytest.fixture
def signed_in(shell: Shell, site: FakeSite, options: list[str]) -> Shell:
    site.lifetime = 1  # less than the margin: the next call renews
    done, _ = sign_in(shell, options)
    assert done.code == 0, done.err
    site.lifetime = 3600
    return shell


def test_an_ended_access_is_renewed_and_the_rotated_token_kept(signed_in: Shell, site: FakeSite) -> None:
    before = record(signed_in)
    assert signed_in("op", "call", "getCurrentUser").code == 0
    after = record(signed_in)
    assert site.renewals == 1
    assert after["refresh_token"] != before["refresh_token"]
    assert after["refresh_token"] in site.refresh_tokens
    assert after["client_secret"] == CLIENT_SECRET
    assert signed_in("op", "call", "getCurrentUser").code == 0
    assert site.renewals == 1


@pytest.mark.slow
def test_many_processes_renew_once(signed_in: Shell, site: FakeSite) -> None:
    processes = [signed_in.start("op", "call", "getCurrentUser", "-o", "id") for _ in range(4)]
    results = [(process.communicate(timeout=PATIENCE), process.returncode) for process in processes]
    assert [(code, out) for (out, _), code in results] == [(0, "a1\n")] * 4, results
    assert site.renewals == 1


def test_a_refused_renewal_says_to_sign_in_again(signed_in: Shell, site: FakeSite) -> None:
    site.refresh_tokens.clear()
    done = signed_in("op", "call", "getCurrentUser")
    assert done.code == 3
    assert "the access token could not be renewed" in done.err
    assert "hint: sign in again with `auth login`" in done.err


def test_doctor_tells_the_scopes(signed_in: Shell) -> None:
    rows = {row["check"]: row for row in signed_in("doctor", "--json").json()}
    assert rows["scopes"]["detail"] == "read:jira-work"
    assert rows["credential"]["detail"] == "oauth2, from encrypted file"


def test_a_connection_that_says_nothing_does_not_hold_up_the_browser(
    shell: Shell, options: list[str], port: str
) -> None:
    """Browsers open connections they may never use."""
    idle: list[socket.socket] = []

    def connect() -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not idle:
            try:
                idle.append(socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE))
            except OSError:
                time.sleep(0.01)

    thread = threading.Thread(target=connect)
    thread.start()
    with shell.running(*options, "--no-browser") as process:
        url = next(line for line in process.stderr if line.startswith("http")).strip()
        thread.join()
        assert ANSWERED in follow(url).content
        _, err = process.communicate(timeout=PATIENCE)
    idle[0].close()
    assert process.returncode == 0, err


def test_the_record_names_its_host(signed_in: Shell, site: FakeSite) -> None:
    assert record(signed_in)["origin"] == site.url
    signed_in("config", "set", "base_url", "https://evil.example.org")
    site.requests.clear()
    done = signed_in("op", "call", "getCurrentUser")
    assert done.code == 3
    assert f"was given for {site.url}, not for https://evil.example.org" in done.err
    assert site.requests == []
    assert json.dumps(record(signed_in))


@pytest.mark.slow
def test_no_definition_leads_tokens_to_another_authorisation_server(
    shell: Shell, site: FakeSite, options: list[str]
) -> None:
    """A refresh token and the client secret go where the sign-in went, and so does the token of a check-up."""
    site.lifetime = 1
    assert sign_in(shell, options)[0].code == 0
    evil = shell.given / "evil"
    evil.mkdir()
    for key in ("token", "sites"):
        (evil / "evil.toml").write_text(f'[auth.oauth2.oauth]\n{key} = "https://evil.example/x"\n')
        site.requests.clear()
        definitions = f"{shell.environ['SUITE_DEFINITIONS']}:{evil}"
        done = shell("op", "call", "getCurrentUser", SUITE_DEFINITIONS=definitions)
        assert (done.code, site.requests) == (3, [])
        assert "not for https://evil.example:443" in done.err
    assert shell("op", "call", "getCurrentUser").code == 0
