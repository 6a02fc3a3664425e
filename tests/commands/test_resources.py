"""Things of a site by their resources, on a simulated site: what every resource says is tried, on each deployment."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from callsheet.commands.context import Context
from callsheet.commands.resources import Things, is_same_value, parents_first
from callsheet.commands.steps.dispatcher import StepDispatcher
from callsheet.commands.streams import Streams
from callsheet.errors import CallsheetError, UsageError
from support.cases import environment
from support.sampled import sampled
from support.simulated import serving

# What the sandbox cannot answer about these.
UNKNOWN = {"webhook": "list", "custom-content": "list", "queue": "read", "group": "read"}

# Of a resource: what a new thing is given, and what is changed then. A word in braces is the id of one that is there.
TEXT = {"type": "doc", "version": 1, "content": [{"type": "paragraph", "content": [{"type": "text", "text": "now"}]}]}
FILES = {"issue-attachment", "page-attachment"}
MADE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "version": ({"name": "9.9", "description": "last"}, {"released": True, "description": ""}),
    "component": ({"name": "Lights"}, {"description": "what shines"}),
    "issue": ({"summary": "New", "issuetype": {"id": "{issue-type}"}}, {"summary": "Changed", "labels": ["b", "a"]}),
    "comment": ({"body": TEXT}, {"body": {**TEXT, "content": []}}),
    "worklog": ({"timeSpentSeconds": 60, "started": "2026-01-31T09:30:00.000+0000"}, {"timeSpentSeconds": 120}),
    "filter": ({"name": "Mine", "jql": "project = DEMO"}, {"description": "all of it"}),
    "dashboard": ({"name": "Team"}, {"description": "ours"}),
    "issue-type": ({"name": "Idea"}, {"description": "not yet"}),
    "sprint": ({"name": "Last sprint"}, {"goal": "to end"}),
    "organization": ({"name": "Sample Choir"}, {}),
    "page": ({"title": "Fresh", "body": "<p>one</p>"}, {"body": "<p>two</p>"}),
    "blogpost": ({"title": "News", "body": "<p>one</p>"}, {"title": "Old news"}),
    "page-comment": ({"body": "<p>one</p>"}, {"body": "<p>two</p>"}),
    "page-label": ({"name": "fresh"}, {}),
    "folder": ({"title": "Papers"}, {}),
    "whiteboard": ({"title": "Ideas"}, {}),
}


@pytest.fixture(scope="module", params=["cloud", "datacenter"])
def dispatcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StepDispatcher]:
    home = tmp_path_factory.mktemp("home")
    with serving(deployment=request.param) as address:
        found = dispatcher_of(home, address, request.param)
        yield found
        found.context.close()


def dispatcher_of(home: Path, address: str, deployment: str, **options: Any) -> StepDispatcher:
    environ = {**environment(home, address), "SUITE_DEPLOYMENT": deployment}
    context = Context("suite", environ, Streams(io.StringIO(), io.StringIO(), io.StringIO()))
    context.options.update({"allow-http": True, **options})
    return StepDispatcher(context)


def first_parents(things: Things, dispatcher: StepDispatcher) -> Iterator[dict[str, str]]:
    """Each thing that others may be listed under, with the parents of that."""
    if not things.parent_resources:
        yield {}
        return
    above = Things(dispatcher, things.parent_resources[0])
    for parents in first_parents(above, dispatcher):
        for thing in above.list_things(parents):
            yield {**above.parents_of(thing, parents), above.resource: above.id_of(thing)}


def of_the_site(dispatcher: StepDispatcher) -> Iterator[Things]:
    """The resources that there are on the deployment, those that others belong to first."""
    for id in parents_first(dispatcher.context.catalog):
        things = Things(dispatcher, id)
        if things.supports("read") or things.supports("list"):
            yield things


def test_what_is_listed_is_what_is_read(dispatcher: StepDispatcher) -> None:
    seen: dict[str, int] = {}
    for things in of_the_site(dispatcher):
        if not things.supports("list") or UNKNOWN.get(things.resource) == "list":
            continue
        seen[things.resource] = 0
        for parents in first_parents(things, dispatcher):
            for thing in things.list_things(parents):
                seen[things.resource] += 1
                assert things.name_of(thing) or "name" not in things.definition, thing
                assert things.changed_of(thing) or "changed" not in things.definition, thing
                assert things.version_of(thing) or "version" not in things.definition, thing
                assert not things.field_differences(thing, things.fields_of(thing))
                if things.supports("read") and things.resource not in UNKNOWN and seen[things.resource] == 1:
                    again = things.read_thing(things.id_of(thing), {**parents, **things.parents_of(thing, parents)})
                    assert things.id_of(again) == things.id_of(thing)
                    assert things.name_of(again) == things.name_of(thing)
    assert {id for id, count in seen.items() if not count} <= {
        "epic",
        "comment",
        "worklog",
        "issue-link",
        "issue-history",
        "issue-change",
        *FILES,
        "page-comment",
        "page-property",
    }


@pytest.mark.parametrize("id", sampled(MADE, 3))
def test_what_is_made_is_changed_and_gone(dispatcher: StepDispatcher, id: str) -> None:
    things = Things(dispatcher, id)
    if not things.supports("create"):
        assert dispatcher.context.site().deployment == "datacenter"
        return
    given, changed = filled(MADE[id], dispatcher)
    if dispatcher.context.site().deployment == "datacenter" and things.body_format == "wiki":
        given, changed = ({"body": "now"}, {"body": "then"}) if "body" in given else (given, changed)
    parents = next(first_parents(things, dispatcher))
    made = things.create_thing(given, parents)
    thing = (
        things.read_thing(things.id_of(made), parents)
        if things.supports("read")
        else things.find_thing(given["name"], parents)
    )
    assert not things.field_differences(thing, given)
    if changed:
        assert [each.field for each in things.field_differences(thing, changed)] == list(changed)
        before = things.version_of(thing)
        things.update_thing(thing, changed, parents)
        thing = things.read_thing(things.id_of(thing), parents)
        assert not things.field_differences(thing, {**given, **changed})
        assert before is None or things.version_of(thing) > before
    things.delete_thing(thing, parents)
    assert is_gone(things, things.id_of(thing), given, parents)


def is_gone(things: Things, id: str, given: dict[str, Any], parents: dict[str, str]) -> bool:
    """What is in the trash is gone too."""
    try:
        there = things.read_thing(id, parents) if things.supports("read") else things.find_thing(given["name"], parents)
    except CallsheetError:
        return True
    return bool(there["status"] == "trashed")


def filled(value: Any, dispatcher: StepDispatcher) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        things = Things(dispatcher, value[1:-1])
        return things.id_of(next(things.list_things(next(first_parents(things, dispatcher)))))
    if isinstance(value, dict):
        return {key: filled(each, dispatcher) for key, each in value.items()}
    return type(value)(filled(each, dispatcher) for each in value) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("owner", ["issue", "page"])
def test_files_are_sent_listed_and_saved(dispatcher: StepDispatcher, owner: str, tmp_path: Path) -> None:
    above = Things(dispatcher, owner)
    files = Things(dispatcher, str(above.file_resource))
    assert files.resource in FILES
    parents = next(first_parents(files, dispatcher))
    (tmp_path / "plan.txt").write_text("Monday")
    files.create_thing({}, parents, [str(tmp_path / "plan.txt")])
    thing = files.find_thing("plan.txt", parents)
    files.save_file(thing, str(tmp_path / "back.txt"), parents)
    assert (tmp_path / "back.txt").read_text() == "Monday"
    files.delete_thing(thing, parents)
    with pytest.raises(UsageError, match="no attachment"):
        files.find_thing("plan.txt", parents)


def test_only_what_was_changed_since_is_asked_for(dispatcher: StepDispatcher) -> None:
    issues = Things(dispatcher, "issue")
    assert issues.asks_since
    assert issues.parents_of(next(issues.list_things()))
    ahead = datetime.now(UTC) + timedelta(days=800)
    assert list(issues.list_things(since=ahead)) == []
    some = [issues.name_of(issue) for issue in issues.list_things(query="project = DEMO ORDER BY key DESC")]
    assert len(some) > 1
    assert {str(name).partition("-")[0] for name in some} == {"DEMO"}
    ids = list(issues.list_things(ids_only=True))
    assert len(ids) == len(list(issues.list_things()))
    assert "summary" not in ids[0]["fields"]


def test_what_is_wrong_is_said_before_anything_is_sent(dispatcher: StepDispatcher) -> None:
    versions = Things(dispatcher, "version")
    with pytest.raises(UsageError, match="versions are listed under one project"):
        list(versions.list_things())
    with pytest.raises(UsageError, match="a version has no field 'nmae', did you mean 'name'"):
        versions.create_thing({"nmae": "1"}, {"project": "10000"})
    with pytest.raises(UsageError, match="folders cannot be listed"):
        list(Things(dispatcher, "folder").list_things())
    with pytest.raises(UsageError, match="statuses cannot be deleted"):
        Things(dispatcher, "status").delete_thing({"id": "1"})
    with pytest.raises(UsageError, match="no project matches"):
        Things(dispatcher, "project").find_thing("DEM")


def test_a_dry_run_prints_what_would_change(tmp_path: Path) -> None:
    with serving() as address:
        dispatcher = dispatcher_of(tmp_path, address, "cloud", **{"dry-run": True})
        try:
            assert Things(dispatcher, "version").create_thing({"name": "3"}, {"project": "10000"}) is None
        finally:
            dispatcher.context.close()
    assert '"projectId":10000' in dispatcher.context.streams.out.getvalue().replace(" ", "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("now", "wanted", "expected"),
    [
        (None, "", True),
        ([], None, True),
        (0, None, False),
        (False, None, False),
        ("10", 10, True),
        (True, "true", False),
        (["b", "a"], ["a", "b"], True),
        (["a", "a"], ["a", "b"], False),
        ([{"id": "1", "self": "x"}], [{"id": "1"}], True),
        ({"id": "1"}, {"id": "2"}, False),
        ({"id": "1"}, "1", False),
    ],
)
def test_what_a_service_adds_is_no_difference(now: Any, wanted: Any, expected: bool) -> None:
    assert is_same_value(now, wanted) is expected
