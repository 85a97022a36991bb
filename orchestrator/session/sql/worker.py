"""The process that runs a CEO's SQL, and the limits that it enforces (interface.md section 3).

It is started as a script without site packages and imports nothing of the project, so that it is
small and knows nothing: it is told a file and a statement, line by line on its standard input, and
answers each with a line. A query that floods memory or breaks SQLite ends this process, never its
host. SQLite's limit of memory holds for a whole process: this too is why it is one of its own.
"""

import json
import math
import re
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

DEFAULT_ROWS: Final = 1_000
MOST_ROWS: Final = 10_000
RESULT_BYTES: Final = 1_000_000
"""Largest result, as UTF-8 JSON."""

SQL_CHARACTERS: Final = 100_000
VALUE_BYTES: Final = 100_000
"""Largest text, blob or row that SQLite handles; it also bounds what one instruction can take."""

INSTRUCTIONS: Final = 100_000_000
"""Budget of SQLite VM instructions: about two seconds, whatever else the machine does."""

CPU_SECONDS: Final = 4.0
"""Processor time of this process after which a query ends although it has instructions left: only
statements whose single instructions are dear get here. Unlike a clock on the wall, it does not run
while others have the processor."""

MEMORY_BYTES: Final = 64 * 1024 * 1024
"""What SQLite may allocate for a query."""

_PROCESS_BYTES: Final = 512 * 1024 * 1024
_STEP: Final = 250

_SQLITE_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 4 * SQL_CHARACTERS,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

# Values in, value out: nothing that knows the time, chance, files, or the version of SQLite.
_FUNCTION_NAMES: Final = """
-> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat
concat_ws cos cosh count cume_dist degrees dense_rank exp first_value floor format glob
group_concat hex if ifnull iif instr json json_array json_array_length json_each
json_error_position json_extract json_group_array json_group_object json_insert json_object
json_patch json_pretty json_quote json_remove json_replace json_set json_tree json_type
json_valid lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max
median min mod nth_value ntile nullif octet_length percent_rank percentile percentile_cont
percentile_disc pi pow power printf quote radians rank replace round row_number rtrim sign sin
sinh sqrt string_agg substr substring sum tan tanh total trim trunc typeof unhex unicode
unistr unistr_quote unlikely upper zeroblob
"""
_FUNCTIONS: Final = frozenset(_FUNCTION_NAMES.split())

# Results that tell of a broken file, not of a wrong statement.
_FILE_FAULTS: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOTADB,
    }
)

_SCHEMA_TABLES: Final = frozenset({"sqlite_master", "sqlite_schema"})
_TABLE_FUNCTIONS: Final = frozenset({"json_each", "json_tree"})

_ACTION_NAMES: Final = """
CREATE_INDEX CREATE_TABLE CREATE_TEMP_INDEX CREATE_TEMP_TABLE CREATE_TEMP_TRIGGER
CREATE_TEMP_VIEW CREATE_TRIGGER CREATE_VIEW DELETE DROP_INDEX DROP_TABLE DROP_TEMP_INDEX
DROP_TEMP_TABLE DROP_TEMP_TRIGGER DROP_TEMP_VIEW DROP_TRIGGER DROP_VIEW INSERT PRAGMA
TRANSACTION UPDATE ATTACH DETACH ALTER_TABLE REINDEX ANALYZE CREATE_VTABLE DROP_VTABLE SAVEPOINT
"""
_ACTIONS: Final = {
    getattr(sqlite3, f"SQLITE_{name}"): name.replace("_", " ") for name in _ACTION_NAMES.split()
}


class Guard:
    """SQLite's authorizer: what a statement may do is listed, everything else is refused."""

    def __init__(self, tables: Iterable[str], modules: Iterable[str]) -> None:
        self._tables = frozenset(tables) | _SCHEMA_TABLES | _TABLE_FUNCTIONS
        self._modules = frozenset(modules) - _TABLE_FUNCTIONS
        self.refusal = ""
        """Why a statement was refused; empty when none was."""

    def __call__(
        self, action: int, first: str | None, second: str | None, _schema: object, _inner: object
    ) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            return self._read((first or "").lower(), second or "")
        if action == sqlite3.SQLITE_FUNCTION:
            if (second or "").lower() in _FUNCTIONS:
                return sqlite3.SQLITE_OK
            return self._refuse(
                f"the function {second} is not available: results may depend on the tables alone, "
                "not on time, chance, files or the version of SQLite"
            )
        if first in _SCHEMA_TABLES:
            # Virtual tables announce themselves this way, too.
            return self._refuse("only the private tables can be read, and nothing can be changed")
        name = _ACTIONS.get(action, f"action {action}")
        return self._refuse(f"{name} is not allowed: the tables can only be read")

    def _read(self, table: str, column: str) -> int:
        if table in self._tables:
            return sqlite3.SQLITE_OK
        # Counting rows reads no column, and names common table expressions like tables.
        special = table in self._modules or table.startswith(("sqlite_", "pragma_"))
        if not column and not special:
            return sqlite3.SQLITE_OK
        return self._refuse(f"{table} cannot be read; the schema of the tables is in sqlite_schema")

    def _refuse(self, reason: str) -> int:
        self.refusal = self.refusal or reason
        return sqlite3.SQLITE_DENY


class Meter:
    """SQLite's progress handler: ends a query that has used up its instructions or its time."""

    def __init__(self) -> None:
        self._left = INSTRUCTIONS // _STEP
        self._end = time.process_time() + CPU_SECONDS
        self.limit = ""
        """What ended the query; empty while none did."""

    def __call__(self) -> int:
        self._left -= 1
        if self._left < 0:
            self.limit = "instructions"
        elif time.process_time() > self._end:
            self.limit = "time"
        return 1 if self.limit else 0


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run one request; the answer is a result, a refusal for the CEO, or a fault of the store."""
    sql, parameters = request["sql"], request["parameters"]
    word = first_word(sql)
    if word not in ("SELECT", "WITH"):
        begins = f"this begins with {word!r}" if word else "this is empty"
        return refused(
            f"Only one SELECT or WITH statement can be run; {begins}. The tables and their columns "
            "are listed by SELECT name, sql FROM sqlite_schema."
        )
    try:
        with closing(connect(Path(request["path"]))) as connection:
            tables, modules = _names(connection)
            guard, meter = Guard(tables, modules), Meter()
            connection.set_authorizer(guard)
            connection.set_progress_handler(meter, _STEP)
            try:
                return _result(connection.execute(sql, parameters), request["row_limit"])
            except MemoryError:
                return interrupted("memory")
            except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
                if meter.limit:
                    return interrupted(meter.limit)
                if guard.refusal:
                    return refused(f"Refused: {guard.refusal}.")
                if _code(error) == sqlite3.SQLITE_IOERR_NOMEM:
                    return interrupted("memory")
                if _code(error) & 0xFF in _FILE_FAULTS:
                    raise
                connection.set_authorizer(None)
                return refused(_explained(connection, tables, sql, error))
    except (sqlite3.Error, OSError) as error:
        return {"kind": "fault", "text": f"{request['path']}: {error}"}


def refused(text: str, limit: str = "") -> dict[str, Any]:
    return {"kind": "refused", "text": text, "limit": limit}


def interrupted(limit: str) -> dict[str, Any]:
    """The same words for instructions and time, so that the clock leaves no trace in them."""
    reasons = {
        "memory": f"it needed more than {MEMORY_BYTES // 1024**2} MiB of memory",
        "process": "it ended the process that ran it",
    }
    reason = reasons.get(limit, "it used up its two seconds of execution")
    return refused(
        f"Interrupted: {reason}. No rows are returned. Join on keys, filter earlier, or aggregate "
        "in steps.",
        limit,
    )


def first_word(sql: str) -> str:
    """The statement's first word in capitals, comments left out; or the first sign of another
    kind.
    """
    place, length = 0, len(sql)
    while place < length:
        if sql[place].isspace():
            place += 1
        elif sql.startswith("--", place):
            end = sql.find("\n", place)
            place = length if end < 0 else end + 1
        elif sql.startswith("/*", place):
            end = sql.find("*/", place + 2)
            place = length if end < 0 else end + 2
        else:
            break
    word = re.compile(r"[A-Za-z_]{1,40}|.|\Z", re.DOTALL).match(sql, place)
    assert word is not None
    return word.group().upper()


def connect(path: Path) -> sqlite3.Connection:
    """A connection that can only read, within the limits of SQLite itself. Raises sqlite3.Error."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    for limit, value in _SQLITE_LIMITS.items():
        connection.setlimit(limit, value)
    for setting in (
        f"hard_heap_limit = {MEMORY_BYTES}",
        "query_only = ON",
        "temp_store = MEMORY",
        "trusted_schema = OFF",
        "mmap_size = 0",
    ):
        connection.execute(f"PRAGMA {setting}").close()
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _names(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """The private tables, and the modules of virtual tables that come with SQLite."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    modules = {name for (name,) in connection.execute("SELECT lower(name) FROM pragma_module_list")}
    for name in _TABLE_FUNCTIONS & modules:
        # A virtual table declares itself at its first use, which the guard would take for a change.
        connection.execute(f"SELECT 1 FROM {name}('[]')").close()
    return [name for (name,) in tables], sorted(modules)


def _result(cursor: sqlite3.Cursor, row_limit: int) -> dict[str, Any]:
    columns = [column[0] for column in cursor.description]
    head = f'{{"columns":{_json(columns)},"rows":['
    rows: list[str] = []
    # Room for what follows the rows.
    left = RESULT_BYTES - len(head.encode()) - 300
    if left < 0:
        return refused(f"The names of the columns alone exceed {RESULT_BYTES} bytes.")
    note = ""
    for row in cursor:
        if len(rows) == row_limit:
            note = f"Cut after {row_limit} rows, the row limit; there are more."
            break
        line = _json([_shown(value) for value in row])
        left -= len(line.encode()) + 1
        if left < 0:
            note = f"Cut after {len(rows)} rows: a result holds at most {RESULT_BYTES} bytes."
            break
        rows.append(line)
    cursor.close()
    end: dict[str, Any] = {"row_count": len(rows), "cut": bool(note)}
    if note:
        end["note"] = f"{note} Filter, aggregate, or page with ORDER BY, LIMIT and OFFSET."
    text = head + ",".join(rows) + "]," + _json(end)[1:]
    return {"kind": "result", "text": text, "row_count": len(rows), "cut": bool(note)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shown(value: object) -> object:
    """A cell as JSON can hold it: blobs and infinities as text."""
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _explained(
    connection: sqlite3.Connection, tables: Sequence[str], sql: str, error: Exception
) -> str:
    """SQLite's message and, for an unknown table or column, the names that exist."""
    message = str(error)
    if isinstance(error, UnicodeError):
        # Python reads the message of SQLite as strictly as it writes a parameter.
        return "SQL error: a text that this concerns holds bytes that are not UTF-8."
    if isinstance(error, sqlite3.ProgrammingError) and "inding" in message:
        return (
            f"SQL error: {message} Give parameters one value for each placeholder: a list for ?, "
            "an object for :name."
        )
    if "no such column" in message:
        words = set(re.findall(r"[a-z_]+", sql.lower()))
        columns = [
            f"{table} ({', '.join(_columns(connection, table))})"
            for table in tables
            if table in words
        ]
        if columns:
            return f"SQL error: {message}. The columns are: {'; '.join(columns)}."
    if "no such table" in message or "no such column" in message:
        return f"SQL error: {message}. The tables are: {', '.join(tables)}."
    if "too big" in message:
        return f"SQL error: {message}; a value holds at most {VALUE_BYTES} bytes."
    return f"SQL error: {message}"


def _code(error: Exception) -> int:
    """SQLite's extended result code; 0 for an error of another kind."""
    return int(getattr(error, "sqlite_errorcode", 0))


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def main() -> None:
    """Answer the requests of standard input until it ends."""
    # An interrupt from the terminal is for the host, which then closes this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    # A second bound behind SQLite's own; not every system lets a process have it.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_PROCESS_BYTES, _PROCESS_BYTES))
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
