"""The rows of a mirror in other stores: the same as in the file after each run, whatever changed, came or went."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callsheet.installation import start_code
from support.places import ROOT
from support.ports import free_port
from support.shell_user import ShellUser
from support.simulated import serving

pytestmark = pytest.mark.slow
pytest.importorskip("dlt")
PASSWORD = "only for tests"
Rows = list[tuple[Any, ...]]


class Site(ShellUser):
    """With a mirror, whose other stores are filled by a process of its own, as a person starts it."""

    def __init__(self, home: Path, address: str) -> None:
        super().__init__(home, address)
        self.work = home / "work"
        self.work.mkdir()

    def load(self, store: str, *words: str, **more: str) -> str:
        """What was said."""
        done = self.start(store, *words, **more)
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()[-1]

    def start(self, store: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-P", "-c", start_code("suite"), "mirror", "site.sqlite", *words, "--to", store]
        environ = {**os.environ, **self.environ, **more}
        done = subprocess.run(argv, cwd=self.work, env=environ, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert PASSWORD not in done.stderr
        return done

    def change(self, number: int) -> None:
        assert self("issues", "edit", "DEMO-1", "--summary", f'Title {number} "with quotes" and ü') == 0, self.err
        assert self("issues", "move", "DEMO-4", "Done" if number % 2 else "To Do") == 0, self.err
        assert self("issues", "delete", f"DEMO-{number + 4}", "--yes") == 0, self.err
        self.clock()

    def clock(self) -> None:
        """As if it had been an hour ago, so that the next run is a later one."""
        with closing(sqlite3.connect(self.work / "site.sqlite")) as file:
            for (table,) in file.execute("SELECT name FROM mirror_resource").fetchall():
                for column in ("read_at", "gone_at"):
                    file.execute(
                        f"UPDATE {table} SET {column} = strftime('%Y-%m-%dT%H:%M:%S+00:00', {column}, '-1 hour')"
                    )
            file.execute("UPDATE mirror_part SET compared_at = NULL")
            file.commit()

    def rows(self) -> dict[str, Rows]:  # type: ignore[override]
        with closing(sqlite3.connect(self.work / "site.sqlite")) as file:
            return read_tables(lambda table: file.execute(query(table)).fetchall(), self.tables(file))

    def tables(self, file: sqlite3.Connection) -> list[str]:
        return [name for (name,) in file.execute("SELECT name FROM mirror_resource ORDER BY 1")]


def query(table: str) -> str:
    return f"SELECT id, name, text, data, gone_at IS NULL FROM {table}"


def read_tables(read: Callable[[str], list[Any]], tables: list[str]) -> dict[str, Rows]:
    return {name: sorted(map(str, ((*row[:4], bool(row[4])) for row in read(name)))) for name in tables}


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Site]:
    with serving() as address:
        yield Site(tmp_path, address)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server without its password."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    found = shutil.which("initdb") or (programs and f"{programs[-1]}/initdb")
    if not found:
        pytest.skip("PostgreSQL is not here")
    programs_directory = os.path.dirname(found)
    user: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}  # it refuses to run as root
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        directory = Path(name)
        (directory / "password").write_text(PASSWORD)
        if user:
            shutil.chown(directory, "postgres")
            shutil.chown(directory / "password", "postgres")
        quiet: dict[str, Any] = {**user, "stdout": subprocess.DEVNULL, "cwd": directory}
        words = ["-D", f"{name}/data", "-A", "scram-sha-256", f"--pwfile={name}/password", "-U", "tester"]
        subprocess.run([f"{programs_directory}/initdb", *words, "--no-sync"], check=True, **quiet)
        port = free_port()
        control = [f"{programs_directory}/pg_ctl", "-D", f"{name}/data", "-l", f"{name}/log", "-w"]
        subprocess.run(
            [*control, "-o", f"-p {port} -k {name} -c listen_addresses=127.0.0.1", "start"], check=True, **quiet
        )
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, **quiet)


def in_duckdb(site: Site) -> dict[str, Rows]:
    import duckdb

    with duckdb.connect(str(site.work / "other.duckdb"), read_only=True) as store:
        found = store.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'site_mirror'")
        tables = sorted(name for (name,) in found.fetchall() if not name.startswith("_"))
        return read_tables(lambda table: store.execute(query(f"site_mirror.{table}")).fetchall(), tables)


def in_parquet(site: Site) -> dict[str, Rows]:
    import duckdb

    tables = sorted(path.name for path in (site.work / "other/site_mirror").iterdir() if any(path.glob("*.parquet")))
    with duckdb.connect() as store:
        read = {name: f"'{site.work}/other/site_mirror/{name}/*.parquet'" for name in tables}
        return read_tables(lambda table: store.execute(query(read[table])).fetchall(), tables)


@pytest.mark.parametrize(("store", "read"), [("duckdb:other.duckdb", in_duckdb), ("filesystem:other", in_parquet)])
def test_a_store_has_the_rows_of_the_file_after_each_run(
    store: str, read: Callable[[Site], dict[str, Rows]], cloud: Site
) -> None:
    assert "17 rows" not in cloud.load(store)
    expected = cloud.rows()
    assert {name: rows for name, rows in read(cloud).items() if rows} == {
        n: rows for n, rows in expected.items() if rows
    }
    cloud.change(1)
    said = cloud.load(store)
    assert cloud.rows() != expected
    expected = cloud.rows()
    assert {name: rows for name, rows in read(cloud).items() if rows} == {
        n: rows for n, rows in expected.items() if rows
    }
    assert "of 3 tables" in said  # issues, what they were, and what changed in them
    cloud.change(2)
    cloud.load(store, "--prune")
    expected = cloud.rows()
    assert {name: rows for name, rows in read(cloud).items() if rows} == {
        n: rows for n, rows in expected.items() if rows
    }
    assert not any("DEMO-5" in row for row in expected["issues"])
    cloud.clock()
    assert "0 rows of 0 tables" in cloud.load(store)


def test_a_store_that_is_emptied_or_gets_another_file_gets_all_of_it(cloud: Site) -> None:
    cloud.load("duckdb:other.duckdb")
    (cloud.work / "other.duckdb").unlink()
    assert "0 rows" not in cloud.load("duckdb:other.duckdb")
    assert in_duckdb(cloud)["issues"] == cloud.rows()["issues"]
    assert cloud("issues", "delete", "DEMO-5", "--yes") == 0
    (cloud.work / "site.sqlite").unlink()
    cloud.load("duckdb:other.duckdb")
    assert in_duckdb(cloud)["issues"] == cloud.rows()["issues"]


def test_a_database_server_has_the_rows_of_the_file_after_each_run(cloud: Site, postgres: str) -> None:
    import psycopg2

    def in_postgres() -> dict[str, Rows]:
        with closing(psycopg2.connect(postgres, password=PASSWORD)) as connection, connection.cursor() as store:

            def read(table: str) -> list[Any]:
                store.execute(query(f"site_mirror.{table}"))
                return list(store.fetchall())

            return read_tables(read, [*cloud.rows()])

    secret = {"DESTINATION__POSTGRES__CREDENTIALS__PASSWORD": PASSWORD}
    cloud.load(f"postgres:{postgres}", **secret)
    assert in_postgres() == cloud.rows()
    cloud.change(1)
    assert "of 3 tables" in cloud.load(f"postgres:{postgres}", **secret)
    assert in_postgres() == cloud.rows()
    cloud.change(2)
    cloud.load(f"postgres:{postgres}", "--prune", **secret)
    assert in_postgres() == cloud.rows()
    address = postgres.replace("tester@", f"tester:{PASSWORD.replace(' ', '%20')}x@")
    done = cloud.start("postgres", DESTINATION__POSTGRES__CREDENTIALS=address)
    assert (done.returncode, "password authentication failed" in done.stderr) == (1, True), done.stderr


def test_types_are_those_of_the_store(cloud: Site) -> None:
    import duckdb

    cloud.load("duckdb:other.duckdb")
    with duckdb.connect(str(cloud.work / "other.duckdb"), read_only=True) as store:
        found = dict(row[:2] for row in store.execute("DESCRIBE site_mirror.issues").fetchall())
    assert {name: found[name] for name in ("id", "summary", "data", "created", "gone_at")} == {
        **dict.fromkeys(("id", "summary", "data"), "VARCHAR"),
        **dict.fromkeys(("created", "gone_at"), "TIMESTAMP WITH TIME ZONE"),
    }


def test_nobody_else_is_asked_or_told_anything(cloud: Site) -> None:
    """Every connection that leaves the machine would go through the proxy."""
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(200).decode(errors="replace"))

        thread = threading.Thread(target=take)
        thread.start()
        proxy = f"http://127.0.0.1:{server.getsockname()[1]}"
        proxies = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), proxy)
        cloud.load("duckdb:other.duckdb", **proxies, NO_PROXY="127.0.0.1", RUNTIME__DLTHUB_TELEMETRY="true")
        server.shutdown(socket.SHUT_RDWR)
    thread.join()
    assert asked == []


def test_a_file_of_the_directory_names_no_store(cloud: Site) -> None:
    (cloud.work / ".dlt").mkdir()
    named = '[destination.postgres]\ncredentials = "postgresql://mallory:x@127.0.0.1:9/theirs"\n'
    (cloud.work / ".dlt/secrets.toml").write_text(named)
    done = cloud.start("postgres")
    assert done.returncode == 1
    assert "credentials" in done.stderr
    assert "127.0.0.1:9" not in done.stderr.replace(cloud.environ["SUITE_BASE_URL"], "")
    assert "port 9" not in done.stderr


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("ducdb:x", "no store 'ducdb', did you mean 'duckdb'?"),
        ("filesystem", "filesystem needs a place"),
        ("postgres:postgresql://me:secret@host/db", "must not hold a user name or password"),
        ("postgres:postgresql://[::1", "is not a valid address"),
    ],
)
def test_what_is_no_store_is_refused_before_anything_is_read(store: str, message: str, cloud: Site) -> None:
    assert cloud("mirror", str(cloud.work / "site.sqlite"), "--to", store) == 2
    assert message in cloud.err
    assert not cloud.sent
    assert not (cloud.work / "site.sqlite").exists()


def test_an_older_file_is_taken(cloud: Site) -> None:
    cloud.load("duckdb:other.duckdb")
    with closing(sqlite3.connect(cloud.work / "site.sqlite")) as file:
        file.executescript("DROP TABLE mirror_pruned; ALTER TABLE mirror_site DROP COLUMN id; PRAGMA user_version = 1")
    cloud.load("duckdb:other.duckdb")
    assert in_duckdb(cloud)["issues"] == cloud.rows()["issues"]


def test_the_extra_is_what_it_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (needed,) = project["optional-dependencies"]["warehouse"]
    assert needed in project["optional-dependencies"]["dev"]
