"""What the profiles file may hold. Only loaded when the file is checked or edited."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from ...errors import did_you_mean
from ...registry import OUTPUT_FORMATS
from ...urls import SITE_NAME, base_url_problem, proxy_problem
from .choose import DAY


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


OutputFormat = Annotated[str, AfterValidator(_check_output)]
BaseUrl = Annotated[str, AfterValidator(_check_address)]
Proxy = Annotated[str, AfterValidator(_check_proxy)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
SiteName = Annotated[str, StringConstraints(pattern=f"^{SITE_NAME}$")]
Positive = Annotated[float, Field(gt=0, le=DAY)]


class Access(BaseModel):
    """Where one host is and how a person is known there; the secret itself stands elsewhere."""

    model_config = ConfigDict(extra="forbid", strict=True)

    base_url: Annotated[BaseUrl | None, Field(description="Address, with its context path.")] = None
    method: Annotated[Text | None, Field(description="How one signs in: the id of an auth definition.")] = None
    email: Annotated[Text | None, Field(description="E-mail address or user name, for methods that need one.")] = None
    token_env: Annotated[Text | None, Field(description="Environment variable that holds the token.")] = None
    token_file: Annotated[Text | None, Field(description="File, readable by you only, that holds the token.")] = None
    store: Annotated[
        Literal["keyring", "file"] | None,
        Field(description="Where sign-in put the credential; written by the program."),
    ] = None

    @model_validator(mode="after")
    def _one_place(self) -> Access:
        given = [name for name in ("token_env", "token_file", "store") if getattr(self, name)]
        if len(given) > 1:
            raise PydanticCustomError("places", "{given}: give only one", {"given": " and ".join(given)})
        return self


class SiteProfile(Access):
    """One site."""

    deployment: Annotated[Text | None, Field(description="The kind of installation: cloud, datacenter.")] = None
    client_id: Annotated[Text | None, Field(description="Of your own OAuth 2.0 app.")] = None
    scopes: Annotated[list[Text] | None, Field(description="OAuth 2.0 scopes to ask for.")] = None
    cloud_id: Annotated[
        Text | None, Field(description="Routes requests through the vendor's gateway; written by sign-in.")
    ] = None
    output: Annotated[OutputFormat | None, Field(description="Output format.")] = None
    project: Annotated[Text | None, Field(description="Project that commands assume.")] = None
    rps: Annotated[Positive | None, Field(description="Requests a second, at most.")] = None
    timeout: Annotated[Positive | None, Field(description="Seconds to wait for an answer.")] = None
    ca_bundle: Annotated[Text | None, Field(description="PEM file of a private certificate authority.")] = None
    client_cert: Annotated[Text | None, Field(description="PEM file of a client certificate.")] = None
    client_key: Annotated[Text | None, Field(description="Its private key, where that is a file of its own.")] = None
    proxy: Annotated[Proxy | None, Field(description="Proxy of this site alone.")] = None
    read_only: Annotated[bool, Field(description="Refuse everything that would change something.")] = False
    services: Annotated[
        dict[str, Access], Field(description="Hosts of their own, by service, where one address is not enough.")
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_address(self) -> SiteProfile:
        if not self.base_url and not any(service.base_url for service in self.services.values()):
            raise PydanticCustomError("address", "base_url is missing")
        return self


class Profiles(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    site: Annotated[SiteName | None, Field(description="The site that commands use.")] = None
    sites: Annotated[dict[SiteName, SiteProfile], Field(description="Sites by name.")] = Field(default_factory=dict)
