"""Which sources may be served although nothing proves their deliveries genuine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UsageError
from .proofs import PROOFS, described, variable_of

if TYPE_CHECKING:
    from .source import Source


def check_proofs(sources: Sequence[Source], *, insecure: bool, is_public: bool) -> list[str]:
    """The names of the sources that are served unverified. Raises `UsageError` for one that must not be.

    A source that defines a proof and has no secret for it is a mistake, and a mistake must not let everybody in, unless
    its definition says otherwise: always, or (`local`) where somebody tries things out, because nothing at all is
    configured and only this host can connect. Then what defines no proof is served too.
    """
    without = [source for source in sources if not source.is_verified]
    trying = len(without) == len(sources) and not is_public
    for source in without:
        said = source.definition.get("unverified")
        is_meant = said is True or (trying and (said == "local" or not _defines_proof(source)))
        if not (insecure or is_meant):
            hint = _remedy(source, is_first=source is sources[0], is_public=is_public)
            raise UsageError(f"source {source.name!r}: it has no secret or key set to verify events with", hint=hint)
    return [source.name for source in without]


def _defines_proof(source: Source) -> bool:
    return described(source.definition) is not None or "jwt" in source.definition


def _remedy(source: Source, *, is_first: bool, is_public: bool) -> str:
    """Options give the proof of the first source only."""
    shared, jwt = described(source.definition), source.definition.get("jwt")
    variable = variable_of(source.definition)
    ways = [f"set {variable}"] if variable is not None else []
    claims = jwt.get("claims", {}) if jwt else {}
    ways += [f"set {' and '.join(claims.values())}"] if claims else []
    if is_first:
        ways += ["give --secret-file"] if shared else []
        ways += ["give --jwks-url"] if jwt else []
    elif not ways:
        ways = ["name it first, and give its proof with options"] if shared or jwt else []
    words = ", ".join((*PROOFS, "jwt"))
    who = "anyone who can reach this host" if is_public else "any program on this host"
    return f"{', or '.join(ways) or f'define {words} for it'}; with --insecure {who} can send events"
