"""Members that expressions look for and no sample of the values has."""

from __future__ import annotations

import pytest

from callsheet.language.functions import Functions
from callsheet.language.value_shapes import missed_members, result_shape, shape_of

ISSUE = {
    "key": "A-1",
    "spaceId": 7,
    "due": None,
    "fields": {
        "status": {"name": "open"},
        "components": [{"name": "web"}, {"name": "app", "lead": {"id": 1}}],
        "labels": ["x"],
        "created": "2026-01-01",
        "summary": "x",
    },
}
SHAPE = shape_of([ISSUE, {**ISSUE, "due": "2026-01-31", "version": {"createdAt": "x"}}], answer_of="createIssue")
WRONG = [
    ("status.name", "it has no 'status', did you mean 'fields.status'?"),
    ("fields.components.name", "'fields.components' is a list: write fields.components[].name"),
    ("fields.components[?name == 'x'].nam", "'fields.components[]' has no 'nam', did you mean 'name'?"),
    ("fields.components[?nmae == 'x'].name", "'fields.components[]' has no 'nmae', did you mean 'name'?"),
    ("fields.components[0].naem", "'fields.components[]' has no 'naem', did you mean 'name'?"),
    ("fields.components | [0].naem", "'fields.components[]' has no 'naem', did you mean 'name'?"),
    ("fields.components[].lead.idd", "'fields.components[].lead' has no 'idd', did you mean 'id'?"),
    ("sort_by(fields.components, &naem)[].name", "'fields.components[]' has no 'naem', did you mean 'name'?"),
    ("sort_by(fields.components, &name)[].naem", "'fields.components[]' has no 'naem', did you mean 'name'?"),
    ("fields.labels[].{name: name}", "'fields.labels[]' is a text: there is nothing inside, write @ for it"),
    ("fields.[status, summry]", "'fields' has no 'summry', did you mean 'summary'?"),
    ("version.created", "'version' has no 'created', did you mean 'createdAt'?"),
    ("space.id", "it has no 'space', did you mean 'spaceId'?"),
    ("key.name", "'key' is a text: there is nothing inside"),
    ("issueId", "it has no 'issueId', did you mean 'id'?"),
    ("{a: fields.summry}.a", "'fields' has no 'summry', did you mean 'summary'?"),
    ("elsewhere", ""),
    ("fields.label", "'fields' has no 'label', did you mean 'labels'?"),
    (
        "contains(fields.components, 'web')",
        "'fields.components' is a list of tables: say which member, contains(fields.components[].NAME, ...)",
    ),
    ("fields.summry || ''", "'fields' has no 'summry', did you mean 'summary'?"),
    ("not_null(other, fields.summry)", "'fields' has no 'summry', did you mean 'summary'?"),
]


@pytest.mark.parametrize(("expression", "said"), WRONG)
def test_what_no_sample_has_is_missed(expression: str, said: str) -> None:
    shape = shape_of([{**ISSUE, "id": 1}, {"version": {"createdAt": "x"}}], answer_of="createIssue")
    assert [missed.text for missed in missed_members(expression, {}, shape) if missed.name != "other"] == [said]


@pytest.mark.parametrize(
    "expression",
    [
        "fields.status.name",
        "fields.components[].lead.id",
        "fields.components[?lead.id == `1`] | [0].name",
        "fields.labels[].{prefix: 'global', name: @}",
        "statuss.name || fields.status.name",
        "not_null(statuss, key)",
        "not_null(statuss, split(key, '-')[0])",
        "due.anything",
        "fields.*.name",
        "fields.components[?name == $word].name",
        "@",
    ],
)
def test_what_some_sample_has_is_found(expression: str) -> None:
    """One of several is enough, and of what is null nothing is known."""
    shape = shape_of([ISSUE])
    assert list(missed_members(expression, {"word": shape_of(["x"])}, shape)) == []


def test_names_that_differ_in_their_digits_are_no_slips() -> None:
    """Sites number their own fields, each in its way."""
    shape = shape_of([{"customfield_10016": 3, "customfield_10030": "x"}])
    assert [missed.text for missed in missed_members("customfield_10050.value", {}, shape)] == [""]


def test_names_of_the_scope_are_judged_and_others_are_not() -> None:
    scope = {"old": SHAPE}
    assert [missed.path for missed in missed_members("old.fields.statuss && new.fields.statuss", scope)] == [
        "old.fields.statuss"
    ]


def test_what_an_expression_gives_is_known_as_far_as_it_says_it() -> None:
    listed = result_shape("fields.components[?lead].lead", {}, SHAPE)
    assert listed.kind == "array"
    assert listed.item is not None
    assert set(listed.item.members) == {"id"}
    assert result_shape("fields.components[].lead | [0].id", {}, SHAPE).kind == "number"
    assert result_shape("length(fields)", {}, SHAPE).kind == ""


@pytest.mark.parametrize("name", sorted(Functions.FUNCTION_TABLE))
def test_calls_with_any_arguments_are_walked(name: str) -> None:
    for arguments in ("", "@", "fields.labels, &@", "&name, fields.components", "fields, 'x', key"):
        for text in (
            f"{name}({arguments})",
            f"fields.components[?{name}({arguments})].name",
            f"key | {name}({arguments})",
        ):
            list(missed_members(text, {"key": SHAPE}, SHAPE))
            result_shape(text, {}, None)
