"""Keys that are planted as canaries, and looked for everywhere after a real launch: in the store,
decoded, in what the command printed, in Ray's logs, and in the list of processes while it ran.
"""

import json
import subprocess
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import select

from orchestrator.store.files import open_file
from orchestrator.store.schema import metadata
from tests.orchestrator.cli.commands import ceo_arena_process

IN_THE_ENVIRONMENT: Final = "canary-environment-4c1d09e7b2a85f36"
IN_A_FILE: Final = "sk-canaryfile9b7e20d4c6a1835f"
CANARIES: Final = (IN_THE_ENVIRONMENT, IN_A_FILE)


class Echo(BaseHTTPRequestHandler):
    """A service that refuses every key and, as some do, repeats it wherever it can."""

    seen: Final[list[str]] = []
    processes: Final[list[str]] = []
    logs: Final[dict[str, bytes]] = {}

    def do_POST(self) -> None:
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.seen.append(given)
        if not self.processes:
            listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, check=True)
            self.processes.append(listed.stdout.decode(errors="replace"))
            self.logs.update(ray_files())
        message = f"Incorrect API key provided: {given}. Authorization: Bearer {given}"
        body = json.dumps({"error": {"message": message, "code": "invalid_api_key"}}).encode()
        self.send_response(401, message)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", given)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def ray_files() -> dict[str, bytes]:
    """The log files of every Ray on this machine that this user may read."""
    found = {}
    for folder in Path("/tmp").glob("ceo-arena-ray-*"):
        for path in folder.glob("session_*/logs/**/*"):
            try:
                found[str(path)] = path.read_bytes()
            except OSError:
                continue
    return found


@contextmanager
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def campaign_file(folder: Path) -> Path:
    routes = {"by-environment": "CANARY_ONE", "by-file": "CANARY_TWO"}
    lines = ['name = "canary"\nseeds = [11]\nlineups = ["reference"]\nhorizon_days = 7']
    for seat, (candidate, variable) in enumerate(routes.items(), start=1):
        lines.append(
            f'[[candidates]]\nid = "{candidate}"\nseat = {seat}\n[candidates.route]\n'
            'protocol = "chat"\nmodel = "m"\nnative_ceiling = 4096\n'
            f'endpoint_env = "CANARY_URL"\ncredentials = ["{variable}"]'
        )
    file = folder / "canary.toml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def stored(store: Path) -> Iterator[tuple[str, bytes]]:
    """Every byte of the store: its files as they are, and every value of its tables, unpacked."""
    for path in store.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()
    for path in store.rglob("*.db"):
        database = open_file(path)
        with database.read() as connection:
            for table in metadata.sorted_tables:
                for row in connection.execute(select(table)):
                    yield f"{path.name}.{table.name}", b" ".join(map(_plain, row))
        database.close()


def _plain(value: Any) -> bytes:
    if not isinstance(value, bytes):
        return str(value).encode()
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


@pytest.mark.xdist_group("launched")
def test_no_key_is_found_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key_file = tmp_path / "key"
    key_file.write_text(IN_A_FILE + "\n", encoding="ascii")
    monkeypatch.setenv("CANARY_ONE", IN_THE_ENVIRONMENT)
    monkeypatch.setenv("CANARY_TWO_FILE", str(key_file))
    monkeypatch.setenv("CEO_ARENA_STATE", str(tmp_path / "state"))
    file, store = campaign_file(tmp_path), tmp_path / "store"
    with echo() as url:
        monkeypatch.setenv("CANARY_URL", url)
        answer = ceo_arena_process("launch", file, "--store", store, "--hosts", "1")
    assert answer.code == 1, answer.err
    assert sorted(set(Echo.seen)) == sorted(CANARIES), "both keys were used"
    assert "HTTP 401" in answer.err
    places = {
        "standard output": answer.out.encode(),
        "standard error": answer.err.encode(),
        "the process list": Echo.processes[0].encode(),
        **Echo.logs,
        **dict(everything(store, tmp_path / "state")),
    }
    assert any("session_events" in name for name in places)
    assert any("logs" in name for name in places), "Ray's logs were looked at"
    for canary in CANARIES:
        found = [name for name, content in places.items() if canary.encode() in content]
        assert found == []


def everything(store: Path, state: Path) -> Iterator[tuple[str, bytes]]:
    for number, (name, content) in enumerate(stored(store)):
        yield f"{number} {name}", content
    for path in state.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()
    for command in ("status", "windows"):
        answer = ceo_arena_process(command, "canary", "--store", store, "--json")
        yield command, (answer.out + answer.err).encode()
