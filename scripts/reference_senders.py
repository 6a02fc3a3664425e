"""Pages of the documentation about the senders that the listener knows, read from their definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from callsheet.catalog.catalog import open_catalog
from callsheet.listener.verify.proof_kinds import covered_by, proof_definition, variable_of, variables_of
from callsheet.listener.verify.proofs import are_signed
from reference_facts import WRITTEN, table

ALGORITHMS = {"ed25519": "Ed25519", "ecdsa-p256-sha256": "ECDSA (P-256, SHA-256)"}


def pages(environ: Mapping[str, str]) -> dict[str, str]:
    """By their place under `docs`: a table of all senders, and a page for each."""
    catalog = open_catalog("lms", environ)
    sources = dict(sorted(catalog.sources.all().items()))
    events = [(each["source"], name, each) for name, each in catalog.events.all().items()]
    catalog.close()
    rows = []
    found = {}
    for name, source in sources.items():
        types = [each.get("type", id) for owner, id, each in events if owner == name]
        found[f"senders/{name}.md"] = page(name, source, types)
        variables = ", ".join(f"`{variable}`" for variable in dict.fromkeys(variables_of(source)))
        rows.append(
            (f"[{source['title']}](senders/{name}.md)", f"`{name}`", f"`{source['path']}`", proof(source), variables)
        )
    heads = ("sender", "source", "path", "what proves a delivery", "variable")
    found["senders.md"] = f"""# Senders

{WRITTEN} Name the ones to serve: `lms webhook listen --source github --source stripe`. Each takes its secrets from its
variable, one a line. Senders that are not here take [a dozen lines](verification.md#a-sender-of-your-own).

{table(heads, rows)}
"""
    return found


def page(name: str, source: Any, types: list[str]) -> str:
    variable = variable_of(source)
    public = " --public-url https://hooks.example.com" if "{url}" in (covered_by(source) or "") else ""
    target = f" --to https://hooks.example.com{source['path']}" if public else ""
    if "header" in source.get("jwt", {}) and "env" not in source["jwt"]:
        target += " --jwt-key throwaway.pem"
    lines = [f"export {each}='...'" for each in dict.fromkeys(variables_of(source))]
    lines += [
        f"lms webhook check --listen --source {name}{public}",
        f"lms webhook listen --source {name}{public} --routes routes.toml --inbox inbox.db",
    ]
    listed = ", ".join(f"`{each}`" for each in types if each != "*")
    known = [f"Types with a definition: {listed}." if listed else "", "All types are accepted." if "*" in types else ""]
    blocks = [
        f"# {source['title']}",
        WRITTEN,
        "```sh\n" + "\n".join(lines) + "\n```",
        f"The sender calls `https://HOST{source['path']}`."
        + (
            f" `{variable}` holds what proves its deliveries; several lines are several that may be used."
            if variable
            else ""
        ),
        *(("## At the sender", "\n".join(f"- {line}" for line in source["setup"])) if "setup" in source else ()),
        "## What the proof promises",
        "\n".join(f"- {line}" for line in promises(source)),
        "## Events",
        " ".join(filter(None, known)) + f" `lms webhook events --source {name}` lists them.",
        "Try it without the sender:"
        if "certificate" not in source
        else "Nobody else has the key of its certificate. With `--insecure` a listener takes events of your own:",
        f"```sh\nlms webhook trigger {example(types)} --source {name}{target}\n```",
    ]
    return "\n\n".join(blocks) + "\n"


def example(types: list[str]) -> str:
    first = types[0] if types else "*"
    return f"'{first.replace('*', 'test')}'" if first != "*" else "test"


def proof(source: Any) -> str:
    """In a few words: which kind of proof, and over what."""
    beside = source.get("jwt", {}).get("header")
    token = f"a signed token (JWT) in the header {beside}" if beside else "a signed token (JWT)"
    jwt = f" or {token}" if "jwt" in source else ""
    if "token" in source:
        place = source["token"].get("header")
        where = f"the header {place}" if place else "the body" if "member" in source["token"] else "the query"
        return f"a secret token in {where}{jwt}"
    about = proof_definition(source)
    if about is None:
        return token if jwt else "nothing"
    if "certificate" in source:
        return f"RSA (SHA256, by a certificate of the sender) of {covered(about)}"
    algorithm = ALGORITHMS.get(about["algorithm"]) or f"HMAC-{about['algorithm'].upper().replace('SHA', 'SHA-', 1)}"
    return f"{algorithm.replace('SHA-', 'SHA')} of {covered(about)}{jwt}"


def covered(about: Any) -> str:
    signed = about.get("signed", "{body}")
    names = {
        "headers": "the id",
        "timestamp": "the time",
        "url": "the address",
        "body": "the body",
        "form": "the fields",
        "payload": "members of the body",
        "secret": "the variable",
        "crc32": "the CRC-32 of the body",
    }
    placed = sorted(
        (signed.find(name), words) for name, words in names.items() if re.search(rf"[{{(, ]{name}\b", signed)
    )
    parts = list(dict.fromkeys(words for _, words in placed))
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def promises(source: Any) -> Iterator[str]:
    if "token" in source:
        yield "Who sends knows the secret. What is sent is not signed: whoever reads a delivery can send others."
    elif (jwt := source.get("jwt", {})).get("header"):
        claims = jwt.get("claims", {})
        told = " and ".join(f"`{variable}` ({claim})" for claim, variable in claims.items())
        says = f", with what {told} say{'' if len(claims) > 1 else 's'}" if claims else ""
        says += f", made for this request (`{jwt['request']}`)" if "request" in jwt else ""
        yield f"A delivery is refused with 401 unless it is proved: {proof(source)}{says}."
        yield "What is sent is not signed: whoever reads a delivery can send others, until its token ends."
    else:
        yield f"A delivery is refused with 401 unless it is proved: {proof(source)}."
    if "crc32" in (covered_by(source) or ""):
        yield "A CRC-32 is no proof of a body: whoever has read a delivery can make another body with the same one."
    if "{payload" in (covered_by(source) or ""):
        yield "What else the body holds is not signed: whoever has read a delivery can change it."
    if "events" in source:
        yield "A delivery is a list of events, [proved and answered as a whole](../verification.md#lists-of-events)."
    yield from limits(source, proof_definition(source) or {})
    for challenge in source.get("challenge", ()):
        method = challenge.get("method", "POST")
        if "visit" in challenge:
            yield "Its question by POST is proved like an event, and answered when the address in it has been asked."
        elif method == "POST" and "payload" in challenge.get("when", ""):
            yield "The sender's question by POST is proved like an event, and answered."
        else:
            yield f"The sender's question by {method}, before it sends events, is answered."


def limits(source: Any, about: Any) -> Iterator[str]:
    if "timestamp" in about:
        yield f"The time of signing is proved too, and may differ from now by {about.get('tolerance', '5m')}."
    else:
        yield (
            "No time is signed: a captured delivery passes again once the listener has forgotten it. See"
            " [what a signature does not cover](../verification.md#what-a-signature-does-not-cover)."
        )
    signed = covered_by(source)
    for key in ("type", "id"):
        if key in source and signed is not None and not are_signed(source[key], signed):
            yield f"The {key} of an event stands beside what is signed, and is not proved."
    if "id" not in source:
        yield "Events have no id: the same content is the same event."
    elif "&&" in source["id"] or "||" in source["id"]:
        yield "Not every event has an id: without one, the same content again is the same event."
