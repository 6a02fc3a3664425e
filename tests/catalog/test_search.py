"""Finding operations in the real catalog."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.catalog.operation_search import list_operations, search_operations, suggest_operations
from callsheet.errors import UsageError
from support.cases import nobody


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    opened = open_catalog("suite", nobody(tmp_path_factory))
    yield opened
    opened.close()


def first(catalog: Catalog, text: str, count: int = 5) -> list[str]:
    return [row["id"] for row in search_operations(catalog, text).rows[:count]]


def test_the_catalog_holds_every_documented_operation(catalog: Catalog) -> None:
    rows = list_operations(catalog)
    counts = {product: sum(row["product"] == product for row in rows) for product in catalog.products.ids()}
    assert counts == {"jira": 616, "agile": 105, "jsm": 74, "confluence": 218, "confluence-v1": 130}
    assert len({row["id"] for row in rows}) == 1143


def test_a_row_says_what_the_columns_show(catalog: Catalog) -> None:
    (row,) = [row for row in list_operations(catalog, product="agile") if row["id"] == "getAllSprints"]
    assert row == {
        "id": "getAllSprints",
        "product": "agile",
        "method": "GET",
        "path": "/rest/agile/1.0/board/{boardId}/sprint",
        "tag": "Board",
        "summary": "Get all sprints",
        "deprecated": False,
        "experimental": False,
        "not_on": [],
    }


def test_one_word_finds_what_is_named_by_it(catalog: Catalog) -> None:
    found = first(catalog, "sprint", 20)
    assert {"getAllSprints", "createSprint", "swapSprint", "deleteSprint"} <= set(found)


def test_several_words_are_all_looked_for_and_the_name_counts_most(catalog: Catalog) -> None:
    assert all(id.startswith("moveIssues") for id in first(catalog, "move issue", 3))


@pytest.mark.parametrize(
    ("phrase", "id"),
    [
        ("create issue", "createIssue"),
        ("new ticket", "createIssue"),
        ("list sprints", "getAllSprints"),
        ("list boards", "getAllBoards"),
        ("list projects", "searchProjects"),
        ("add comment", "addComment"),
        ("delete page", "deletePage"),
        ("rename page", "updatePage"),
        ("page history", "getPageVersions"),
        ("assign issue", "assignIssue"),
        ("find user", "findUsers"),
        ("who am i", "getCurrentUser"),
        ("upload attachment", "addAttachment"),
        ("close sprint", "partiallyUpdateSprint"),
        ("change status", "doTransition"),
        ("approve request", "answerApproval"),
        ("log work", "addWorklog"),
        ("watch issue", "addWatcher"),
        ("link issues", "linkIssues"),
        ("move page", "movePage"),
    ],
)
def test_everyday_phrases_find_what_is_meant_among_the_first_five(catalog: Catalog, phrase: str, id: str) -> None:
    assert id in first(catalog, phrase)


def test_an_exact_id_comes_first_even_among_many(catalog: Catalog) -> None:
    assert first(catalog, "getIssue", 1) == ["getIssue"]
    assert first(catalog, "getissue", 1) == ["getIssue"]


def test_a_misspelt_word_is_read_as_the_closest(catalog: Catalog) -> None:
    found = search_operations(catalog, "creat isue")
    assert found.corrected == {"isue": "issue"}
    assert found.rows[0]["id"] == "createIssue"
    assert search_operations(catalog, "sprnt").corrected == {"sprnt": "sprint"}


def test_words_that_never_stand_together_are_looked_for_alone(catalog: Catalog) -> None:
    assert first(catalog, "attachment zzzzzz")


def test_nonsense_finds_nothing_and_no_query_syntax_leaks(catalog: Catalog) -> None:
    assert search_operations(catalog, "qqqqzzzz").rows == []
    assert search_operations(catalog, "sprint* -a id:x (b NEAR").rows
    with pytest.raises(UsageError, match="nothing to search for"):
        search_operations(catalog, '"(*')


def test_filters_name_what_they_know(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="no operation has the product 'agil', did you mean 'agile'"):
        list_operations(catalog, product="agil")
    assert {row["method"] for row in list_operations(catalog, method="delete")} == {"DELETE"}
    assert all(not row["deprecated"] for row in list_operations(catalog, deprecated=False))


def test_suggestions_are_near(catalog: Catalog) -> None:
    assert suggest_operations(catalog, "getIsue")[0] == "getIssue"
