"""A change goes to exactly what was named: never to what is nearly called so, nor to another person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.commands.steps.converters import Candidates, matches_word
from support.cases import Done, environment, nobody, run_program
from support.server import Exchange, exchange, reply, serve

BOARDS = {"values": [{"id": 5, "name": "Crew"}], "isLast": True}


def sprints(*names: str) -> list[Exchange]:
    found = [{"id": number, "name": name} for number, name in enumerate(names, 10)]
    return [
        exchange("GET", "/rest/agile/1.0/board", reply(json=BOARDS), repeat=None),
        exchange("GET", "/rest/agile/1.0/board/5/sprint", reply(json={"values": found, "isLast": True}), repeat=None),
    ]


def run(tmp_path: Path, script: list[Exchange], *words: str) -> Done:
    with serve(script, verify=False, trusted=True) as server:
        done = run_program("suite", list(words), environment(tmp_path / "home", server.url))
        return done._replace(requests=tuple(server.requests))


def changes(done: Done) -> list[str]:
    return [f"{request.method} {request.path}" for request in done.requests if request.method != "GET"]


@pytest.mark.parametrize("names", [["Sprint 10"], ["Sprint 10", "Sprint 11"], ["My Sprint 1"], ["Sprint 12", "Retro"]])
@pytest.mark.parametrize("words", [["sprints", "delete", "Sprint 1", "--yes"], ["sprints", "close", "Sprint 1"]])
def test_a_nearly_right_name_changes_nothing(tmp_path: Path, words: list[str], names: list[str]) -> None:
    done = run(tmp_path, sprints(*names), *words, "--board", "Crew")
    assert (done.exit, changes(done)) == (2, [])
    assert names[0] in done.stderr


def test_a_board_that_is_nearly_right_is_not_taken_for_a_change(tmp_path: Path) -> None:
    done = run(tmp_path, sprints("Sprint 1"), "sprints", "delete", "Sprint 1", "--yes", "--board", "Cre")
    assert (done.exit, changes(done)) == (2, [])


def test_the_exact_name_is_taken_and_named(tmp_path: Path) -> None:
    script = [*sprints("Sprint 1", "Sprint 10"), exchange("DELETE", "/rest/agile/1.0/sprint/10", reply(204))]
    done = run(tmp_path, script, "sprints", "delete", "sprint 1", "--yes", "--board", "Crew")
    assert (done.exit, changes(done)) == (0, ["DELETE /rest/agile/1.0/sprint/10"]), done.stderr
    assert "deleted: Sprint 1 (10)" in done.stdout.decode()


def test_a_read_may_take_the_only_one_and_says_so(tmp_path: Path) -> None:
    script = [*sprints("Sprint 10"), exchange("GET", "/rest/agile/1.0/sprint/10", reply(json={"id": 10}))]
    done = run(tmp_path, script, "sprints", "get", "Sprint 1", "--board", "Crew")
    assert done.exit == 0, done.stderr
    assert 'note: no sprint is called "Sprint 1"; using Sprint 10 (10)' in done.stderr


def users(*people: dict[str, Any]) -> list[Exchange]:
    """Two to a page."""
    path = "/rest/api/3/user/search"
    pages = [list(people[start : start + 2]) for start in range(0, len(people), 2)]
    script = [
        exchange(
            "GET", path, reply(json=page), repeat=None, query=["query=" + WORD, *([f"startAt={2 * n}"] if n else [])]
        )
        for n, page in enumerate(pages)
    ]
    end = [f"startAt={len(people)}"] if people else []
    script.append(exchange("GET", path, reply(json=[]), repeat=None, query=["query=" + WORD, *end]))
    return [*script, exchange("PUT", "/rest/api/3/issue/DEMO-1/assignee", reply(204), repeat=None)]


WORD = "robin"


def person(id: str, name: str, **more: Any) -> dict[str, Any]:
    return {"accountId": id, "displayName": name, "active": True, "accountType": "atlassian", **more}


def assigned(tmp_path: Path, *people: dict[str, Any], to: str = WORD) -> tuple[int, list[Any], str]:
    script = users(*people)
    for each in script[:-1]:
        each.request.query = [part.replace(f"query={WORD}", f"query={to}") for part in each.request.query or []]
    done = run(tmp_path, script, "issues", "assign", "DEMO-1", "--to", to)
    return done.exit, [request.json() for request in done.requests if request.method == "PUT"], done.stderr


def test_only_an_exact_person_is_taken(tmp_path: Path) -> None:
    code, sent, told = assigned(tmp_path, person("r-1", "Robinson Small"))
    assert (code, sent) == (2, []), told
    assert "Robinson Small (r-1)" in told


def test_all_pages_are_read_before_anybody_is_chosen(tmp_path: Path) -> None:
    others = [person(f"o-{number}", f"Robin Other {number}") for number in range(5)]
    code, sent, told = assigned(tmp_path, *others, person("r-1", "Robin"))
    assert (code, sent) == (0, [{"accountId": "r-1"}]), told
    code, sent, told = assigned(tmp_path, person("r-1", "Robin"), *others, person("r-2", "Robin"))
    assert (code, sent) == (2, []), told
    assert "Robin (r-1); Robin (r-2)" in told


def test_a_search_that_goes_round_in_a_circle_does_not_say_that_somebody_is_the_only_one(tmp_path: Path) -> None:
    people = [person(f"o-{number}", f"Robin Other {number}") for number in range(2)]
    code, sent, told = assigned(tmp_path, person("r-1", "Robin"), person("o-9", "Rob"), *people, *people)
    assert (code, sent) == (1, []), told
    assert "page 3 repeats page 2" in told
    code, sent, told = assigned(tmp_path, person("r-1", "Robin"), *people[:1], person("r-1", "Robin"), *people[:1])
    assert (code, sent) == (0, [{"accountId": "r-1"}]), told  # it does not page: its one answer is everything


def test_an_address_finds_its_owner_and_nobody_else(tmp_path: Path) -> None:
    to = "robin@example.org"
    other = person("o-1", "Robin", emailAddress="robin@example.org.example.com")
    gone = {**person("g-1", "Robin"), "active": False}
    hidden = person("h-1", "Robin")
    own = person("r-1", "Robin", emailAddress="Robin@Example.org")
    assert assigned(tmp_path, other, to=to)[:2] == (2, [])
    assert assigned(tmp_path, hidden, to=to)[:2] == (0, [{"accountId": "h-1"}])
    assert assigned(tmp_path, hidden, other, to=to)[:2] == (2, [])
    assert assigned(tmp_path, hidden, gone, to=to)[:2] == (2, [])
    assert assigned(tmp_path, other, own, to=to)[:2] == (0, [{"accountId": "r-1"}])


TRANSITIONS: list[tuple[list[tuple[str, str, str]], str | None]] = [
    ([("11", "Done", "Closed"), ("12", "Finish", "Done")], "12"),
    ([("11", "Done", "Closed")], "11"),
    ([("11", "Done", "Done"), ("12", "Finish", "Done")], "11"),
    ([("11", "Skip", "Done"), ("12", "Finish", "Done")], None),
    ([("11", "Not Done", "Open"), ("12", "Undone", "Open")], None),
]


@pytest.mark.parametrize(("found", "wanted"), TRANSITIONS)
def test_the_status_wins_over_the_name_of_a_transition(
    tmp_path: Path, found: list[tuple[str, str, str]], wanted: str | None
) -> None:
    answer = {"transitions": [{"id": id, "name": name, "to": {"name": to}} for id, name, to in found]}
    path = "/rest/api/3/issue/DEMO-1/transitions"
    script = [exchange("GET", path, reply(json=answer)), exchange("POST", path, reply(204), repeat=None)]
    done = run(tmp_path, script, "issues", "transition", "DEMO-1", "--to", "done")
    sent = [request.json()["transition"]["id"] for request in done.requests if request.method == "POST"]
    assert (done.exit, sent) == ((0, [wanted]) if wanted else (2, [])), done.stderr


def test_capitals_decide_between_names_that_differ_only_in_them() -> None:
    items = [{"id": 1, "name": "release"}, {"id": 2, "name": "Release"}]
    lookup = {"match": ["name"], "value": "id"}
    assert matches_word(lookup, "Release", Candidates(items, only=False)).items == [items[1]]
    assert matches_word(lookup, "RELEASE", Candidates(items, only=False)).items == items


def test_what_is_said_about_a_deed_names_what_was_found(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Prompts, and results that name a word which a look-up resolved."""
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    for id, command in catalog.commands.all().items():
        found = [p["name"].replace("-", "_") for p in command.get("params", ()) if "lookup" in p]
        said = f"{command.get('confirm', '')} {command.get('result', '')}"
        for name in found:
            asks_for = catalog.lookups.get(
                next(p for p in command["params"] if p["name"].replace("-", "_") == name)["lookup"]
            )
            if "call" in asks_for and asks_for.get("value", "@") != "@":
                assert f"given.{name}" not in said, id
        for name in found if "confirm" in command else ():
            assert "{" + name + "}" not in command["confirm"], id
    catalog.close()


VERSIONS = [{"id": "10", "name": "Spring"}, {"id": "77", "name": "10"}, {"id": "11", "name": "Summer"}]
DELETE = ["versions", "delete", "--yes", "--project", "DEMO"]


def deleted(tmp_path: Path, word: str, found: list[dict[str, Any]], *more: str) -> Done:
    project = {"id": "1", "key": "DEMO", "name": "Demo"}
    script = [
        exchange("GET", "/rest/api/3/project/DEMO", reply(json=project), repeat=None),
        exchange("GET", "/rest/api/3/project/DEMO/versions", reply(json=found), repeat=None),
        *(
            exchange("POST", f"/rest/api/3/version/{id}/removeAndSwap", reply(204), repeat=None, json={})
            for id in (10, 11, 12, 77)
        ),
    ]
    return run(tmp_path, script, *DELETE, word, *more)


@pytest.mark.parametrize(
    ("word", "found", "gone"),
    [
        ("10", VERSIONS, None),
        ("10", VERSIONS[1:], None),
        ("id:10", VERSIONS, "10"),
        ("name:10", VERSIONS, "77"),
        ("name:10", [*VERSIONS, {"id": "78", "name": "10"}], None),
        ("name:11", VERSIONS, None),
        ("10", VERSIONS[:1], "10"),
        ("10", [{"id": "10", "name": "10"}, VERSIONS[2]], "10"),
        ("11", VERSIONS, "11"),
        ("12", VERSIONS, "12"),
    ],
)
def test_a_number_that_is_an_id_and_a_name_is_neither(
    tmp_path: Path, word: str, found: list[dict[str, Any]], gone: str | None
) -> None:
    done = deleted(tmp_path, word, found)
    assert [change.split("/")[5] for change in changes(done)] == ([gone] if gone else []), done.stderr
    if word == "10" and gone is None:
        first = "Spring (10)" if found is VERSIONS else "the version with the id 10"
        assert f'"10" matches 2 versions: {first}; 10 (77)' in done.stderr
        assert "hint: use id:10 or name:10" in done.stderr
        assert done.exit == 2
    if gone == "11":
        assert "deleted: Summer (11)" in done.stdout.decode()


def test_a_number_is_the_id_where_there_is_no_list_and_for_a_read(tmp_path: Path) -> None:
    done = run(
        tmp_path, [exchange("DELETE", "/rest/agile/1.0/sprint/10", reply(204))], "sprints", "delete", "10", "--yes"
    )
    assert (done.exit, changes(done)) == (0, ["DELETE /rest/agile/1.0/sprint/10"]), done.stderr
    read = exchange("GET", "/rest/api/3/version/10", reply(json={"id": "10"}))
    done = run(tmp_path, [read], "versions", "get", "10")
    assert (done.exit, len(done.requests)) == (0, 1), done.stderr


def test_a_list_that_cannot_be_read_decides_nothing(tmp_path: Path) -> None:
    script = [
        exchange("GET", "/rest/api/3/project/DEMO/versions", reply(403, json={})),
        exchange("POST", "/rest/api/3/version/10/removeAndSwap", reply(204), repeat=None),
    ]
    done = run(tmp_path, script, *DELETE, "10")
    assert (done.exit, changes(done)) == (3, []), done.stderr
    done = run(tmp_path, script, *DELETE, "id:10")
    assert (done.exit, changes(done)) == (0, ["POST /rest/api/3/version/10/removeAndSwap"]), done.stderr


@pytest.mark.parametrize(("word", "sent"), [("11", []), ("id:11", ["11"]), ("name:11", ["12"]), ("12", ["12"])])
def test_a_number_that_is_compared_with_ids_and_names_alike(tmp_path: Path, word: str, sent: list[str]) -> None:
    found = [{"id": "11", "name": "Close", "to": {"name": "Closed"}}, {"id": "12", "name": "11", "to": {"name": "11"}}]
    path = "/rest/api/3/issue/DEMO-1/transitions"
    answer = reply(json={"transitions": found})
    script = [exchange("GET", path, answer), exchange("POST", path, reply(204), repeat=None)]
    done = run(tmp_path, script, "issues", "transition", "DEMO-1", "--to", word)
    given = [request.json()["transition"]["id"] for request in done.requests if request.method == "POST"]
    assert (done.exit, given) == (0 if sent else 2, sent), done.stderr
