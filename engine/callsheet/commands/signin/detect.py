"""What kind of installation answers at an address, found by the requests that deployments' definitions describe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ...catalog.catalog import Catalog
from ...errors import CallsheetError, DefinitionError
from ...language.template import TemplateError, evaluate
from ...sites.credentials.unauthenticated_client import UnauthenticatedClient
from ...sites.site import above_products, first_services

if TYPE_CHECKING:
    from ...language.shape.access import Detection


class Detected(NamedTuple):
    """`service` is None where one address serves all."""

    deployment: str
    base_url: str
    service: str | None
    version: str | None


class Detector:
    def __init__(self, catalog: Catalog, web: UnauthenticatedClient) -> None:
        self._catalog = catalog
        self._web = web
        self._answers: dict[str, Any] = {}

    def detect(self, address: str, deployment: str | None = None) -> Detected:
        """Try the address as it is, then without the last parts of its path (a person may paste any page's address).

        Raises `NetworkError` when the host does not answer, `CallsheetError` when something else lives there.
        """
        deployments = self._catalog.all("deployment")
        tried = {deployment: deployments[deployment]} if deployment else deployments
        if not any("detect" in definition for definition in tried.values()):
            return Detected(next(iter(tried)), above_products(self._catalog, address), None, None)
        for base in _parent_addresses(address):
            for id, definition in tried.items():
                for detection in definition.get("detect", ()):
                    if self._matches(base, detection):
                        version = self._value(base, detection.get("version"), detection)
                        return Detected(id, base, detection.get("service"), version)
        raise self._not_recognised(address)

    def tenant(self, address: str, deployment: str) -> str | None:
        """The id that a gateway takes for a site; None where the deployment knows no such thing."""
        tenant = self._catalog.get("deployment", deployment).get("tenant")
        if not tenant:
            return None
        found = self._evaluate(tenant["id"], self._get_json(address, tenant["path"]))
        return str(found) if found else None

    def _matches(self, base: str, detection: Detection) -> bool:
        return bool(self._evaluate(detection["when"], self._get_json(base, detection["path"])))

    def _value(self, base: str, expression: str | None, detection: Detection) -> str | None:
        found = self._evaluate(expression, self._get_json(base, detection["path"])) if expression else None
        return str(found) if found else None

    def _get_json(self, base: str, path: str) -> Any:
        """The JSON at an address; None for anything else."""
        if not path.startswith("/"):
            raise DefinitionError(f"a path that an installation is known by does not start with a slash: {path!r}")
        url = base + path
        if url not in self._answers:
            reply = self._web.get(url)
            try:
                self._answers[url] = reply.json() if reply.ok else None
            except CallsheetError:
                self._answers[url] = None
        return self._answers[url]

    @staticmethod
    def _evaluate(expression: str, answer: Any) -> Any:
        try:
            return evaluate(expression, answer) if isinstance(answer, dict) else None
        except TemplateError:
            return None

    def _not_recognised(self, address: str) -> CallsheetError:
        titles = " or ".join(each["title"] for each in first_services(self._catalog).values())
        known = ", ".join(self._catalog.ids("deployment"))
        return CallsheetError(
            f"{address} answers, but is not {titles}: wrong product or wrong path",
            hint=f"check the address; if it answers only after signing in, pass --deployment ({known})",
        )


def _parent_addresses(address: str) -> Iterator[str]:
    parts = urlsplit(address)
    root = f"{parts.scheme}://{parts.netloc}"
    segments = [segment for segment in parts.path.split("/") if segment]
    for length in range(len(segments), -1, -1):
        yield "/".join([root, *segments[:length]])
