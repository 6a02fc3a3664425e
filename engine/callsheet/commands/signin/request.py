"""What a sign-in is for, before anything of it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...catalog.catalog import Catalog
from ...sites.profiles.choose import ChosenSite, Variables
from ...sites.site import Site
from ...urls import url_origin

if TYPE_CHECKING:
    from ...sites.profiles.validate import SiteProfile

# What belongs to the way to a host, and is taken over from a profile that exists already.
_WAY = ("ca_bundle", "client_cert", "client_key", "proxy", "timeout")
_ACCESS = ("base_url", "method", "email", "store", "token_env", "token_file")


class SignInRequest(NamedTuple):
    """`service` is the one that has an address of its own; None: one address for all."""

    name: str
    base_url: str
    deployment: str
    method: str
    service: str | None = None
    email: str | None = None
    client_id: str | None = None
    scopes: tuple[str, ...] = ()
    cloud_id: str | None = None

    def settings(self, way: SiteProfile) -> SiteProfile:
        """Of a site that is only this one host; `way` is the profile as it is so far."""
        own = {key: value for key, value in self._asdict().items() if value and key not in ("name", "service")}
        return cast("SiteProfile", {key: value for key, value in way.items() if key in _WAY} | own)

    def profile(self, store: str | None, *, secret: bool = True) -> dict[str, Any]:
        """The keys of the profile, those to be taken away as None.

        `store` is where the credential is now; None leaves what was said about that, unless the method needs none.
        """
        access: dict[str, Any] = {"base_url": self.base_url, "method": self.method, "email": self.email}
        access |= {"token_env": None, "token_file": None, "store": store} if store or not secret else {}
        site: dict[str, Any] = {"deployment": self.deployment, "client_id": self.client_id, "cloud_id": self.cloud_id}
        site["scopes"] = list(self.scopes) or None
        if self.service:
            return {**site, "services": {self.service: access}}
        return {**access, **site}

    @property
    def account(self) -> str:
        """The name the credential is stored under."""
        return f"{self.name}/{self.service}" if self.service else self.name

    @property
    def origin(self) -> str:
        """The host that the credential belongs to."""
        return url_origin(self.base_url)


def candidate_site(
    wanted: SignInRequest, secret: str, way: SiteProfile, catalog: Catalog, environ: Mapping[str, str]
) -> Site:
    """The site as it would be, with its secret; nothing of it is stored anywhere."""
    variables = Variables("CANDIDATE", {"CANDIDATE_TOKEN": secret})
    return Site(ChosenSite(wanted.name, wanted.settings(way), token=True), catalog, variables, environ)
