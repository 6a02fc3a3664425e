"""Reading the compiled definitions; compiling them first when a file changed."""

from __future__ import annotations

import json
import os
import sqlite3
from _thread import allocate_lock  # without what `threading` takes to import at every start
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from time import time_ns
from typing import TYPE_CHECKING, Any

from ..errors import CallsheetError
from ..files import PRIVATE, changeable_by_others, make_private_directory, quoted_for_uri
from ..language.layers import Layer, entries_of
from .fingerprint import compiled_path, fingerprint_of, safe_layers
from .records import Records

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.safety import Safety
    from .compile import Checked

_LARGE_PAGE = 16 << 10  # bytes
_LARGE = 6 << 20  # bytes of definitions; what takes longer than a second to compile


class Child:
    """One entry of a group: a command or a further group."""

    __slots__ = ("aliases", "help", "hidden", "kind", "name")

    def __init__(self, name: str, kind: str, help: str, hidden: int, aliases: str) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.hidden = bool(hidden)
        self.aliases: list[str] = json.loads(aliases)


class Catalog(Records):
    """The definitions of one program, as records that are plain dicts."""

    def __init__(
        self,
        program: str,
        environ: Mapping[str, str],
        *,
        own: bool = True,
        say_slow: Callable[[], None] = lambda: None,
    ) -> None:
        self.program = program
        self._say_slow = say_slow
        self._environ = environ
        self._own = own
        self._bare: JsonObject = {}  # what stands in the place of a program whose own definitions do not count
        if not own:
            from ..language.load import bare_program

            self._bare = bare_program(program, environ)
        self.layers = self._own_layers = self._safe_layers([])
        self._fingerprint = ""
        self.is_new = False  # it was compiled just now
        self._is_large = False
        self._lock = allocate_lock()  # threads that ask the same of one connection at once share its prepared statement
        self._connection = self._open_or_compile()

    def record(self, kind: str, id: str) -> JsonObject | None:
        rows = self.query_rows("SELECT data FROM definition WHERE kind = ? AND id = ?", kind, id)
        if not rows:
            rows = self.query_rows(
                "SELECT data FROM alias JOIN definition USING (kind, id) WHERE kind = ? AND name = ?", kind, id
            )
        record: JsonObject | None = json.loads(rows[0][0]) if rows else None
        return record

    def left_out(self) -> list[str]:
        """What of a person's definitions is not in use, because it needs something that is gone."""
        return self._meta_list("left out")

    def notes_on_renames(self) -> list[str]:
        """What is called differently now in a person's definitions."""
        return self._meta_list("notes")

    def shipped_paths(self) -> list[tuple[str, Safety, str]]:
        """Method and path, class and id of shipped operations that a person's own definitions change or remove."""
        rows = self.query_rows("SELECT value FROM meta WHERE name = 'shipped paths'")
        return [(http, safety, id) for http, safety, id in json.loads(rows[0][0])] if rows else []

    def _meta_list(self, name: str) -> list[str]:
        rows = self.query_rows("SELECT value FROM meta WHERE name = ?", name)
        found: list[str] = json.loads(rows[0][0]) if rows else []
        return found

    def canonical_id(self, kind: str, id: str) -> str:
        """The id that an alias stands for; any other name as it is."""
        rows = self.query_rows("SELECT id FROM alias WHERE kind = ? AND name = ?", kind, id)
        return str(rows[0][0]) if rows else id

    def ids(self, kind: str, prefix: str = "") -> list[str]:
        """Ids of a kind in the order of the definition files."""
        rows = self.query_rows("SELECT id FROM definition WHERE kind = ? ORDER BY position", kind)
        return [id for (id,) in rows if id.startswith(prefix)]

    def count_by_kind(self) -> dict[str, int]:
        """The kinds in use, and how many definitions each has."""
        from ..language.source_file import PARTS

        counts = dict(self.query_rows("SELECT kind, count(*) FROM definition GROUP BY kind"))
        return {kind: count for kind, count in counts.items() if kind not in PARTS.values()}

    def records_of_kind(self, kind: str) -> dict[str, JsonObject]:
        rows = self.query_rows("SELECT id, data FROM definition WHERE kind = ? ORDER BY position", kind)
        return {id: json.loads(data) for id, data in rows}

    def children_of(self, parent: str) -> list[Child]:
        """What stands in a group of commands, in the order of the definition files; the root is ``""``."""
        sql = "SELECT name, kind, help, hidden, aliases FROM child WHERE parent = ? ORDER BY position"
        return [Child(*row) for row in self.query_rows(sql, parent)]

    def query_rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of the compiled catalog, for any thread; a damaged file is made again and asked once more."""
        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.DatabaseError:
                self._connection.close()
                self._connection = self._compile_now()
                return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @property
    def path(self) -> str:
        """Where the compiled file lies: one per program and set of directories that exist."""
        return compiled_path(self.program, self._environ, self._own_layers)

    @property
    def fingerprint(self) -> str:
        """What the definitions were when they were read; see `fingerprint_of`."""
        return self._fingerprint

    def _safe_layers(self, used: list[str]) -> list[Layer]:
        return safe_layers(self.program, used, self._environ, own=self._own)

    def _open_or_compile(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = None
        if os.path.exists(self.path) and (not os.path.isfile(self.path) or changeable_by_others(self.path) is not None):
            return self._compile_now()  # somebody else may have put it there
        try:
            connection = _read_only(self.path)
            row = connection.execute("SELECT value FROM meta WHERE name = 'fingerprint'").fetchone()
            if row and self._is_of(row[0]):
                return connection
        except (sqlite3.DatabaseError, OSError):
            pass
        if connection is not None:
            connection.close()
        return self._compile_now()

    def _is_of(self, fingerprint: str) -> bool:
        """Whether a compiled file with this fingerprint is what the definitions say now.

        Which programs are used follows from the definitions: where these are the same, it still holds.
        """
        used = fingerprint.partition("\n")[0].split()
        self.layers = self._safe_layers(used)
        self._fingerprint = fingerprint_of(used, self.layers, self._bare)
        return fingerprint == self._fingerprint

    def _compile_now(self) -> sqlite3.Connection:
        """What the definitions say now, from files that nobody else can have written."""
        from ..language.load import refuse_unknown, used_by

        self.layers = self._safe_layers([])
        if self._own:
            refuse_unknown(self.program, self._environ)
        used = self._bare.get("uses") or used_by(self.program, self._environ, own=self._own)
        self.layers = self._safe_layers(used)
        self._fingerprint = fingerprint_of(used, self.layers, self._bare)
        sizes = [os.path.getsize(path) for layer in self.layers for path in entries_of(layer) if os.path.isfile(path)]
        self._is_large = sum(sizes) > _LARGE
        if self._is_large:
            self._say_slow()
        return self._compile_beside()

    def _compile_beside(self) -> sqlite3.Connection:
        """Compile beside the old file and put the new one in its place.

        Into memory where nothing can be written, and where others could put something else in that place.
        """
        fresh = f"{self.path}.{os.getpid()}.{time_ns()}"
        try:
            make_private_directory(directory := os.path.dirname(self.path))
            if changeable_by_others(directory) is not None:
                raise PermissionError(directory)
            os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        except (OSError, CallsheetError):
            return self._fill_connection(sqlite3.connect(":memory:", check_same_thread=False))
        try:
            self._fill_connection(sqlite3.connect(fresh)).close()
            return self._install_compiled(fresh)
        finally:
            if os.path.exists(fresh):
                os.remove(fresh)

    def _fill_connection(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        from ..collector import without_collector
        from .checked_files import digest_of_files, remember_digest, remembered_digest
        from .compile import compile_catalog

        bare = {self.program: self._bare}
        digest = digest_of_files(self.layers, _engine_of(self._fingerprint)) if self._is_large else ""
        is_known = bool(digest) and digest == remembered_digest(self.program, self._environ)
        try:
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            if self._is_large:  # of pages of the usual size a third would be empty: few hold two of its definitions
                connection.execute(f"PRAGMA page_size = {_LARGE_PAGE}")
            with without_collector(), self._earlier_catalog() as earlier:
                found, fingerprint = self.layers, self._fingerprint
                left_out = compile_catalog(connection, found, fingerprint, bare, earlier, are_sound=is_known)
            self.is_new = True
        except BaseException:
            connection.close()
            raise
        if digest and not is_known and not left_out:
            remember_digest(self.program, self._environ, digest)
        return connection

    @contextmanager
    def _earlier_catalog(self) -> Iterator[Checked | None]:
        """What this engine has checked already: an earlier state of the same definitions, or the built-in ones."""
        from .compile import read_checked

        shipped = [each for each in self._own_layers if each.shipped]
        for path in (self.path, compiled_path(self.program, self._environ, shipped)):
            if os.path.isfile(path) and changeable_by_others(path) is None:
                with closing(_read_only(path)) as connection:
                    try:
                        rows = connection.execute("SELECT value FROM meta WHERE name = 'fingerprint'").fetchall()
                        is_same = [_engine_of(text) for (text,) in rows] == [_engine_of(self._fingerprint)]
                        checked = read_checked(connection) if is_same else None
                    except sqlite3.DatabaseError:
                        continue
                    if checked is not None:
                        yield checked
                        return
        yield None

    def _install_compiled(self, fresh: str) -> sqlite3.Connection:
        try:
            os.replace(fresh, self.path)
        except PermissionError:  # Windows, while another process reads the old one
            memory = sqlite3.connect(":memory:", check_same_thread=False)
            with closing(sqlite3.connect(fresh)) as source:
                source.backup(memory)
            return memory
        return _read_only(self.path)


def open_catalog(
    program: str,
    environ: Mapping[str, str] = os.environ,
    *,
    own: bool = True,
    say_slow: Callable[[], None] = lambda: None,
) -> Catalog:
    """Without `own` only of the built-in definitions; `say_slow` is called before many are compiled."""
    return Catalog(program, environ, own=own, say_slow=say_slow)


def _engine_of(fingerprint: str) -> str:
    return "".join(fingerprint.splitlines()[1:2])


def _read_only(path: str) -> sqlite3.Connection:
    if not os.path.exists(path):
        raise FileNotFoundError(path)
    # immutable: the file is only ever replaced whole, so no reader needs a lock.
    return sqlite3.connect(f"file:{quoted_for_uri(path)}?mode=ro&immutable=1", uri=True, check_same_thread=False)
