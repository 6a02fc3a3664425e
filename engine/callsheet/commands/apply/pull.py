"""Files of what is on the site: pages as a folder of Markdown, and declared things."""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from json import dumps
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import tomlkit

from ...errors import CallsheetError, UsageError
from ...output_files import output_file
from ...richtext.editing import Editing
from ...richtext.markdown.front_matter import split_front_matter
from ...richtext.markdown.places import PLAIN, Address, PlaceReader, replace_ranges
from ..folder.local_page import Folder, is_index, text_of
from ..folder.read_folder import read_folder
from ..resources import Thing, Things
from ..steps.each_item import meets_every_request
from .page_changes import PageTarget, applied_text, hash_of
from .perform_changes import Lock
from .planned_changes import Applied, Bases, latest_applied

if TYPE_CHECKING:
    from ..folder.local_page import FolderPage, FolderSettings
    from ..steps.dispatcher import StepDispatcher


# The pages of a site as files of Markdown: written where nothing is, or where the file is as it was pulled last.


_UNSAFE = re.compile(r"[^\w]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|index|readme|node_modules|__pycache__)", re.IGNORECASE)
_LONGEST = 60  # letters of a name
_MOST_BYTES = 180
_SAFE = re.compile(r"[\w()+@,=&-]([\w .()+@,=&-]*[\w()+@,=&-])?")
_FILES = ".files"  # what the directory of a page's files ends in
_PAGE, _ATTACHMENT = "page:", "attachment:"


class Pulled(NamedTuple):
    """What became of one page: written, kept, or in conflict with the file."""

    change: str
    path: str
    title: str
    id: str
    conflict: str | None = None


class Found(NamedTuple):
    """A page of the site, as it is to be written."""

    id: str
    title: str
    parent: str | None
    version: Any
    source: Any
    tags: Mapping[str, list[str]]
    fields: Mapping[str, Any]


def file_name(title: str, id: str) -> str:
    """A name for a file or a directory out of a title, on every system; without an ending."""
    words = _UNSAFE.sub("-", unicodedata.normalize("NFC", title)).strip("-_").lower()[:_LONGEST].strip("-_")
    while len(words.encode()) > _MOST_BYTES:
        words = words[:-1]
    if not words:
        return f"page-{_UNSAFE.sub('-', id)}"
    return f"page-{words}" if _RESERVED.fullmatch(words) else words


class PagesPull:
    """One run. `root` is the directory, `target` says which pages."""

    def __init__(
        self,
        dispatcher: StepDispatcher,
        resource: str,
        root: str,
        settings: FolderSettings,
        target: PageTarget,
        lock: Lock,
    ) -> None:
        self.things = Things(dispatcher, resource)
        self.bases = Bases(dispatcher, self.things)
        self._nodes = dispatcher.context.rich_text
        self._dispatcher, self._settings, self._target, self._lock = dispatcher, settings, target, lock
        self.root = os.path.realpath(root)
        self._body = self.things.definition["body"]["field"]
        self._reader = PlaceReader()
        self.notes: list[str] = []

    def pull_pages(self, *, dry: bool) -> Iterator[Pulled]:
        """One row for each page that is written or in conflict."""
        is_new = not os.path.lexists(self.root)
        here = Folder(self.root, self._settings, (), ()) if is_new else read_folder(self.root, self._settings)
        pulled = self._lock.applied_entries(self.things.resource)
        known = latest_applied(self.bases.all_bases(self._target.parents), pulled)
        known = {id: base for id, base in known.items() if base.root == self._target.directory_key}
        found = self._find_pages()
        local = {page.id: page for page in here.pages if page.id is not None}
        by_path = {page.path: page for page in here.pages}
        for id, base in known.items():
            if id in found and id not in local and (page := by_path.get(base.path)) is not None:
                local[id] = page
        paths = self._file_paths(found, local)
        titles = {page.title: id for id, page in found.items()}
        done: dict[str, str] = {}  # path → id
        for id, wanted in found.items():
            row = self._pull_page(wanted, paths, titles, local.get(id), known.get(id), here, dry=dry)
            if row.conflict is None and row.change != "keep":
                done[paths[id]] = id
            if row.conflict is not None or row.change != "keep":
                yield row
        for id, base in pulled.items():
            if id not in found and base.path in by_path:
                yield Pulled("keep", base.path, by_path[base.path].title, id, "its page is gone from the site")
        if done and not dry:
            self._remember_bases(found, paths, done)

    # What is there

    def _find_pages(self) -> dict[str, Found]:
        """Parents first."""
        tags = self.bases.tags
        every: dict[str, Found] = {}
        for thing in self.things.list_things(self._target.parents):
            page = self._found_page(thing, tags)
            every[page.id] = page
        return {id: every[id] for id in self._wanted_ids(every)}

    def _found_page(self, thing: Thing, tags: Mapping[str, Mapping[str, list[str]]]) -> Found:
        id = self.things.id_of(thing)
        fields = self.things.fields_of(thing)
        parent = self.things.parents_of(thing).get(self.things.resource)
        source = fields.pop(self._body) or ""
        title = self.things.name_of(thing) or ""
        fields |= self.bases.parts.get(id, {})
        return Found(id, title, parent, self.things.version_of(thing), source, tags.get(id, {}), fields)

    def _wanted_ids(self, every: Mapping[str, Found]) -> Iterator[str]:
        """The ids of the pages that are wanted: all, or those below the root."""
        children: dict[str | None, list[str]] = {}
        for id, page in every.items():
            above = page.parent if page.parent in every else None
            children.setdefault(above, []).append(id)
        pending = [*reversed(children.get(self._target.root, []))]
        while pending:
            id = pending.pop()
            yield id
            pending += reversed(children.get(id, []))

    def _file_paths(self, found: Mapping[str, Found], local: Mapping[str, FolderPage]) -> dict[str, str]:
        """Id → path of its file. A file that is there already stays where it is."""
        is_parent = {page.parent for page in found.values()}
        paths: dict[str, str] = {}
        taken = {page.path.casefold() for page in local.values()}
        directories: dict[str, str] = {}
        for id, page in found.items():
            if id in local and local[id].file:
                path = local[id].path
                directories[id] = _directory_of(path)
            else:
                above = directories.get(page.parent or "", "")
                name = file_name(page.title, id)
                path = f"{above}{name}/index.md" if id in is_parent else f"{above}{name}.md"
                if path.casefold() in taken or self._is_there(path):
                    name = f"{name}-{_UNSAFE.sub('-', id)}"
                    path = f"{above}{name}/index.md" if id in is_parent else f"{above}{name}.md"
                directories[id] = f"{above}{name}/"
            taken.add(path.casefold())
            paths[id] = path
        return paths

    def _is_there(self, path: str) -> bool:
        whole = os.path.join(self.root, *path.split("/"))
        return os.path.lexists(whole) or (path.endswith("/index.md") and os.path.lexists(os.path.dirname(whole)))

    # One page

    def _pull_page(
        self,
        page: Found,
        paths: Mapping[str, str],
        titles: Mapping[str, str],
        there: FolderPage | None,
        known: Applied | None,
        here: Folder,
        *,
        dry: bool,
    ) -> Pulled:
        path = paths[page.id]
        row = Pulled("create" if there is None else "update", path, page.title, page.id)
        if there is not None:
            if known is None or known.version == page.version:
                return row._replace(change="keep")
            files = {file.name: file.sha256 for file in there.files}
            if known.body != hash_of(applied_text(here, there)) or files != dict(known.files):
                return row._replace(change="keep", conflict="changed here and on the site: apply puts both together")
        if dry:
            return row
        try:
            text = self._page_markdown(page, paths, titles)
            self._write_file(path, self._front_matter(page, there) + text)
        except CallsheetError as error:
            if meets_every_request(error):
                raise
            return row._replace(conflict=error.message)
        return row

    def _front_matter(self, page: Found, there: FolderPage | None) -> str:
        """What stands above the text. Of a file that is there it stays where it says more than a pull writes there."""
        if there is not None and there.file:
            whole = text_of(there.file)[0]
            if there.id is None or not split_front_matter(whole)[0].keys() <= {
                "page-id",
                "title",
                *_tags_of(self.things),
                *self.things.parts,
            }:
                return whole[: len(whole) - len(there.body)]
        lines = ["---", f"page-id: {dumps(page.id)}"]
        is_plain = bool(PLAIN.fullmatch(page.title)) and page.title == page.title.strip(" #")
        if not is_plain:
            lines.append(f"title: {dumps(page.title)}")
        lines += [f"{name}: {dumps(words, ensure_ascii=False)}" for name, words in page.tags.items() if words]
        lines += [f"{name}: {dumps(said, ensure_ascii=False)}" for name, said in self._said_parts(page)]
        heading = f"# {page.title}\n\n" if is_plain else ""
        return "\n".join([*lines, "---", "", heading])

    def _said_parts(self, page: Found) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, of in self.things.parts.items():
            said = {field: of.words_of_field(field, value) for field, value in page.fields.get(name, {}).items()}
            if said := {field: words for field, words in said.items() if words}:
                yield name, said

    def _page_markdown(self, page: Found, paths: Mapping[str, str], titles: Mapping[str, str]) -> str:
        """The text of a page, with the links and files that it has here."""
        if not page.source:
            return ""
        text = Editing(page.source, self.things.body_format or "", self._nodes).markdown()
        changes: list[tuple[int, int, str]] = []
        files: dict[str, tuple[str, str]] = {}
        for address in self._reader.find_places(text).addresses:
            words = self._local_address(address, page, paths, titles, files)
            if words is not None:
                changes.append((address.start, address.end, words))
        if files:
            self._save_files(page, paths[page.id], files.values())
        return replace_ranges(text, changes).rstrip("\n") + "\n"

    def _local_address(
        self,
        address: Address,
        page: Found,
        paths: Mapping[str, str],
        titles: Mapping[str, str],
        files: dict[str, tuple[str, str]],
    ) -> str | None:
        """The address that leads to the same in the directory; None for one that stays."""
        given = address.address
        if given.startswith(_PAGE):
            title, _, anchor = given.removeprefix(_PAGE).partition("#")
            id = titles.get(unquote(title))
            if id is None:
                return None
            where = os.path.relpath("/" + paths[id], "/" + os.path.dirname(paths[page.id])).replace(os.sep, "/")
            return quote(where) + (f"#{anchor}" if anchor else "")
        is_file = given.startswith(_ATTACHMENT)
        if not is_file and not (address.image and "/" not in given and ":" not in given):
            return None
        name = unquote(given.removeprefix(_ATTACHMENT))
        safe = _attached_name(name)
        if files.setdefault(safe.casefold(), (safe, name)) != (safe, name):  # some systems have one file of both
            return None
        where = f"{posixpath.basename(_files_of(paths[page.id]))}/{safe}"
        return quote(where)

    # Files

    def _save_files(self, page: Found, path: str, files: Iterable[tuple[str, str]]) -> None:
        """The attached files that the text shows, beside it; one that is missing is told."""
        resource = self.things.file_resource
        if resource is None:
            return
        attached = Things(self._dispatcher, resource)
        parents = {self.things.resource: page.id}
        there = {attached.name_of(each): each for each in attached.list_things(parents)}
        for safe, name in files:
            if name not in there:
                self.notes.append(f"{path}: {name!r} is not attached to the page")
                continue
            target = self._path_in_directory(f"{_files_of(path)}/{safe}")
            attached.save_file(there[name], target, parents)

    def _write_file(self, path: str, text: str) -> None:
        with output_file(self._path_in_directory(path), named=False, mode=0o666) as file:
            file.write(text.encode("utf-8", "replace"))

    def _path_in_directory(self, path: str) -> str:
        """Where a path of the directory lies. Raises `UsageError` where a link leads out of it."""
        whole = os.path.join(self.root, *path.split("/"))
        above = os.path.dirname(whole)
        there = os.path.realpath(above)
        if os.path.commonpath([self.root, there]) != self.root:
            raise UsageError(f"{path} would be written outside of {self.root}: a link leads there")
        try:
            os.makedirs(there, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make {above}: {(error.strerror or str(error)).lower()}") from None
        target = os.path.join(there, os.path.basename(whole))
        if os.path.islink(target):
            raise UsageError(f"{path} is a symbolic link, and is not written through")
        return target

    # What is remembered

    def _remember_bases(self, found: Mapping[str, Found], paths: Mapping[str, str], done: Mapping[str, str]) -> None:
        """What the files say now that they are read again is what was pulled."""
        folder = read_folder(self.root, self._settings)
        for page in folder.pages:
            if (id := done.get(page.path)) is None:
                continue
            of = found[id]
            above = next((each.id for each in found.values() if paths[each.id] == page.parent), self._target.root)
            self._lock.put_applied(self.things.resource, id, self._applied_base(folder, page, of, above))
        for id in set(self._lock.applied_entries(self.things.resource)) - found.keys():
            self._lock.remove_entry(self.things.resource, id)
        self._lock.save_file()

    def _applied_base(self, folder: Folder, page: FolderPage, of: Found, above: str | None) -> Applied:
        """Of what the page is beside its text, what the file says: else what others did to it would be undone."""
        files = {file.name: file.sha256 for file in page.files}
        body = hash_of(applied_text(folder, page))
        tags = {name: sorted(page.fields.get(name, ())) for name in _tags_of(self.things)}
        place = self.things.field_at(self.things.definition.get("parent", {}).get(self.things.resource))
        fields = {**of.fields, self.things.name_field or "": page.title}
        if place is not None and (above is not None or page.parent is not None):
            fields[place] = above
        return Applied(page.path, self._target.directory_key, of.version, fields, tags, files, body=body)


def _tags_of(things: Things) -> list[str]:
    return list(things.definition.get("tags", {}))


def _attached_name(name: str) -> str:
    """The name of an attached file on every system: its own where that can be one."""
    if _SAFE.fullmatch(name) and not _RESERVED.fullmatch(name.partition(".")[0]) and len(name.encode()) <= _MOST_BYTES:
        safe = name
    else:
        stem, ending = os.path.splitext(name)
        safe = file_name(stem, "file") + (f".{_UNSAFE.sub('', ending)[:_LONGEST]}" if ending.strip(".") else "")
    return f"{safe}.txt" if safe.lower().endswith((".md", ".markdown")) else safe  # which would be a page


def _files_of(path: str) -> str:
    """The directory of the files of a page."""
    return path.removesuffix(".md") + _FILES


def _directory_of(path: str) -> str:
    """Where the pages below a page are written, with a slash at its end; "" for the top."""
    if is_index(path):
        above = posixpath.dirname(path)
        return f"{above}/" if above else ""
    return posixpath.splitext(path)[0] + "/"


# Things that a site has as files of TOML, which `apply` takes.


def pull_things(things: Things, parents: Mapping[str, tuple[str, str]], root: str, lock: Lock, *, dry: bool) -> Pulled:
    """One file of all things of a resource; `parents` are the id and the name of each. A file that is there stays."""
    names = [name for _, name in parents.values()]
    path = f"{file_name(' '.join([things.plural, *names]), things.resource)}.toml"
    whole = os.path.join(os.path.realpath(root), path)
    ids = {resource: id for resource, (id, _) in parents.items()}
    found = [(things.id_of(thing), _sendable_fields(things, thing)) for thing in things.list_things(ids)]
    row = Pulled("create", path, things.plural, "")
    if os.path.lexists(whole):
        return row._replace(change="keep", conflict="is there already: it is left as it is")
    if dry:
        return row
    table: dict[str, Any] = {"resource": things.resource}
    table |= {resource: name for resource, (_, name) in parents.items()}
    named = [fields if _thing_name(things, fields) is not None else {"id": id, **fields} for id, fields in found]
    table["things"] = named
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with output_file(whole, named=False, mode=0o666) as file:
        file.write(tomlkit.dumps(table).encode("utf-8", "replace"))
    for number, (id, fields) in enumerate(found):
        name = _thing_name(things, fields)
        key = f"{path}#{name if name is not None else number}"
        lock.put_applied(things.resource, id, Applied(key, fields=fields, parents=ids))
    lock.save_file()
    return row


def _sendable_fields(things: Things, thing: Thing) -> dict[str, Any]:
    """The fields that a thing has and that can be sent back; TOML has no word for nothing."""
    fields = things.fields_of(thing)
    return {name: _without_nothing(value) for name, value in fields.items() if value is not None}


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_nothing(part) for key, part in value.items() if part is not None}
    return [_without_nothing(part) for part in value if part is not None] if isinstance(value, list) else value


def _thing_name(things: Things, fields: Mapping[str, Any]) -> Any:
    return fields.get(things.name_field) if things.name_field else None
