"""`init`: from an address to a site that works, or to a reason why not and nothing saved."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest

from callsheet.errors import CallsheetError
from callsheet.registry import AUTH_SCHEMES
from callsheet.sites.credentials.encrypted import EncryptedFile
from support.canary import CANARY
from support.fakesite import CLOUD_ID, EMAIL, PAT, SCOPED, TOKEN, WIKI_PAT, FakeSite, pair
from support.shell import Shell

BASIC = ("--email", EMAIL, "--token-stdin")


def nothing_saved(shell: Shell) -> bool:
    return not shell.profiles and not (shell.home / "credentials.enc").exists()


def test_a_cloud_site_is_found_out_verified_and_selected(shell: Shell, site: FakeSite) -> None:
    done = shell("init", "--name", "work", "--base-url", site.url, *BASIC, stdin=TOKEN + "\n")
    assert done.code == 0, done.err
    assert "Jira platform: Robin Sample" in done.err
    written = f'base_url = "{site.url}"\nmethod = "basic"\nemail = "{EMAIL}"\nstore = "file"\ndeployment = "cloud"\n'
    assert shell.profiles == f'site = "work"\n\n[sites.work]\n{written}'
    assert shell("auth", "status", "-o", "json").code == 0
    shown = shell("op", "call", "getCurrentUser", "-o", "id")
    assert (shown.code, shown.out) == (0, "a1\n")


def test_the_environment_can_say_everything(shell: Shell, site: FakeSite) -> None:
    done = shell("init", SUITE_BASE_URL=site.url, SUITE_EMAIL=EMAIL, SUITE_TOKEN=TOKEN)
    assert done.code == 0, done.err
    assert "[sites.localhost]" in shell.profiles


def test_the_address_of_any_page_will_do(shell: Shell, site: FakeSite) -> None:
    done = shell("init", "--base-url", f"{site.url}/wiki/spaces/DEMO", *BASIC, stdin=TOKEN)
    assert done.code == 0, done.err
    assert f'base_url = "{site.url}"' in shell.profiles


def test_a_wrong_token_saves_nothing(shell: Shell, site: FakeSite) -> None:
    done = shell("init", "--base-url", site.url, *BASIC, stdin="wrong-" + CANARY)
    assert done.code == 3
    assert "error: the credential was refused" in done.err
    assert "hint: make a new API token at https://" in done.err
    assert nothing_saved(shell)


def test_a_captcha_is_named(shell: Shell, site: FakeSite) -> None:
    site.headers = {"X-Authentication-Denied-Reason": "CAPTCHA_CHALLENGE; login-url=https://x/login"}
    done = shell("init", "--base-url", site.url, "--mode", "site", *BASIC, stdin="wrong")
    assert done.code == 3
    assert "error: the site denies the login (CAPTCHA_CHALLENGE" in done.err
    assert f"hint: sign in at {site.url} in a browser" in done.err
    assert nothing_saved(shell)


def test_another_product_is_named(shell: Shell, site: FakeSite) -> None:
    site.hidden = True
    done = shell("init", "--base-url", site.url, *BASIC, stdin=TOKEN)
    assert done.code == 1
    assert "answers, but is not Jira or Confluence: wrong product or wrong path" in done.err
    assert nothing_saved(shell)


def test_a_site_that_hides_itself_is_believed_when_the_credential_works(shell: Shell, site: FakeSite) -> None:
    site.hidden = True
    done = shell("init", "--base-url", site.url, "--deployment", "cloud", *BASIC, stdin=TOKEN)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("address", "code", "message"),
    [
        (
            "http://127.0.0.1:9",
            7,
            "the site cannot be reached: GET http://127.0.0.1:9/_edge/tenant_info: cannot connect",
        ),
        ("http://site.example.org", 2, "http is only for this machine"),
        ("https://user:pass@site.example.org", 2, "must not hold a user name"),
        ("ftp://site.example.org", 2, "not an http(s) URL"),
        ("https://", 2, "not an http(s) URL"),
    ],
)
def test_an_unusable_address_is_named(shell: Shell, address: str, code: int, message: str) -> None:
    done = shell("init", "--base-url", address, *BASIC, stdin=TOKEN)
    assert done.code == code, done.err
    assert message in done.err
    assert nothing_saved(shell)


def test_a_scoped_token_goes_through_the_gateway(shell: Shell, site: FakeSite) -> None:
    done = shell("init", "--base-url", site.url, *BASIC, stdin=SCOPED)
    assert done.code == 0, done.err
    assert "requests go through the vendor's gateway" in done.err
    assert f'cloud_id = "{CLOUD_ID}"' in shell.profiles
    site.requests.clear()
    assert shell("op", "call", "getCurrentUser").code == 0
    assert [request.path for request in site.requests] == [f"/ex/jira/{CLOUD_ID}/rest/api/3/myself"]


def test_a_scoped_token_without_scopes_is_named(shell: Shell, site: FakeSite) -> None:
    site.scopes = False
    done = shell("init", "--base-url", site.url, *BASIC, stdin=SCOPED)
    assert done.code == 3
    assert "the credential lacks a scope or permission" in done.err
    assert nothing_saved(shell)


def test_a_site_with_only_some_products_is_good_enough(shell: Shell, site: FakeSite) -> None:
    site.closed = {
        "/rest/servicedeskapi/servicedesk": 403,
        "/wiki/api/v2/spaces": 404,
        "/wiki/rest/api/user/current": 404,
    }
    done = shell("init", "--base-url", site.url, *BASIC, stdin=TOKEN)
    assert done.code == 0, done.err
    assert "Jira Service Management: no access" in done.err


def test_two_products_of_a_data_center_are_one_site(shell: Shell, site: FakeSite) -> None:
    site.deployment, site.context = "datacenter", "/tracker"
    site.site_accepts = {f"Bearer {PAT}"}
    done = shell("init", "--name", "dc", "--base-url", f"{site.url}/tracker/browse/X-1", "--token-stdin", stdin=PAT)
    assert done.code == 0, done.err
    site.context, site.product, site.site_accepts = "/wiki-host", "confluence", {f"Bearer {WIKI_PAT}"}
    done = shell("init", "--name", "dc", "--base-url", f"{site.url}/wiki-host", "--token-stdin", stdin=WIKI_PAT)
    assert done.code == 0, done.err
    assert f'[sites.dc.services.jira]\nbase_url = "{site.url}/tracker"' in shell.profiles
    assert f'[sites.dc.services.confluence]\nbase_url = "{site.url}/wiki-host"' in shell.profiles
    site.requests.clear()
    assert shell("op", "call", "confluence-v1.getCurrentUser").code == 0
    assert site.requests[-1].headers["authorization"] == f"Bearer {WIKI_PAT}"
    shell("op", "call", "getCurrentUser")
    assert site.requests[-1].headers["authorization"] == f"Bearer {PAT}"
    assert site.requests[-1].path == "/tracker/rest/api/2/myself"


def test_data_center_takes_user_name_and_password_too(shell: Shell, site: FakeSite) -> None:
    site.deployment = "datacenter"
    site.site_accepts = {pair("robin", TOKEN)}
    done = shell("init", "--base-url", site.url, "--email", "robin", "--token-stdin", stdin=TOKEN)
    assert done.code == 0, done.err
    assert 'method = "basic"' in shell.profiles


def test_skip_login_asks_nothing(shell: Shell, site: FakeSite) -> None:
    done = shell("init", "--base-url", "site.example.org", "--name", "later", "--method", "basic", "--skip-login")
    assert done.code == 0, done.err
    assert site.requests == []
    assert 'base_url = "https://site.example.org"' in shell.profiles
    assert shell("op", "call", "getCurrentUser").code == 3


def test_a_public_site_needs_no_credential(shell: Shell, site: FakeSite) -> None:
    site.site_accepts.add(None)  # type: ignore[arg-type]
    done = shell("init", "--base-url", site.url, "--method", "none")
    assert done.code == 0, done.err
    assert shell("op", "call", "getCurrentUser").code == 0


@pytest.mark.slow
def test_a_scheme_says_itself_that_it_presents_no_secret(
    shell: Shell, site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is called: at sign-in, in the profile, in a check-up and with the environment's address alone."""
    monkeypatch.setitem(AUTH_SCHEMES, "guest", AUTH_SCHEMES["none"])
    own = shell.root / "own"
    own.mkdir()
    (own / "own.toml").write_text(f'{site.overlay()}\n[auth.visitor]\ntitle = "Visitors"\nscheme = "guest"\n')
    shell.environ["SUITE_DEFINITIONS"] = str(own)
    site.site_accepts.add(None)  # type: ignore[arg-type]
    done = shell("init", "--base-url", site.url, "--method", "visitor")
    assert done.code == 0, done.err
    assert "store" not in shell.profiles
    assert "visitor, no credential needed" in shell("doctor").out
    shown = shell("auth", "status", "-o", "json", SUITE_BASE_URL=site.url, SUITE_METHOD="visitor")
    assert {row["site"] for row in shown.json()} == {"environment"}
    assert shown.code == 0, shown.err


def test_another_host_under_a_known_name_is_not_taken_over_silently(shell: Shell, site: FakeSite) -> None:
    shell.write_profiles('[sites.work]\nbase_url = "https://other.example.org"\nmethod = "basic"\n')
    done = shell("init", "--name", "work", "--base-url", site.url, *BASIC, stdin=TOKEN)
    assert done.code == 2
    assert "Site work is https://other.example.org" in done.err
    assert "https://other.example.org" in shell.profiles


def test_a_second_run_keeps_other_settings_and_comments(shell: Shell, site: FakeSite) -> None:
    shell.write_profiles(f'# mine\n[sites.work]\nbase_url = "{site.url}" # here\nrps = 5\ntoken_env = "X"\n')
    done = shell("init", "--name", "work", "--base-url", site.url, *BASIC, stdin=TOKEN)
    assert done.code == 0, done.err
    assert "# mine" in shell.profiles
    assert "# here" in shell.profiles
    assert "rps = 5" in shell.profiles
    assert "token_env" not in shell.profiles


def test_without_a_terminal_what_is_missing_is_named(shell: Shell, site: FakeSite) -> None:
    assert "--base-url is needed" in shell("init").err
    assert "--email is needed" in shell("init", "--base-url", site.url).err
    done = shell("init", "--base-url", site.url, "--email", EMAIL)
    assert done.code == 2
    assert "the API token is needed" in done.err
    assert "--token @FILE, SUITE_TOKEN" in done.err


def test_a_misspelt_method_or_deployment_is_named(shell: Shell, site: FakeSite) -> None:
    assert "did you mean 'basic'" in shell("init", "--base-url", site.url, "--method", "basick").err
    assert "did you mean 'cloud'" in shell("init", "--base-url", site.url, "--deployment", "clod").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--client-id", "x"], "--client-id cannot be used with --method basic\nhint: it goes with --method oauth2"),
        (["--method", "pat", "--email", EMAIL], "--email cannot be used with --method pat"),
        (["--method", "oauth2", "--token", "x"], "--token cannot be used with --method oauth2"),
        (["--method", "none", "--token-stdin"], "--token-stdin cannot be used with --method none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_option_of_another_way_to_sign_in_is_refused(
    shell: Shell, site: FakeSite, words: list[str], told: str
) -> None:
    done = shell("init", "--base-url", site.url, "--skip-login", *words)
    assert (done.code, told in done.err) == (2, True)
    done = shell("init", "--base-url", site.url, "--skip-login", "--deployment", "cloud", "--name", "x")
    assert done.code == 0
    method = [] if "--method" in words else ["--method", "basic"]
    done = shell("auth", "login", "--site", "x", *method, *words)
    assert (done.code, told in done.err) == (2, True)


def test_what_was_said_without_signing_in_is_kept(shell: Shell, site: FakeSite) -> None:
    app = ["--method", "oauth2", "--client-id", "app", "--scopes", "a,b"]
    assert shell("init", "--base-url", site.url, "--skip-login", "--name", "one", *app).code == 0
    assert shell("init", "--base-url", site.url, "--skip-login", "--name", "two", "--email", EMAIL).code == 0
    sites = tomllib.loads(shell.profiles)["sites"]
    assert (sites["one"]["client_id"], sites["one"]["scopes"]) == ("app", ["a", "b"])
    assert sites["two"]["email"] == EMAIL


def test_no_store_at_all_is_an_error_with_a_way_out(shell: Shell, site: FakeSite) -> None:
    done = shell(
        "init", "--base-url", site.url, *BASIC, stdin=TOKEN, SUITE_KEYRING_BACKEND="file", SUITE_KEYRING_PASSWORD=""
    )
    assert done.code == 3
    assert "set SUITE_KEYRING_PASSWORD or SUITE_KEYRING_PASSWORD_FILE" in done.err
    assert nothing_saved(shell)


def broken(*_: object) -> None:
    raise CallsheetError("the disk is full")


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("fail", "code"), [(broken, 1), (interrupted, 130)])
def test_a_profile_that_cannot_be_saved_takes_the_credential_back(
    fail: Callable[..., None], code: int, shell: Shell, site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one goes; the one that was there before is there again."""
    store = EncryptedFile(str(shell.home), shell.environ["SUITE_KEYRING_PASSWORD"], "")
    words = ("init", "--base-url", site.url, "--name", "work", *BASIC)
    with monkeypatch.context() as patch:
        patch.setattr("callsheet.commands.signin_answers.edit_profiles", fail)
        assert shell(*words, stdin=TOKEN).code == code
    assert store.get("work") is None
    assert shell(*words, stdin=TOKEN).code == 0
    before, fresh = store.get("work"), f"{CANARY}-fresh"
    site.site_accepts.add(pair(EMAIL, fresh))
    with monkeypatch.context() as patch:
        patch.setattr("callsheet.commands.signin_answers.edit_profiles", fail)
        assert shell(*words, stdin=fresh).code == code
    assert store.get("work") == before


def test_a_profiles_file_that_cannot_be_written_leaves_no_credential(shell: Shell, site: FakeSite) -> None:
    shell.home.mkdir()
    (shell.home / "profiles.toml").mkdir()
    done = shell("init", "--base-url", site.url, "--name", "work", *BASIC, stdin=TOKEN)
    assert done.code != 0
    assert not (shell.home / "credentials.enc").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", "my site"), "--name: 'my site': a site's name may contain"),
        (("--method", "basc"), "--method: unknown method 'basc', did you mean 'basic'? (one of: basic, "),
        (("--deployment", "server"), "--deployment: unknown deployment 'server' (one of: cloud, datacenter)"),
        (("--service", "jria"), "--service: unknown service 'jria', did you mean 'jira'?"),
        (("--ca-bundle", "missing.pem"), "--ca-bundle: no file /"),
        (
            ("--proxy", f"http://me:{CANARY}@proxy:1"),
            "--proxy: a URL must not hold a user name or password; give this proxy in HTTPS_PROXY",
        ),
        (("--proxy", "proxy:3128"), "--proxy: expected a URL like http://"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_sent(
    shell: Shell, site: FakeSite, words: tuple[str, ...], said: str
) -> None:
    done = shell("init", "--base-url", site.url, *words, *BASIC, stdin=TOKEN)
    assert done.code == 2
    assert done.err.startswith(f"error: {said}"), done.err
    assert site.requests == []
    assert nothing_saved(shell)


def test_services_stand_below_their_site_without_an_empty_table(shell: Shell, site: FakeSite) -> None:
    site.deployment, site.context = "datacenter", "/jira"
    site.site_accepts = {f"Bearer {PAT}"}
    done = shell("init", "--name", "dc", "--base-url", f"{site.url}/jira", "--token-stdin", stdin=PAT)
    assert done.code == 0, done.err
    assert "[sites.dc.services.jira]" in shell.profiles
    assert "[sites.dc.services]\n" not in shell.profiles


def test_one_service_can_go_without_the_credential_that_others_on_its_host_have(shell: Shell, site: FakeSite) -> None:
    assert shell("init", "--name", "work", "--base-url", site.url, *BASIC, stdin=TOKEN + "\n").code == 0
    site.site_accepts.add(None)  # type: ignore[arg-type]
    words = ["--name", "work", "--base-url", site.url, "--service", "confluence", "--method", "none"]
    done = shell("init", *words)
    assert done.code == 0, done.err
    before = len(site.requests)
    assert shell("op", "call", "getCurrentUser").code == 0
    shell("op", "call", "getPages")
    sent = [request.headers.get("authorization") for request in site.requests[before:]]
    assert [bool(text) for text in sent] == [True, False]
