"""Questions that a sender asks of an address before it sends events there, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...jsontext import dump_json
from ...language.compiled_jmespath import first_names
from ...language.template import compile_expression, fill_template, fill_text, to_text
from .plain_token import PlainToken
from .rejection import Rejected
from .signature import Signature
from .signed_message import SignedRequest

if TYPE_CHECKING:
    from ...language.shape.listener import ChallengeDefinition
    from .proofs import Proof
    from .signed_message import Headers

_LONGEST = 4096


class Challenged(Exception):
    """A delivery that is a question: `body` is the answer, JSON or plain text."""

    def __init__(self, body: bytes, content_type: bytes) -> None:
        super().__init__("challenge")
        self.body = body
        self.content_type = content_type


class Challenge:
    """`secrets` are those of its `token`. Raises `UsageError` for a secret that cannot be one."""

    def __init__(self, definition: ChallengeDefinition, secrets: Sequence[str]) -> None:
        self.method = definition.get("method", "POST")
        when = definition.get("when", "`true`")
        self.when = compile_expression(when)
        self.asks_in_body = "payload" in first_names(when)
        self.reply = definition.get("reply", "")
        self.signed = definition.get("sign")
        token = definition.get("token")
        self.token = PlainToken(token, secrets) if token is not None else None
        self.is_open = token is None or bool(secrets)  # without its secret nobody's question is answered

    def answer(
        self, scope: Mapping[str, Any], headers: Headers, query: bytes, proof: Proof | None = None
    ) -> Challenged | None:
        """Nothing where it is none. `proof` is that of deliveries, for an answer that is signed.

        Raises `Rejected` for one without the right token, or with too long an answer.
        """
        if not self.is_open or not self.when(scope):
            return None
        if self.token is not None:
            self.token.check(headers, b"", 0, SignedRequest(query=query))
        if self.signed is not None:
            if not isinstance(proof, Signature):  # without its secret nothing can be signed
                return None
            scope = {**scope, "signature": proof.sign(to_text(fill_text(self.signed, scope)).encode())}
        reply = fill_template(self.reply, scope)
        is_text = isinstance(reply, str) or reply is None
        body = (reply or "").encode("utf-8", "replace") if is_text else dump_json(reply).encode("utf-8", "replace")
        if len(body) > _LONGEST:
            raise Rejected(400, "challenge_long", f"a challenge whose answer has {len(body)} bytes")
        return Challenged(body, b"text/plain; charset=utf-8" if is_text else b"application/json")
