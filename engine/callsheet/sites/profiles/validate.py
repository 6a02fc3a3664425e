"""What the profiles file may hold; problems are named with line, key and closest match."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Required, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from ...errors import UsageError, count_of, did_you_mean
from ...files import open_regular
from ...language.shape.base import Shape
from ...language.source_file import Path, line_of
from ...policy.policy_sources import is_short
from ...registry import OUTPUT_FORMATS
from ...urls import SITE_NAME, base_url_problem, proxy_problem
from ...validation_messages import validation_message
from . import LONGEST, PLACES

# What the profiles file may hold: plain tables, typed by these shapes.
#
# Only loaded when the file is checked or edited; elsewhere for the type checker alone.


def _check_address(text: str) -> str:
    problem = base_url_problem(text)
    if problem:
        raise PydanticCustomError("address", "{problem}", {"problem": problem})
    return text.strip().rstrip("/")


def _check_proxy(text: str) -> str:
    problem = proxy_problem(text)
    if problem:
        raise PydanticCustomError("proxy", "{problem}", {"problem": problem})
    return text


def _check_output(text: str) -> str:
    if text not in OUTPUT_FORMATS:
        near = did_you_mean(text, OUTPUT_FORMATS)
        problem = f"unknown output format {text!r}{near} (one of: {', '.join(OUTPUT_FORMATS)})"
        raise PydanticCustomError("output", "{problem}", {"problem": problem})
    return text


Table = TypeVar("Table", bound=Mapping[str, Any])


def _check_places(table: Table) -> Table:
    given = [name for name in PLACES if name in table]
    if len(given) > 1:
        raise PydanticCustomError("places", "{given}: give only one", {"given": " and ".join(given)})
    return table


def _check_has_address(site: SiteProfile) -> SiteProfile:
    if "base_url" not in site and not any("base_url" in service for service in site.get("services", {}).values()):
        raise PydanticCustomError("address", "base_url is missing")
    return site


def _check_policy(value: object) -> object:
    if not isinstance(value, dict) and not (isinstance(value, str) and is_short(value)):
        problem = f"{value!r} is not a table, and not a policy such as read-only or destroy=deny,write=ask"
        raise PydanticCustomError("policy", "{problem}", {"problem": problem})
    return value


OutputFormat = Annotated[str, AfterValidator(_check_output)]
BaseUrl = Annotated[str, AfterValidator(_check_address)]
Proxy = Annotated[str, AfterValidator(_check_proxy)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
SiteName = Annotated[str, StringConstraints(pattern=f"^{SITE_NAME}$")]
Positive = Annotated[float, Field(gt=0, le=LONGEST)]


class Access(Shape, total=False):
    """Where one host is and how a person is known there; the secret itself stands elsewhere."""

    base_url: Annotated[BaseUrl, Field(description="Address, with its context path.")]
    method: Annotated[Text, Field(description="How one signs in: the id of an auth definition.")]
    email: Annotated[Text, Field(description="E-mail address or user name, for methods that need one.")]
    token_env: Annotated[Text, Field(description="Environment variable that holds the token.")]
    token_file: Annotated[Text, Field(description="File, readable by you only, that holds the token.")]
    store: Annotated[
        Literal["keyring", "file"], Field(description="Where sign-in put the credential; written by the program.")
    ]


class SiteProfile(Access, total=False):
    """One site."""

    deployment: Annotated[Text, Field(description="The kind of installation: cloud, datacenter.")]
    client_id: Annotated[Text, Field(description="Of your own OAuth 2.0 app.")]
    scopes: Annotated[list[Text], Field(description="OAuth 2.0 scopes to ask for.")]
    cloud_id: Annotated[Text, Field(description="Routes requests through the vendor's gateway; written by sign-in.")]
    output: Annotated[OutputFormat, Field(description="Output format.")]
    project: Annotated[Text, Field(description="Project that commands assume.")]
    board: Annotated[Text, Field(description="Board that commands assume: its id or name.")]
    rps: Annotated[Positive, Field(description="Requests a second, at most.")]
    timeout: Annotated[Positive, Field(description="Seconds to wait for an answer.")]
    ca_bundle: Annotated[Text, Field(description="PEM file of a private certificate authority.")]
    client_cert: Annotated[Text, Field(description="PEM file of a client certificate.")]
    client_key: Annotated[Text, Field(description="Its private key, where that is a file of its own.")]
    proxy: Annotated[Proxy, Field(description="Proxy of this site alone.")]
    read_only: Annotated[bool, Field(description="Refuse everything that would change something.")]
    completion: Annotated[bool, Field(description="Complete names and keys of this site when Tab is pressed.")]
    journal: Annotated[
        Literal["always", "many", "never"],
        Field(description="Which changes are kept in a journal, for `undo`: all, those of more than 20 items, none."),
    ]
    mirror: Annotated[Text, Field(description="The mirror that agents may ask in SQL: a file that `mirror` made.")]
    policy: Annotated[
        str | dict[str, Any],
        BeforeValidator(_check_policy),
        Field(description="What is allowed here: `destroy=deny,write=ask`, or a table of decisions and rules."),
    ]
    services: Annotated[
        dict[str, Annotated[Access, AfterValidator(_check_places)]],
        Field(description="Hosts of their own, by service, where one address is not enough."),
    ]


def _check_run(words: list[str]) -> list[str]:
    if not any("{output}" in word for word in words) or not any("{input}" in word for word in words):
        raise PydanticCustomError("run", "{input} and {output} must stand in it, for the files", {})
    return words


class DiagramSettings(Shape, total=False):
    """The program that makes pictures of the code of one language."""

    run: Required[
        Annotated[
            list[Text],
            Field(min_length=1, description="Program and arguments; `{input}` and `{output}` are the files."),
            AfterValidator(_check_run),
        ]
    ]
    format: Annotated[Literal["png", "svg", "jpg", "gif", "webp"], Field(description="Of the picture: png, svg.")]
    timeout: Annotated[Positive, Field(description="Seconds that one picture may take.")]


class Profiles(Shape, total=False):
    """The whole file."""

    site: Annotated[SiteName, Field(description="The site that commands use.")]
    sites: Annotated[
        dict[SiteName, Annotated[SiteProfile, AfterValidator(_check_places), AfterValidator(_check_has_address)]],
        Field(description="Sites by name."),
    ]
    render: Annotated[
        dict[Text, DiagramSettings], Field(description="Language of code → the program that makes pictures of it.")
    ]


PROFILES: TypeAdapter[Profiles] = TypeAdapter(Profiles)


# Whether the profiles file is what it should be; problems are named with line, key and closest right word.


_SECRET_KEYS = frozenset({"token", "password", "secret", "api_token", "apikey", "api_key", "pat", "client_secret"})
_PLACE = "a credential does not belong in this file: name it with token_env or token_file, or run `auth login`"


Known = Mapping[str, Iterable[str]]


def check_file(path: str, known: Known) -> Profiles:
    """The file's content; `known` holds the allowed ids of the kinds deployment, auth and service.

    Raises `UsageError` with one `file:line: key: problem` per problem.
    """
    try:
        with open_regular(path) as file:
            text = file.read().decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    return check_text(text, path, known)


def check_change(before: str, after: str, path: str, known: Known) -> None:
    """Raises `UsageError`: about the file where it was broken already, else about the change alone."""
    _, problems = _read_profiles(after, path, known)
    if problems:
        if before:
            check_text(before, path, known)
        found = [f"{_dotted_keys(keys)}: {what}" for keys, what in problems]
        raise UsageError("; ".join(found), hint=f"{path} stays as it is")


def check_text(text: str, path: str, known: Known) -> Profiles:
    tables, problems = _read_profiles(text, path, known)
    if not problems:
        return tables
    details = [f"{path}:{line_of(text, keys)}: {_dotted_keys(keys)}: {what}" for keys, what in problems]
    count = len(details)
    raise UsageError(f"{count_of(count, 'problem')} in {path}", details=details)


def _read_profiles(text: str, path: str, known: Known) -> tuple[Profiles, list[tuple[Path, str]]]:
    """The file's content, and what is wrong where."""
    try:
        tables = PROFILES.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
    except ValidationError as error:
        return {}, [(item["loc"], _describe_error(dict(item))) for item in error.errors()]
    return tables, list(_unknown_words(tables, known))


def _dotted_keys(keys: Path) -> str:
    return ".".join(map(str, keys)) or "file"


def _describe_error(item: dict[str, Any]) -> str:
    key = str(item["loc"][-1]) if item["loc"] else ""
    if item["type"] == "extra_forbidden":
        if key.lower() in _SECRET_KEYS:
            return _PLACE
        return f"unknown key{did_you_mean(key, keys_at(item['loc'][:-1]))}"
    if item["type"] == "string_pattern_mismatch":
        return "a site's name holds letters, digits, '.', '_' and '-' only"
    return validation_message(item)


def keys_at(path: Path) -> list[str]:
    """The keys that may stand at a place of the file."""
    if not path:
        return list(Profiles.__annotations__)
    if path[0] == "render":
        return list(DiagramSettings.__annotations__)
    return list((Access if "services" in path else SiteProfile).__annotations__)


def _unknown_words(tables: Profiles, known: Known) -> Iterable[tuple[Path, str]]:
    sites = tables.get("sites", {})
    active = tables.get("site")
    if active is not None and active not in sites:
        yield ("site",), f"no site {active!r}{did_you_mean(active, sites)}"
    for name, site in sites.items():
        at: Path = ("sites", name)
        yield from _unknown_keys(site, at, known)
        for service, access in site.get("services", {}).items():
            if service not in known["service"]:
                yield (*at, "services", service), f"no service{did_you_mean(service, known['service'])}"
            yield from _unknown_keys(access, (*at, "services", service), known)


def _unknown_keys(table: Access, at: Path, known: Known) -> Iterable[tuple[Path, str]]:
    for key, kind in (("deployment", "deployment"), ("method", "auth")):
        word = cast("Mapping[str, str]", table).get(key)
        if word is not None and word not in known[kind]:
            allowed = ", ".join(known[kind])
            yield (*at, key), f"no {key} {word!r} (one of: {allowed}){did_you_mean(word, known[kind])}"
