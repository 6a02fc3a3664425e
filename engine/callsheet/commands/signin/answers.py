"""What a person says about a site: by option, by variable, by line of standard input, or when asked at a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...errors import CallsheetError, UsageError, did_you_mean
from ...sites.profiles.choose import Variables, refuse_other_host
from ...urls import SITE_NAME, base_url, proxy_problem

if TYPE_CHECKING:
    from ...sites.profiles.model import SiteProfile
    from ..context import Context

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
