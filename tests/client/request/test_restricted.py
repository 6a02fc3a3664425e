"""A query is restricted to projects only where nothing in it can find another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.client.request.gate import restricted_to

FIELDS = ["project", "key"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("project = DEMO", {"DEMO"}),
        ('PROJECT="DEMO" and text ~ "a or b"', {"DEMO"}),
        ("status = Open && project in (A,B) ORDER BY project", {"A", "B"}),
        ("(project = A) AND (x = 1 OR y = 2)", {"A"}),
        ("project = A AND key = B-1", {"A", "B-1"}),
        ('"project" = A', {"A"}),
        ("project = A OR text ~ x", None),
        ("project = A || text ~ x", None),
        ("project = A AND x = 1 OR y = 2", None),
        ("(project = A OR project = B)", None),
        ("NOT project = A", None),
        ("NOT (project = A)", None),
        ("project != A", None),
        ("project not in (A)", None),
        ("project in projectsLeadByUser()", None),
        ("project in (A, projectsLeadByUser())", None),
        ("project in ()", None),
        ("project = A B", None),
        ("project = A) OR (x = 1", None),
        ("project = 'A", None),
        ("text ~ 'project = A'", None),
        ("text ~ project = A", None),
        ("order by project = A", None),
        ("", None),
        ("(" * 5000 + "project = A" + ")" * 5000, None),
    ],
)
def test_what_a_query_is_restricted_to(query: str, found: set[str] | None) -> None:
    assert restricted_to(query, FIELDS) == found


PARTS = st.sampled_from(
    [
        "project",
        "=",
        "in",
        "(",
        ")",
        ",",
        "A",
        "SECRET",
        "and",
        "or",
        "not",
        "'",
        '"',
        "!=",
        "x",
        "||",
        "order by",
        "\\",
    ]
)


@given(st.lists(PARTS, max_size=12).map(" ".join))
def test_an_alternative_is_never_restricted(query: str) -> None:
    """Whatever stands before it, or behind it."""
    balanced = query.count("(") == query.count(")") and "'" not in query and '"' not in query and "\\" not in query
    assert restricted_to(f"{query} or x = y", FIELDS) is None or not balanced or "order by" in query


@given(st.lists(PARTS, max_size=12).map(" ".join))
def test_any_text_is_read(query: str) -> None:
    found = restricted_to(query, FIELDS)
    assert found is None or found <= {"A", "SECRET", *query.split()} or "'" in query or '"' in query
