"""The ways to prove a delivery genuine with something that sender and listener were given. A token has its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .certificate import CertificateSignature
from .proofs import KeyedProof, PlainToken, PublicKeySignature, Signature

if TYPE_CHECKING:
    from ...language.shape.listener import SourceDefinition


# The table of a source that describes it → what checks it.
PROOFS: Mapping[str, Any] = {
    "hmac": Signature,
    "public_key": PublicKeySignature,
    "certificate": CertificateSignature,
    "token": PlainToken,
}


def proof_definition(definition: SourceDefinition) -> Any:
    """The table that describes a source's proof by a shared secret or a public key, if it has one."""
    return next((table for name, table in definition.items() if name in PROOFS), None)


def variable_of(definition: SourceDefinition) -> str | None:
    """The environment variable with the source's secrets or public keys."""
    return (proof_definition(definition) or definition.get("jwt", {})).get("env")


def variables_of(definition: SourceDefinition) -> list[str]:
    """All environment variables with secrets of the source."""
    tokens = (challenge.get("token", {}) for challenge in definition.get("challenge", ()))
    claims = definition.get("jwt", {}).get("claims", {}).values()
    names = (variable_of(definition), *(token.get("env") for token in tokens), *claims)
    return [name for name in names if name is not None]


def proof_of(definition: SourceDefinition, secrets: Sequence[str]) -> KeyedProof | None:
    """What checks deliveries; nothing without secrets. Raises `UsageError` for a secret that cannot be one."""
    if not secrets:
        return None
    name = next(name for name in definition if name in PROOFS)
    proof: KeyedProof = PROOFS[name](proof_definition(definition), secrets)
    return proof


def covered_by(definition: SourceDefinition) -> str | None:
    """The template of what the proof covers; nothing where it proves the sender, and so all that it sends."""
    table = proof_definition(definition) or {}
    return None if "token" in definition else table.get("signed", "")
