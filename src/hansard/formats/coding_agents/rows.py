"""Sessions that agents keep in SQLite: the rows of one session as lines of JSON, and lines as a database again.

    {"rows": "opencode", "session": ID, "keys": {...}, "schema": [...], "copied": {...}}
                                                the session; how its tables are made; small tables copied whole
    {"renewed": "opencode", ...}                the same again, after the agent changed its tables
    {"fork": ID}                                the session that this one is a copy of
    {"table": "part", "row": {...}}             a row; a later one with the same primary key replaces it
    {"table": "part", "gone": ["prt_1"]}        a row that was deleted
    {"file": "message/ses_1/msg_1.json", ...}   a file, where an older release has files in place of rows

Only tables that a `Tables` names are read: others hold credentials. The lines are what a ledger keeps of a session:
they only grow (`grown`), and `database` makes a database of them whose rows are equal, value for value. No I/O: a
database is bytes that are deserialised in memory, or a connection to a copy.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.errors import Unreadable
from hansard.formats.coding_agents.scanner import Scanner
from hansard.model.exact_json import decode_record

if TYPE_CHECKING:
    import apsw

MAGIC = b"SQLite format 3\x00"
Row = dict[str, Any]
Key = tuple[Any, ...]
_ENCODER = msgspec.json.Encoder(decimal_format="number")


class Tables(Struct, frozen=True, kw_only=True):
    """The tables of an agent that hold its sessions.

    `sessions` has a row per session with the columns `key` and `parent` (or `started`, a statement that gives each
    session with the one that started it); `owned` names the column by which a table's
    rows belong to a session, `shared` the column of a session's row and that of the table it points to, `copied` small
    tables without which the program does not take the database for its own. Rows of `unread` tables are kept, and say
    nothing that the others do not. `needed` are columns without which the database is of another release.
    """

    name: str
    title: str
    sessions: str
    key: str
    parent: str | None = None
    started: str | None = None
    owned: dict[str, str]
    shared: dict[str, tuple[str, str]] = {}
    copied: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()
    needed: dict[str, tuple[str, ...]] = {}
    nested: dict[str, tuple[str, str]] = {}  # a table whose rows precede the row of another that they name
    sorted_by: dict[str, str] = {}
    forks: tuple[str, str] | None = None  # statements: when session ?1 was last copied from; the session that has ?2
    order: str = "rowid"  # of sessions


# -- a database ------------------------------------------------------------------------------------------------------


def connect(data: bytes) -> apsw.Connection:
    """A database in memory with these bytes; one that was in WAL mode too, without what only its WAL has."""
    import apsw

    if data[18:20] == b"\x02\x02":
        data = data[:18] + b"\x01\x01" + data[20:]
    connection = apsw.Connection(":memory:")
    try:
        connection.deserialize("main", data)
        connection.execute("select count(*) from sqlite_master").fetchall()
    except apsw.Error as error:
        raise unreadable(error) from None
    return connection


def unreadable(error: Exception) -> Unreadable:
    """The error for a database that SQLite cannot read."""
    return Unreadable(f"the SQLite database cannot be read: {error}", way_out="check it with `sqlite3 FILE .recover`")


class Database:
    """The sessions in a database, by the tables of one agent."""

    def __init__(self, connection: apsw.Connection, tables: Tables) -> None:
        import apsw

        self._connection, self.tables = connection, tables
        self._started: dict[Any, Any] | None = None
        self._children: dict[Any, list[Any]] | None = None
        try:
            self._look()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise unreadable(error) from None

    def _look(self) -> None:
        made = self._all("select type, name, sql, rootpage from sqlite_master where sql is not null order by rowid")
        shadows = {
            row[1] for row in self._all("pragma table_list") if row[2] == "shadow" or row[1].startswith("sqlite_")
        }
        made = [row for row in made if row[1] not in shadows]  # SQLite makes them itself
        self._schema = [[kind, sql] for kind, name, sql, page in made if kind != "table" or page]
        there = {name for kind, name, _, page in made if kind == "table" and page}
        tables = self.tables
        wanted = [*tables.shared, tables.sessions, *tables.owned, *tables.nested]
        self._columns: dict[str, list[str]] = {}
        self._keys: dict[str, list[str]] = {}
        for table in [one for one in dict.fromkeys([*wanted, *tables.copied]) if one in there]:
            info = self._all(f"pragma table_info({_quoted(table)})")
            self._columns[table] = [row[1] for row in info]
            keyed = sorted((row[5], row[1]) for row in info if row[5])
            self._keys[table] = [name for _, name in keyed] or self._columns[table]
        for table, columns in {tables.sessions: (tables.key,), **tables.needed}.items():
            for column in columns:
                if column not in self._columns.get(table, ()):
                    what = f"no table {table}" if table not in self._columns else f"no column {table}.{column}"
                    raise Unreadable(
                        f"a database of {tables.title} of a release that is not known here: {what}",
                        way_out="start the agent once, so that it brings the database up to date, or update hansard",
                    )

    def _all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(sql, values))

    def roots(self) -> list[str]:
        """The ids of the sessions that no other session started, oldest first."""
        import apsw

        try:
            found = self._all(
                f"select {_quoted(self.tables.key)} from {self.tables.sessions} order by {self.tables.order}"
            )
            parents = self._parents()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise unreadable(error) from None
        roots = [key for (key,) in found if parents.get(key) not in parents]
        below = {one for key in roots for one in self._family(key)}
        return [str(key) for (key,) in found if key not in below or parents.get(key) not in parents]

    def _parents(self) -> dict[Any, Any]:
        """Each session with the one that started it."""
        tables = self.tables
        if self._started is None:
            parent = _quoted(tables.parent) if tables.parent in self._columns[tables.sessions] else "null"
            usual = f"select {_quoted(tables.key)}, {parent} from {_quoted(tables.sessions)} order by rowid"
            self._started = dict(self._all(tables.started or usual))
        return self._started

    def _family(self, session: Any) -> list[Any]:
        """A session and those that it started, and so on."""
        if self._children is None:
            self._children = {}
            for key, parent in self._parents().items():
                self._children.setdefault(parent, []).append(key)
        family = [session]
        known = {session}
        for one in family:  # grows meanwhile
            new = [key for key in self._children.get(one, ()) if key not in known]
            family += new
            known.update(new)
        return family

    def newest(self) -> list[str]:
        """For each row that sessions share, the newest session that points to it."""
        own, table = _quoted(self.tables.key), _quoted(self.tables.sessions)
        last: dict[Key, str] = {}
        for pointer in dict.fromkeys(pointer for pointer, _ in self.tables.shared.values()):
            for key, found in self._all(f"select {own}, {_quoted(pointer)} from {table} order by {self.tables.order}"):
                last[pointer, found] = str(key)
        return list(last.values())

    def lines(self, session: str) -> Iterator[bytes]:
        """The rows of a session and of those that it started, as lines."""
        import apsw

        try:
            yield from self._lines(session)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise unreadable(error) from None

    def _lines(self, session: str) -> Iterator[bytes]:
        tables, table = self.tables, self.tables.sessions
        copied = {one: [_kept(row) for row in self._rows(one)] for one in tables.copied if one in self._columns}
        head = {"rows": tables.name, "session": session, "keys": self._keys, "schema": self._schema, "copied": copied}
        yield _line(head)
        if tables.forks is not None and (moment := self._all(tables.forks[0], session)) and moment[0][0] is not None:
            for (origin,) in self._all(tables.forks[1], session, moment[0][0]):
                yield _line({"fork": origin})
        family = self._family(session)
        rows = [row for one in family for row in self._rows(table, tables.key, one)]
        for shared, (pointer, column) in tables.shared.items():
            if shared in self._columns:
                pointed = dict.fromkeys(row.get(pointer) for row in rows if row.get(pointer) is not None)
                for value in pointed:
                    yield from self._encoded(shared, self._rows(shared, column, value))
        yield from self._encoded(table, rows)
        for owned, column in tables.owned.items():
            if owned in self._columns:
                for one in family:
                    yield from self._owned(owned, column, one)

    def _owned(self, table: str, column: str, session: str) -> Iterator[bytes]:
        nested = {inner: by for inner, (outer, by) in self.tables.nested.items() if outer == table}
        inside = {inner: self._grouped(inner, column, session, by) for inner, by in nested.items()}
        for row in self._rows(table, column, session):
            for inner, found in inside.items():
                yield from self._encoded(inner, found.pop(row.get(self._keys[table][0]), ()))
            yield from self._encoded(table, (row,))
        for inner, found in inside.items():
            for rows in found.values():
                yield from self._encoded(inner, rows)

    def _grouped(self, table: str, column: str, session: str, by: str) -> dict[Any, list[Row]]:
        groups: dict[Any, list[Row]] = {}
        for row in self._rows(table, column, session) if table in self._columns else ():
            groups.setdefault(row.get(by), []).append(row)
        return groups

    def _rows(self, table: str, column: str | None = None, value: Any = None) -> Iterator[Row]:
        columns = self._columns[table]
        listed = ", ".join(map(_quoted, columns))
        which = "" if column is None else f"where {_quoted(column)} = ?"
        order = self.tables.sorted_by.get(table) or ", ".join(map(_quoted, self._keys[table]))
        sql = f"select {listed} from {_quoted(table)} {which} order by {order}"
        values = () if column is None else (value,)
        try:
            found = list(self._connection.execute(sql, values))
        except UnicodeDecodeError:  # a text that is not UTF-8
            cast = ", ".join(f"typeof({_quoted(one)}), cast({_quoted(one)} as blob), {_number(one)}" for one in columns)
            raw = self._connection.execute(sql.replace(listed, cast, 1), values)
            found = [tuple(_decoded(*row[i : i + 3]) for i in range(0, len(row), 3)) for row in raw]
        for row in found:
            yield dict(zip(columns, row, strict=True))

    def _encoded(self, table: str, rows: Iterable[Row]) -> Iterator[bytes]:
        for row in rows:
            for value in row.values():
                if type(value) not in _PLAIN:
                    row = _kept(row)
                    break
            yield _ENCODER.encode({"table": table, "row": row}) + b"\n"


_PLAIN = frozenset({str, int, type(None)})


def _number(column: str) -> str:
    name = _quoted(column)
    return f"case when typeof({name}) in ('integer', 'real') then {name} end"


def _decoded(kind: str, data: bytes | None, number: Any) -> Any:
    if kind in ("integer", "real", "null"):
        return number
    if kind == "blob":
        return data or b""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        return _Text(data or b"")


class _Text(bytes):
    """A text of a database that is not UTF-8."""


def _kept(row: Row) -> Row:
    """A row with values that JSON has not spelled out."""
    return {column: _spelled(value) for column, value in row.items()}


def _spelled(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$text" if type(value) is _Text else "$blob": base64.b64encode(value).decode()}
    if type(value) is float and (value - value != 0):
        return {"$real": repr(value)}
    return value


def value_of(kept: Any) -> Any:
    """The value of a column that a line spells out."""
    if type(kept) is not dict:
        return float(kept) if type(kept).__name__ == "Decimal" else kept
    kind, text = next(iter(kept.items()))
    if kind == "$real":
        return float(text)
    return base64.b64decode(text)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def header_line(name: str, session: str) -> bytes:
    """The header of a session that is kept as files."""
    return _line({"rows": name, "session": session})


def file_line(name: str, data: bytes) -> bytes:
    """A file of an older release as a line."""
    try:
        return _line({"file": name, "text": data.decode()})
    except UnicodeDecodeError:
        return _line({"file": name, "data": base64.b64encode(data).decode()})


def _line(value: Any) -> bytes:
    return _ENCODER.encode(value) + b"\n"


# -- lines -----------------------------------------------------------------------------------------------------------


class Kept:
    """What lines say: the last state of every row and file of a session."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {}
        self.fork: str | None = None
        self.rows: dict[tuple[str, Key], Row] = {}
        self.files: dict[str, Any] = {}

    @staticmethod
    def of(text: bytes) -> Kept:
        """The state after all of these lines."""
        kept = Kept()
        for line in text.split(b"\n"):
            if line:
                kept.take(msgspec.json.decode(line))
        return kept

    def take(self, value: Any) -> bool:
        """Take one line; False if it is none."""
        if type(value) is not dict:
            return False
        if type(value.get("rows")) is str:
            self.header = value
        elif type(value.get("renewed")) is str:
            self.header = {"rows": value["renewed"], **{key: one for key, one in value.items() if key != "renewed"}}
        elif type(value.get("file")) is str:
            if value.get("gone") is True:
                self.files.pop(value["file"], None)
            else:
                self.files[value["file"]] = value
        elif type(value.get("fork")) is str:
            self.fork = value["fork"]
        elif type(value.get("table")) is str and type(value.get("row")) is dict:
            row = value["row"]
            self.rows[value["table"], self._key(value["table"], row)] = row
        elif type(value.get("table")) is str and type(value.get("gone")) is list:
            self.rows.pop((value["table"], tuple(map(_hashable, value["gone"]))), None)
        else:
            return False
        return True

    def _key(self, table: str, row: Row) -> Key:
        keys = self.header.get("keys")
        columns = keys.get(table) if type(keys) is dict else None
        if type(columns) is not list or not all(type(one) is str for one in columns):
            columns = sorted(row)
        return tuple(_hashable(row.get(one)) for one in columns)

    def content(self) -> dict[str, bytes]:
        """The files, by name."""
        return {
            name: str(file["text"]).encode() if "text" in file else base64.b64decode(str(file.get("data", "")))
            for name, file in self.files.items()
        }

    def table(self, name: str) -> list[Row]:
        """The rows of a table."""
        return [row for (table, _), row in self.rows.items() if table == name]


def _hashable(value: Any) -> Any:
    return (_ENCODER.encode(value),) if type(value) in (dict, list) else value


def grown(text: bytes, fresh: bytes, carried: frozenset[str] = frozenset()) -> bytes:
    """The kept lines with what is new or different in a session that was read again.

    Rows of `carried` tables (of a project, which changes whenever the agent starts) are taken only with other changes.
    """
    old, now = Kept.of(text), Kept.of(fresh)
    new: list[bytes] = []
    also: list[bytes] = [] if old.header == now.header else [_renewed(now.header)]
    if now.fork is not None and now.fork != old.fork:
        new.append(_line({"fork": now.fork}))
    for (table, key), row in now.rows.items():
        if old.rows.get((table, key)) != row:
            (also if table in carried else new).append(_line({"table": table, "row": row}))
    for table, key in [one for one in old.rows if one not in now.rows]:
        (also if table in carried else new).append(_line({"table": table, "gone": list(map(_back, key))}))
    new += [_line(file) for name, file in now.files.items() if old.files.get(name) != file]
    new += [_line({"file": name, "gone": True}) for name in old.files if name not in now.files]
    return text + b"".join([*also, *new]) if new else text


def _renewed(header: dict[str, Any]) -> bytes:
    return _line({"renewed": header.get("rows", ""), **{key: one for key, one in header.items() if key != "rows"}})


def _back(value: Any) -> Any:
    return msgspec.json.decode(value[0]) if type(value) is tuple else value


def database(texts: Iterable[bytes]) -> bytes:
    """One database with the rows of these sessions; of a row that several have, the one that changed last."""
    import apsw

    header: dict[str, Any] = {}
    rows: dict[str, dict[Key, Row]] = {}
    for text in texts:
        kept = Kept.of(text)
        if _age(kept.header) >= _age(header):
            header = kept.header
        for (table, key), row in kept.rows.items():
            there = rows.setdefault(table, {})
            if key not in there or _changed(row) >= _changed(there[key]):
                there[key] = row
    if not header.get("schema"):
        raise Unreadable("these sessions are files, not rows of a database", way_out="export them with --all -o FOLDER")
    connection = apsw.Connection(":memory:")
    made = [(kind, sql) for kind, sql in header["schema"] if re.match(r"(?i)create\s+(?!virtual)", sql)]
    connection.execute("pragma ignore_check_constraints = on")  # rows may be older than the checks
    connection.execute("begin")
    for _, sql in (one for one in made if one[0] == "table"):
        connection.execute(sql)
    for table, listed in header.get("copied", {}).items():
        _insert(connection, table, listed)
    for table, found in rows.items():
        _insert(connection, table, list(found.values()))
    for _, sql in (one for one in made if one[0] != "table"):
        connection.execute(sql)
    connection.execute("commit")
    data: bytes = connection.serialize("main")
    connection.close()
    return data


def insert(connection: apsw.Connection, text: bytes) -> None:
    """Add the rows of a session to an open database; rows that are there stay."""
    kept = Kept.of(text)
    for table in dict.fromkeys(table for table, _ in kept.rows):
        there = {row[1] for row in connection.execute(f"pragma table_info({_quoted(table)})")}
        rows = [{column: value for column, value in row.items() if column in there} for row in kept.table(table)]
        _insert(connection, table, rows, "or ignore")


def _insert(connection: apsw.Connection, table: str, rows: list[Row], how: str = "") -> None:
    shapes: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        shapes.setdefault(tuple(row), []).append(tuple(map(value_of, row.values())))
    for columns, values in shapes.items():
        names = ", ".join(map(_quoted, columns))
        marks = ", ".join("cast(? as text)" if _is_text(rows, one) else "?" for one in columns)
        connection.executemany(f"insert {how} into {_quoted(table)} ({names}) values ({marks})", values)


def _is_text(rows: list[Row], column: str) -> bool:
    """Whether a column has texts that are not UTF-8, which are given as bytes."""
    return any(type(row.get(column)) is dict and "$text" in row[column] for row in rows)


def _age(header: dict[str, Any]) -> int:
    copied = header.get("copied")
    return sum(map(len, copied.values())) + 1 if type(copied) is dict else 0 if not header else 1


def _changed(row: Row) -> Any:
    time = row.get("time_updated", row.get("updated_at"))
    return time if type(time) is int else 0


def split(document: bytes, tables: Tables) -> list[bytes]:
    """The lines of each session in a database, or in lines of several."""
    if document.startswith(MAGIC):
        found = Database(connect(document), tables)
        return [b"".join(found.lines(key)) for key in found.roots()]
    cuts = [match.start() for match in re.finditer(rb'^\{"rows":', document, re.MULTILINE)]
    if len(cuts) < 2:
        return [document]
    nothing = header_line(tables.name, "")
    pieces = [document[a:b] for a, b in zip([0, *cuts[1:]], [*cuts[1:], len(document)], strict=True)]
    return [b"" if piece == nothing else piece for piece in pieces]


def join(documents: list[bytes], tables: Tables) -> bytes:
    """The lines of several sessions as one document."""
    return b"".join(document or header_line(tables.name, "") for document in documents)


def is_record(value: Any) -> bool:
    """Whether an object is a line, not part of one."""
    return type(value) is dict and any(
        type(value.get(one)) is str for one in ("rows", "renewed", "table", "file", "fork")
    )


UNREAD = {"table": "", "unread": True}  # a row that is only kept


def decoder(tables: Tables) -> Any:
    """A decoder of lines that does not look into rows that are only kept."""
    starts = tuple(_ENCODER.encode({"table": one, "row": {}})[:-2] for one in sorted(tables.unread))

    def decode(raw: bytes) -> Any:
        return UNREAD if starts and raw.startswith(starts) else decode_record(raw)

    return decode


def sniff(document: Any, name: str, marks: tuple[bytes, ...]) -> int:
    """Lines of this agent are certain; so is a database with its tables, named by `marks`."""
    if type(document) is bytes:
        if document.startswith(MAGIC):
            return 3 if all(mark in document for mark in marks) else 0
        return 3 if document.startswith(b'{"rows":"%s",' % name.encode()) else 0
    first = document[0] if type(document) is list and document else document
    return 3 if type(first) is dict and first.get("rows") == name and "session" in first else 0


class RowScanner(Scanner):
    """A scanner of lines whose length has no limit but that of a value in SQLite."""

    def __init__(self, decode: Any, whole: Any) -> None:
        super().__init__(decode, whole, 1 << 30)
