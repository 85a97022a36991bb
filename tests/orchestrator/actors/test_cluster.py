"""The surroundings of a private Ray, without starting one."""

import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PREFIX = "ceo-arena-ray-"
SHOW = """
import json, os, sys
from pathlib import Path
from manifests.errors import ArenaError
from orchestrator.actors.cluster import ray_options

address = sys.argv[1] or None
try:
    with ray_options(address) as options:
        directory = Path(options.get("_temp_dir", "/nowhere"))
        token = directory / "token"
        print(json.dumps({
            "options": options,
            "environment": {name: value for name, value in os.environ.items() if "RAY" in name},
            "mode": directory.stat().st_mode if directory.exists() else None,
            "token_mode": token.stat().st_mode if token.exists() else None,
            "token": token.read_text() if token.exists() else None,
        }))
except ArenaError as error:
    print(json.dumps({"error": str(error), "code": error.exit_code}))
"""


def options(temporary: Path, address: str = "", program: str = SHOW) -> Any:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", program, address],
        env={**plain, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A short directory, as Ray wants it."""
    place = Path("/tmp") / f"t{os.getpid()}-{time.monotonic_ns() % 10**6}"
    place.mkdir()
    yield place
    for left in place.iterdir():
        for file in left.iterdir():
            file.unlink()
        left.rmdir()
    place.rmdir()


def test_a_private_ray_is_private_and_leaves_nothing(temporary: Path) -> None:
    found = options(temporary)
    directory = Path(found["options"]["_temp_dir"])
    assert directory.parent == temporary
    assert stat.S_IMODE(found["mode"]) == 0o700
    assert stat.S_IMODE(found["token_mode"]) == 0o600
    assert len(found["token"]) == 64
    assert found["options"]["address"] == "local"
    assert found["options"]["include_dashboard"] is False
    environment = found["environment"]
    assert environment["RAY_AUTH_MODE"] == "token"
    assert environment["RAY_AUTH_TOKEN_PATH"] == str(directory / "token")
    assert environment["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    assert environment["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] == "0"
    assert environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert list(temporary.iterdir()) == []
    assert options(temporary)["token"] != found["token"]


def test_the_path_stays_short_enough_for_sockets(tmp_path: Path) -> None:
    deep = tmp_path / "a-directory-with-a-long-name"
    deep.mkdir()
    directory = Path(options(deep)["options"]["_temp_dir"])
    assert directory.parent == Path("/tmp")
    assert not directory.exists()


def test_what_killed_commands_left_is_removed(temporary: Path) -> None:
    dead = temporary / f"{PREFIX}dead"
    dead.mkdir()
    (dead / "session").touch()
    options(temporary)
    assert not dead.exists()


def test_a_cluster_keeps_its_own_settings(temporary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        found = options(temporary, address)
    assert found["options"] == {"address": address}
    assert "RAY_AUTH_MODE" not in found["environment"]
    assert found["environment"]["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] == "0"
    assert options(temporary, "auto")["options"] == {"address": "auto"}


@pytest.mark.parametrize("address", ["nonsense", "ray://here:1", ":6379", "here:", "here:70000"])
def test_what_is_no_address_is_told(address: str, temporary: Path) -> None:
    found = options(temporary, address)
    assert found["code"] == 2
    assert f"{address} is not the address of a Ray cluster" in found["error"]


def test_an_address_at_which_nobody_answers_is_told(temporary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = options(temporary, f"127.0.0.1:{port}")
    assert found["code"] == 2
    assert "Nothing answers at 127.0.0.1" in found["error"]


def test_ray_must_not_be_there_before_its_environment(temporary: Path) -> None:
    program = "import sys; sys.modules['ray'] = None\n" + SHOW.replace(
        "except ArenaError as error", "except RuntimeError as error"
    ).replace("error.exit_code", "0")
    assert "imported before" in options(temporary, program=program)["error"]
