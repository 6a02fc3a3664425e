"""Macros and nodes of documents in storage XHTML: there and back with every parameter."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape, quoteattr

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import document_schema
from support.richtext import converted
from support.storage_bodies import bodies

QUICK = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
NAMES = st.from_regex(r"[a-z][a-zA-Z0-9]{0,8}", fullmatch=True)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Co", "Cn"]), max_size=12)
VALUES: Any = st.recursive(
    st.text("ab &<é-", min_size=1, max_size=6) | st.integers(-9999, 9999) | st.booleans(),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=6,
)


@st.composite
def macros(draw: Any) -> str:
    """A macro that no definition names, with parameters, and with no body, a text or blocks."""
    inner = "".join(
        f"<ac:parameter ac:name={quoteattr(name)}>{escape(value)}</ac:parameter>"
        for name, value in draw(st.dictionaries(NAMES, WORDS.filter(bool), max_size=3)).items()
    )
    body = draw(
        st.sampled_from(["", "<p>a <strong>b</strong></p>", "<ul><li><p>x</p></li></ul>"]).map(
            lambda blocks: blocks and f"<ac:rich-text-body>{blocks}</ac:rich-text-body>"
        )
        | WORDS.filter(lambda words: words and "]]>" not in words).map(
            lambda words: f"<ac:plain-text-body><![CDATA[{words}]]></ac:plain-text-body>"
        )
    )
    name = "my" + draw(NAMES)
    whole = inner + body
    return f'<ac:structured-macro ac:name="{name}">{whole}</ac:structured-macro>' if whole else "<p>a</p>"


@QUICK
@given(macros())
def test_a_macro_comes_back_from_a_document_as_it_was(source: str) -> None:
    done = converted(source, "storage", "adf")
    assert not document_schema.present() or document_schema.problems(done.value) == []
    assert converted(done.value, "adf", "storage").value == source


@QUICK
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=3), st.sampled_from(["extension", "bodiedExtension"]))
def test_an_extension_comes_back_from_storage_as_it_was(parameters: dict[str, Any], kind: str) -> None:
    attrs = {"extensionKey": "k/s", "extensionType": "com.example", "parameters": parameters, "localId": "x"}
    node: dict[str, Any] = {"type": kind, "attrs": attrs}
    if kind == "bodiedExtension":
        node["content"] = [{"type": "paragraph", "content": [{"type": "text", "text": "a"}]}]
    document = {"version": 1, "type": "doc", "content": [node]}
    assert converted(converted(document, "adf", "storage").value, "storage", "adf").value == document


@QUICK
@given(bodies())
def test_any_body_becomes_a_valid_document_with_its_words(made: Any) -> None:
    body, count = made
    document = converted(body, "storage", "adf").value
    assert not document_schema.present() or document_schema.problems(document) == []
    words = str(document)
    assert [number for number in range(count) if f"word{number}x" not in words] == []
