"""What the profiles file may hold: plain tables, typed by these shapes.

Only loaded when the file is checked or edited; elsewhere for the type checker alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Required, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, TypeAdapter
from pydantic_core import PydanticCustomError

from ...errors import did_you_mean
from ...language.shape.base import Shape
from ...policy.read import is_short
from ...registry import OUTPUT_FORMATS
from ...urls import SITE_NAME, base_url_problem, proxy_problem
from .limits import LONGEST, PLACES


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
