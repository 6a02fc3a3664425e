"""`config`: looking at the sites and changing them, with comments and order kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from support.fakesite import EMAIL, TOKEN, FakeSite
from support.shell import Shell

PROFILES = """\
# my sites
site = "work"          # the one for every day

[sites.work]           # main
base_url = "https://work.example.org"
email = "me@example.org"

[sites."dot.ted"]
base_url = "https://dotted.example.org"
deployment = "datacenter"
method = "pat"

[sites.dc]
deployment = "datacenter"
services.jira.base_url = "https://dc.example.org/jira"
services.confluence = { base_url = "https://dc.example.org/wiki" }
"""


@pytest.fixture
def sites(shell: Shell) -> Shell:
    shell.write_profiles(PROFILES)
    return shell


def test_use_changes_one_word(sites: Shell) -> None:
    done = sites("config", "use", "dot.ted")
    assert (done.code, done.err) == (0, "note: now using site dot.ted\n")
    assert sites.profiles == PROFILES.replace('site = "work" ', 'site = "dot.ted" ')


def test_use_of_an_unknown_site_names_the_closest(sites: Shell) -> None:
    done = sites("config", "use", "wrok")
    assert done.code == 2
    assert "unknown site 'wrok', did you mean 'work'? (known: work, dot.ted, dc)" in done.err
    assert sites.profiles == PROFILES


@pytest.mark.parametrize("words", [["config", "list-sites"], ["config", "sites"], ["config", "list-profiles"]])
def test_sites_are_listed(sites: Shell, words: list[str]) -> None:
    lines = sites(*words).out.splitlines()
    assert lines[0].split() == ["ACTIVE", "NAME", "BASE", "URL", "DEPLOYMENT", "METHOD"]
    assert lines[1].split() == ["*", "work", "https://work.example.org"]
    assert "https://dc.example.org/jira, https://dc.example.org/wiki" in lines[3]
    assert sites("config", "list-sites", "-o", "id").out == "work\ndot.ted\ndc\n"


def test_path_and_view(sites: Shell) -> None:
    assert sites("config", "path").out == f"{sites.home / 'profiles.toml'}\n"
    assert sites("config", "view", "-o", "json").json()["sites"]["work"]["email"] == "me@example.org"
    assert sites("config", "view", "work").out.startswith('[sites.work]\nbase_url = "https://work.example.org"\n')


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("rps", "2.5", "rps = 2.5"),
        ("rps", "2", "rps = 2"),
        ("read_only", "true", "read_only = true"),
        ("project", "2024", 'project = "2024"'),
        ("scopes", "a, b c", 'scopes = ["a", "b", "c"]'),
        ("sites.work.output", "json", 'output = "json"'),
    ],
)
def test_set_keeps_everything_else(sites: Shell, key: str, value: str, line: str) -> None:
    assert sites("config", "set", key, value).code == 0
    assert sites.profiles == PROFILES.replace('"me@example.org"\n', f'"me@example.org"\n{line}\n')
    assert sites("config", "set", key, "").code == 0
    assert sites.profiles == PROFILES


def test_set_reaches_services_and_quoted_names(sites: Shell) -> None:
    assert sites("config", "set", 'sites."dot.ted".rps', "1").code == 0
    assert sites("config", "set", "services.confluence.token_env", "WIKI", "--site", "dc").code == 0
    assert sites("config", "view", "dc", "-o", "json").json()["services"]["confluence"]["token_env"] == "WIKI"
    assert 'services.confluence = { base_url = "https://dc.example.org/wiki", token_env = "WIKI"' in sites.profiles


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("rsp", "1", "sites.work.rsp: no such key, did you mean 'rps'?"),
        ("sites.work", "1", "sites.work: no such key"),
        ("services", "x", "that is a table"),
        ("rps", "fast", "sites.work.rps: expected a number, got 'fast'"),
        ("rps", "0", "sites.work.rps: expected more than 0"),
        ("read_only", "yes", "expected true or false, got 'yes'"),
        ("base_url", "http://work.example.org", "http is only for this machine"),
        ("token", TOKEN, "no such key"),
        ("method", "basik", "no method 'basik' (one of: basic, pat, oauth2, none), did you mean 'basic'?"),
        ("site", "nowhere", "no site 'nowhere'"),
        ("a b", "1", "'a b' is not a valid key"),
    ],
)
def test_what_cannot_be_set_is_named_and_changes_nothing(sites: Shell, key: str, value: str, message: str) -> None:
    done = sites("config", "set", key, value)
    assert done.code == 2
    assert message in done.err
    assert sites.profiles == PROFILES


def test_remove_asks_first(sites: Shell) -> None:
    assert sites("config", "remove", "work").code == 2
    assert sites.profiles == PROFILES
    assert sites("config", "rm-site", "work", "--yes").code == 0
    assert "work" not in sites.profiles
    assert "site =" not in sites.profiles
    assert "# my sites" in sites.profiles


def test_remove_forgets_the_credential(shell: Shell, site: FakeSite) -> None:
    shell("init", "--name", "work", "--base-url", site.url, "--email", EMAIL, SUITE_TOKEN=TOKEN)
    assert shell("config", "remove", "work", "--yes").code == 0
    shell.write_profiles(f'[sites.work]\nbase_url = "{site.url}"\nemail = "{EMAIL}"\nstore = "file"\n')
    done = shell("op", "call", "getCurrentUser", "--site", "work")
    assert (done.code, "no credential for site 'work'" in done.err) == (3, True)


def test_the_files_own_mode_is_kept(sites: Shell) -> None:
    path = sites.home / "profiles.toml"
    path.chmod(0o644)
    sites("config", "use", "dc")
    assert path.stat().st_mode & 0o777 == 0o644
    path.unlink()
    sites("init", "--base-url", "https://a.example.org", "--name", "a", "--method", "pat", "--skip-login")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_named(sites: Shell) -> None:
    sites.home.chmod(0o500)
    done = sites("config", "use", "dc")
    sites.home.chmod(0o700)
    assert done.code == 1
    assert "cannot lock" in done.err


def test_a_broken_file_is_not_touched(shell: Shell) -> None:
    shell.write_profiles("a = = b")
    for words in (["config", "use", "x"], ["config", "set", "rps", "1"], ["config", "list-sites"]):
        done = shell(*words)
        assert done.code == 2
        assert "profiles.toml: not TOML" in done.err
    assert shell.profiles == "a = = b"
    assert shell("config", "path").code == 0


def test_a_read_only_site_refuses_writes_and_sends_nothing(shell: Shell, site: FakeSite) -> None:
    shell("init", "--name", "w", "--base-url", site.url, "--email", EMAIL, "--read-only", SUITE_TOKEN=TOKEN)
    site.requests.clear()
    done = shell("api", "POST", "/rest/api/3/issue", "-d", "{}")
    assert done.code == 3
    assert "read_only = true in the settings of site 'w'" in done.err
    assert site.requests == []
    assert shell("op", "call", "getCurrentUser").code == 0


def test_a_sites_own_defaults_are_used_until_said_otherwise(shell: Shell, site: FakeSite) -> None:
    shell("init", "--name", "w", "--base-url", site.url, "--email", EMAIL, SUITE_TOKEN=TOKEN)
    shell("config", "set", "output", "id")
    assert shell("op", "call", "getCurrentUser").out == "a1\n"
    assert shell("op", "call", "getCurrentUser", SUITE_OUTPUT="json").json()["accountId"] == "a1"
    assert shell("op", "call", "getCurrentUser", "-o", "id", SUITE_OUTPUT="json").out == "a1\n"


def test_sites_complete(sites: Shell) -> None:
    done = sites.process("config", "use", "d", _SUITE_COMPLETE="fish")
    assert done.out.split() == ["word", "dot.ted", "word", "dc"]


LOADED = """
import sys
from callsheet.cli.main import run
code = run("suite", sys.argv[1:])
slow = {"pydantic", "tomlkit", "tomllib", "keyring", "cryptography"}
print(*sorted(slow & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
def test_a_checked_file_costs_no_check(shell: Shell) -> None:
    shell.write_profiles('[sites.w]\nbase_url = "https://w.example.org"\nemail = "me"\ntoken_env = "T"\n')
    command = [sys.executable, "-c", LOADED, "op", "call", "getCurrentUser", "--site", "w", "--dry-run"]
    for expected in ({"pydantic", "tomllib"}, set()):
        done = subprocess.run(command, env=shell.variables({"T": "t"}), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert expected <= set(done.stderr.split())
    assert done.stderr.split() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("timeout", "1e400"), "sites.work.timeout: expected at most 86400"),
        (("timeout", "nan"), "sites.work.timeout: expected"),
        (("output", "jsn"), "sites.work.output: unknown output format 'jsn', did you mean 'json'?"),
        (("sites.wrok.rps", "3"), "unknown site 'wrok', did you mean 'work'?"),
        (("site", "wrok"), "site: no site 'wrok', did you mean 'work'?"),
    ],
)
def test_a_refused_value_is_not_blamed_on_the_file(sites: Shell, words: tuple[str, str], said: str) -> None:
    done = sites("config", "set", *words)
    assert done.code == 2
    assert done.err.startswith(f"error: {said}"), done.err
    assert "profiles.toml:" not in done.err
    assert sites.profiles == PROFILES


def test_setting_a_key_of_no_site_is_a_mistake_of_usage(shell: Shell) -> None:
    done = shell("config", "set", "rps", "3")
    assert (done.code, done.err.splitlines()[0]) == (2, "error: no site selected")


@pytest.mark.parametrize("words", [("--timeout", "0"), ("--timeout", "1e12"), ("--rps", "0"), ("--rps=-1",)])
def test_a_pace_that_cannot_be_is_refused(shell: Shell, site: FakeSite, words: tuple[str, ...]) -> None:
    done = shell("users", "me", *words, SUITE_BASE_URL=site.url, SUITE_EMAIL=EMAIL, SUITE_TOKEN=TOKEN)
    assert done.code == 2
    assert f"error: {words[0].partition('=')[0]} expects a number above 0" in done.err
    assert site.requests == []


def test_a_token_without_its_user_names_the_variable(shell: Shell, site: FakeSite) -> None:
    done = shell("users", "me", SUITE_BASE_URL=site.url, SUITE_TOKEN=TOKEN, SUITE_METHOD="basic")
    assert done.code == 3
    assert done.err.endswith("hint: set SUITE_EMAIL\n")


@pytest.mark.parametrize("words", [("issues", "new", "--summary", "x"), ("components", "create", "--name", "x")])
def test_the_project_of_the_site_stands_in_for_the_option(sites: Shell, words: tuple[str, ...]) -> None:
    def printed(*more: str) -> str:
        done = sites(*words, *more, "--dry-run", SUITE_TOKEN=TOKEN)
        assert done.code == 0, done.err
        return done.out

    assert sites("config", "set", "project", "HOUSE").code == 0
    assert '"HOUSE"' in printed()
    assert "HOUSE" not in printed("--project", "OTHER")


def test_the_project_of_the_site_finds_what_has_a_name(sites: Shell) -> None:
    assert sites("config", "set", "project", "HOUSE").code == 0
    done = sites("versions", "get", "1.0", "--dry-run", SUITE_TOKEN=TOKEN)
    assert "/rest/api/3/project/HOUSE/versions" in done.out
    assert "HOUSE" not in sites("versions", "get", "10000", "--dry-run", SUITE_TOKEN=TOKEN).out


def test_a_setting_belongs_to_the_site_that_the_environment_selects(sites: Shell) -> None:
    assert sites("config", "set", "rps", "3", SUITE_SITE="dc").code == 0
    found = tomllib.loads(sites.profiles)["sites"]
    assert (found["dc"]["rps"], "rps" in found["work"]) == (3, False)
