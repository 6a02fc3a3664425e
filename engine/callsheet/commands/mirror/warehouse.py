"""The rows of a mirror in another store, by dlt: DuckDB, Parquet files, PostgreSQL, BigQuery, Snowflake and so on.

The store keeps how far it is, beside the rows and written with them: it is told what changed since, and a run that was
stopped costs nothing but its time. A store that cannot change rows, such as files, gets a changed table whole.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...errors import CallsheetError, UsageError, count_of, did_you_mean
from ...installation import how_to_add
from ...urls import LOGIN_PROBLEM, holds_login
from .mirror_file import FILE, MirrorFile, column_name

_ADDRESS = re.compile("[a-z0-9+]{2,}:")
_FORMAT = "NAME or NAME:PLACE, such as duckdb:site.duckdb, filesystem:DIRECTORY or postgres"
_CREDENTIALS = "DESTINATION__NAME__CREDENTIALS"
_SOURCE = "mirror"
_PRUNED = "mirror_pruned"
_AS_TEXT = frozenset({"id", "name", "text", "data"})  # whatever they look like
_TIMES = frozenset({"changed_at", "read_at", "gone_at"})  # also where none has one yet
_TYPES = {frozenset({"integer"}): "bigint", frozenset({"real"}): "double", frozenset({"integer", "real"}): "double"}
_BATCH, _OF_A_FILE = 200, 5000  # rows: what is in memory at once
# The library asks its maker's host for nothing, reads no settings out of the directory that a person happens to be in,
# and says what it has to say by exceptions.
_SETTINGS = {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "CRITICAL",
    "NORMALIZE__DATA_WRITER__FILE_MAX_ITEMS": str(_OF_A_FILE),
    "NORMALIZE__DATA_WRITER__BUFFER_MAX_ITEMS": str(_BATCH),
    "SOURCES__DATA_WRITER__BUFFER_MAX_ITEMS": str(_BATCH),
    "LOAD__WORKERS": "2",
}


class _Table(NamedTuple):
    """What a store gets of one table: all of it, or what changed `since`."""

    name: str
    schema: str
    since: str
    types: Mapping[str, str | None]


class Warehouse:
    """A store as a person names it. Raises `UsageError` for one that there is not, or that is not installed."""

    def __init__(self, destination: str, settings: str) -> None:
        """`settings` is the directory that may have `.dlt/secrets.toml` and `.dlt/config.toml`."""
        self.name, _, self._place = destination.partition(":")
        self._variable = _CREDENTIALS.replace("NAME", self.name.upper())
        # The user of a database may be named: that is no secret. Without a scheme it is a file, of any name.
        if "://" in self._place and holds_login(self._place, names_user=False):
            hint = f"set {self._variable} to the address, in the environment"
            raise UsageError(f"--to: {LOGIN_PROBLEM}", hint=hint)
        try:
            urlsplit(self._place)
        except ValueError:
            raise UsageError(f"--to: {self._place!r} is not a valid address") from None
        os.environ.update(_SETTINGS)
        os.environ.setdefault("DLT_PROJECT_DIR", settings)
        try:
            import dlt
        except ImportError:
            raise UsageError("--to needs the extra `warehouse`", hint=how_to_add(extra="warehouse")) from None
        known = [name for name in dlt.destinations.__all__ if name not in ("destination", "dummy")]
        if self.name not in known:
            hint = f"expected {_FORMAT}; there are: {', '.join(sorted(known))}"
            raise UsageError(f"--to: no store {self.name!r}{did_you_mean(self.name, known)}", hint=hint)
        self._dlt = dlt
        try:
            made = getattr(dlt.destinations, self.name)
            is_directory = "bucket_url" in made().spec.get_resolvable_fields()
            key = "bucket_url" if is_directory else "credentials"
            self._destination = made(**({key: self._absolute_path()} if self._place else {}))
            capabilities = self._destination.capabilities()
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            raise UsageError(
                f"--to: {self.name}: {_driver_reason(error)}", hint=how_to_add(f"dlt[{self.name}]")
            ) from None
        if is_directory and not self._place:
            raise UsageError(f"--to: {self.name} needs a place", hint=f"{self.name}:DIRECTORY")
        self._files = "parquet" if is_directory else None
        self._merges = "delete-insert" in (capabilities.supported_merge_strategies or ())

    def _absolute_path(self) -> str:
        return self._place if _ADDRESS.match(self._place) else os.path.abspath(self._place)

    def load_changes(self, file: MirrorFile, now: str, report: Callable[[str], None] = lambda _: None) -> str:
        """Bring the store to what the file has at this time; returns what was done, in words."""
        dataset = f"{column_name(os.path.splitext(os.path.basename(file.path))[0])}_mirror"  # DuckDB calls its file so
        with tempfile.TemporaryDirectory(prefix="callsheet-", ignore_cleanup_errors=True) as directory:
            try:
                pipeline = self._dlt.pipeline(_SOURCE, directory, destination=self._destination, dataset_name=dataset)
                pipeline.sync_destination()
                tables = [*self._outdated_tables(file, pipeline, now)]
                rows = 0
                for is_whole in (True, False):
                    wanted = [each for each in tables if bool(each.since) != is_whole]
                    if wanted:
                        report(f"{self.name}: {count_of(len(wanted), 'table')} ...")
                        rows += self._run_pipeline(file, pipeline, wanted, now)
            except CallsheetError:
                raise
            except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
                if isinstance(error.__cause__ or error, ImportError):
                    raise UsageError(f"--to: {_driver_reason(error)}", hint=how_to_add(f"dlt[{self.name}]")) from None
                hint = f"{self._variable} in the environment says where and as whom"
                raise CallsheetError(f"{self.name}: {_driver_reason(error)}", hint=hint) from None
        return f"{self.name}: {count_of(rows, 'row')} of {count_of(len(tables), 'table')} to {dataset}"

    def _outdated_tables(self, file: MirrorFile, pipeline: Any, now: str) -> Iterator[_Table]:
        """What the store does not have yet, by what it remembers."""
        sources = pipeline.state.get("sources", {})
        known = sources.get(_SOURCE, {}).get("resources", {})
        schema = pipeline.schemas.get(_SOURCE) if _SOURCE in pipeline.schemas else None
        for name, made in file.table_statements().items():
            state = known.get(name, {})
            is_known = (state.get("mirror"), state.get("schema")) == (file.file_identity, made)
            since = state["since"] if is_known and state["since"] < now else ""
            columns = [column for column in file.columns_of_table(name) if column != FILE]
            if since:
                if (
                    next(
                        file.changed_since(name, since, file.key_of_table(name)),
                        next(file.pruned_since(name, since), None),
                    )
                    is None
                ):
                    continue
                since = since if self._merges else ""
            there = schema.tables.get(name, {}).get("columns", {}) if schema is not None and since else {}
            types = {
                column: there.get(column, {}).get("data_type") or _column_type(file, name, column) for column in columns
            }
            yield _Table(name, made, since, types)

    def _run_pipeline(self, file: MirrorFile, pipeline: Any, tables: list[_Table], now: str) -> int:
        sent = 0

        def rows(table: _Table) -> Iterator[Any]:
            nonlocal sent
            if not table.since:
                yield self._dlt.mark.materialize_table_schema()
            found = self._table_rows(file, table)
            while batch := [*islice(found, _BATCH)]:
                sent += len(batch)
                yield batch
            said = {"mirror": file.file_identity, "schema": table.schema, "since": now}
            self._dlt.current.resource_state().update(said)

        def resource(table: _Table) -> Any:
            columns: dict[str, Any] = {name: {"data_type": kind} for name, kind in table.types.items()}
            if self._merges:
                columns[_PRUNED] = {"data_type": "bool", "hard_delete": True}
            return self._dlt.resource(
                rows(table),
                name=table.name,
                primary_key=file.key_of_table(table.name),
                write_disposition="merge" if table.since else "replace",
                columns=columns,
                max_table_nesting=0,
            )

        source = self._dlt.source(lambda: [resource(table) for table in tables], name=_SOURCE)()
        refresh = None if tables[0].since else "drop_resources"
        pipeline.run(source, refresh=refresh, loader_file_format=self._files)
        return sent

    def _table_rows(self, file: MirrorFile, table: _Table) -> Iterator[dict[str, Any]]:
        names = list(table.types)
        texts = [kind == "text" for kind in table.types.values()]
        for row in file.changed_since(table.name, table.since, names):
            values = (
                str(value) if is_text and value is not None else value
                for value, is_text in zip(row, texts, strict=True)
            )
            yield dict(zip(names, values, strict=True))
        if table.since:
            key = file.key_of_table(table.name)
            for pruned in file.pruned_since(table.name, table.since):
                yield {**dict(zip(key, pruned, strict=True)), _PRUNED: True}


def _column_type(file: MirrorFile, table: str, column: str) -> str:
    if column in _TIMES:
        return "timestamp"
    if column in _AS_TEXT or column.endswith("_id"):
        return "text"
    kinds, is_time = file.value_kinds(table, column)
    return "timestamp" if is_time else _TYPES.get(frozenset(kinds), "text")


def _driver_reason(error: BaseException) -> str:
    """What its driver said first, in one line."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return (str(error) or type(error).__name__).strip().partition("\n")[0]
