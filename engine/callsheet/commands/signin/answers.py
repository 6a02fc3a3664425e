"""What a person answers about a site, and what its address tells."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from ...catalog.catalog import Catalog
from ...errors import CallsheetError, DefinitionError, UsageError, did_you_mean
from ...language.template import TemplateError, evaluate
from ...sites.credentials.oauth import UnauthenticatedClient
from ...sites.profiles.choose import Variables, refuse_other_host
from ...sites.site import above_products, first_services
from ...urls import SITE_NAME, base_url, proxy_problem

if TYPE_CHECKING:
    from ...language.shape.access import Detection
    from ...sites.profiles.validate import SiteProfile
    from ..context import Context


# What a person says about a site: by option, by variable, by line of standard input, or when asked at a terminal.


_WAY = ("ca-bundle", "client-cert", "client-key", "proxy")


Result = TypeVar("Result")


class Answers:
    """`values` are the options of the command."""

    def __init__(self, context: Context, values: Mapping[str, Any]) -> None:
        self._context = context
        self._values = values
        self.variables = Variables(context.definition["prefix"], context.environ)
        streams = context.streams
        self.interactive = streams.input.isatty() and streams.err.isatty()

    def option(self, name: str) -> Any:
        """The command's own option, else the program's option of the same name."""
        value = self._values.get(name)
        return value if value not in (None, ()) else self._context.option(name)

    def until_right(
        self, name: str, variable: str, act: Callable[[], Result], wrong: tuple[type[CallsheetError], ...]
    ) -> Result:
        """What `act` makes of an answer. Who typed it at the terminal is told what is `wrong`, and asked again.

        What came as an option or from the environment is not asked again: the error is raised.
        """
        while True:
            try:
                return act()
            except wrong as error:
                if not self.interactive or self.option(name) or self.variables.get(variable):
                    raise
                self._context.say(
                    f"{error.message}{f' ({error.hint})' if error.hint else ''}; try again, or press Ctrl-C"
                )

    def text(self, name: str, prompt: str, *, variable: str = "", default: str = "") -> str:
        """Raises `UsageError` where nobody can be asked."""
        found = self.option(name) or (self.variables.get(variable) if variable else "")
        if not found and self.interactive:
            found = self._context.ask(prompt, default=default or None).strip()
        if not found and not default:
            raise UsageError(f"--{name} is needed", hint=f"it is the {prompt[:1].lower()}{prompt[1:]}")
        return str(found or default).strip()

    def secret(self, name: str, prompt: str, *, variable: str) -> str:
        """Asked for without echo; `--token-stdin` reads it from standard input."""
        if name == "token" and self.option("token-stdin"):
            found = self._context.read_input().decode("utf-8", "replace").strip()
            if not found:
                raise UsageError("--token-stdin: standard input is empty")
            return found
        given = self.option(name)
        if given:
            return self._context.read_source(given).decode("utf-8", "replace").strip()
        found = self.variables.get(variable)
        if not found and self.interactive:
            found = self._context.ask(prompt, hidden=True).strip()
        if not found:
            ways = f"--{name} @FILE, {self.variables.name(variable)}"
            raise UsageError(f"the {prompt} is needed", hint=f"give it by {ways}, or run this at a terminal")
        return found

    def secrets(self, name: str, prompts: list[str], *, variable: str) -> list[str]:
        """Several that belong together: lines of what was given, or each asked for."""
        is_given = self.option(name) or self.option("token-stdin") or self.variables.get(variable)
        if self.interactive and not is_given:
            return [self._context.ask(prompt, hidden=True) for prompt in prompts]
        return self.secret(name, ", ".join(prompts), variable=variable).splitlines()

    def address(self, default: str = "") -> str:
        """The site's address; https is assumed where a person left the scheme away."""
        given = self.text("base-url", "Address of the site", variable="BASE_URL", default=default)
        return base_url(given if "://" in given else f"https://{given}", "--base-url")

    def check_host(self, address: str) -> None:
        """Refuse to take the environment's token for another host than the environment's; raises `UsageError`."""
        if not (self.option("token") or self.option("token-stdin")) and self.variables.get("TOKEN"):
            refuse_other_host(address, "the site's address", self.variables)

    def network_keys(self) -> SiteProfile:
        """Keys of the profile that say how the host is reached."""
        found: dict[str, str] = {}
        for name in _WAY:
            if self.option(name):
                found[name.replace("-", "_")] = self._proxy() if name == "proxy" else self._file(name)
        return cast("SiteProfile", found)

    def _file(self, name: str) -> str:
        path: str = os.path.abspath(self.option(name))
        if not os.path.isfile(path):
            raise UsageError(f"--{name}: no file {path}")
        return path

    def _proxy(self) -> str:
        problem = proxy_problem(self.option("proxy"))
        if problem:
            raise UsageError(f"--proxy: {problem}")
        return str(self.option("proxy"))

    def check_options(self) -> None:
        """Refuse wrong words before anything is asked or sent; raises `UsageError`."""
        if self.option("name"):
            self.site_name(self.option("name"))
        for option, kind in (("deployment", "deployment"), ("method", "auth"), ("service", "service")):
            if self.option(option):
                self.word(option, kind, self.option(option))

    def site_name(self, name: str) -> str:
        """`name` where a site may be called so; raises `UsageError`."""
        if not re.fullmatch(SITE_NAME, name):
            raise UsageError(f"--name: {name!r}: a site's name may contain only letters, digits, '.', '_' and '-'")
        return name

    def word(self, option: str, kind: str, word: str) -> str:
        """`word` where a definition of the kind has this id; raises `UsageError` that lists them."""
        known = self._context.catalog.ids(kind)
        if word not in known:
            near = did_you_mean(word, known)
            raise UsageError(f"--{option}: unknown {option} {word!r}{near} (one of: {', '.join(known)})")
        return word

    def scopes(self, default: list[str]) -> list[str]:
        given = self.option("scopes")
        return given.replace(",", " ").split() if given else default


# What kind of installation answers at an address, found by the requests that deployments' definitions describe.


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
