"""The checks of the project itself: lint, format, types, import contract, lock file."""

import ast
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def locked() -> dict[str, str]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE)
    assert len(pins) == len(dict(pins)), "a package is pinned twice"
    return dict(pins)


def test_lint() -> None:
    run(sys.executable, "-m", "ruff", "check", ".")


def test_format() -> None:
    run(sys.executable, "-m", "ruff", "format", "--check", ".")


def test_types() -> None:
    run(sys.executable, "-m", "mypy")


def test_import_contract() -> None:
    run(SCRIPTS / "lint-imports", "--no-cache")


# As Python starts a file: its folder, in which a file bears the name of a package, comes first.
START = "import runpy, sys; sys.path[0] = sys.argv[1]; runpy.run_path(sys.argv[2])"


@pytest.mark.parametrize(
    "benchmark", ["bundle.py", "campaign.py", "report.py", "resume.py", "sessions.py"]
)
def test_a_benchmark_starts(benchmark: str) -> None:
    run(sys.executable, "-c", START, ROOT / "benchmarks", ROOT / "benchmarks" / benchmark)


def test_a_benchmark_prints_one_json_object_last() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "engine.py")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]).keys() == {"ratio", "growth"}


GROUPED = """
import pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(4))
def test_it(number, worker_id):
    with open("workers", "a") as file:
        file.write(worker_id + "\\n")
"""


def test_tests_of_a_group_run_in_one_process(tmp_path: Path) -> None:
    """Where they do not, each process makes again what the tests of a group share."""
    (tmp_path / "test_grouped.py").write_text(GROUPED, encoding="utf-8")
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-n", "2"]
    run(sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", tmp_path, cwd=tmp_path)
    workers = (tmp_path / "workers").read_text(encoding="utf-8").split()
    assert (len(workers), len(set(workers))) == (4, 1)


LAYERS = "The packages stand in layers"
ROOMS = "The rooms of the orchestrator stand in layers"
RAY = "Only the actors and the command line know Ray"
ACTORS = "Only the command line knows the actors"
PURE = "The engine is pure: no clock, chance, network or database"

BREACHES = [
    ("engine/breach.py", "import time", PURE),
    ("engine/breach.py", "import random", PURE),
    ("engine/breach.py", "import asyncio", PURE),
    ("engine/breach.py", "import sqlite3", PURE),
    ("engine/breach.py", "import socket", PURE),
    ("engine/breach.py", "from urllib import request", PURE),
    ("engine/breach.py", "import http.client", PURE),
    ("engine/breach.py", "import requests", PURE),
    ("engine/breach.py", "import httpx", PURE),
    ("engine/breach.py", "import sqlalchemy", PURE),
    ("engine/breach.py", "import ray", PURE),
    ("engine/breach.py", "import ray", RAY),
    ("engine/breach.py", "import campaigns.definition", LAYERS),
    ("engine/breach.py", "import orchestrator.store", LAYERS),
    ("engine/rules/breach.py", "import time", PURE),
    ("providers/breach.py", "import ray", RAY),
    ("providers/breach.py", "import engine.state", LAYERS),
    ("manifests/breach.py", "import engine.state", LAYERS),
    ("campaigns/breach.py", "import providers.routes", LAYERS),
    ("orchestrator/breach.py", "import ray", RAY),
    ("orchestrator/breach.py", "import orchestrator.actors.host", ACTORS),
    ("orchestrator/store/breach.py", "from ray import actor", RAY),
    ("orchestrator/store/breach.py", "import orchestrator.session", ROOMS),
    ("orchestrator/session/breach.py", "import orchestrator.replay", ROOMS),
    ("orchestrator/bundle/breach.py", "import orchestrator.audit", ROOMS),
    ("orchestrator/status/breach.py", "import orchestrator.replay", ROOMS),
]


@pytest.mark.parametrize(("place", "statement", "contract"), BREACHES)
def test_import_contract_notices_a_breach(
    place: str, statement: str, contract: str, tmp_path: Path
) -> None:
    layout(tmp_path)
    (tmp_path / place).write_text(statement + "\n", encoding="utf-8")
    assert contract in broken_contracts(tmp_path)


def test_import_contract_allows_the_intended_imports(tmp_path: Path) -> None:
    layout(tmp_path)
    assert broken_contracts(tmp_path) == []


def layout(folder: Path) -> None:
    """A small tree of the five packages with every kind of import that the contract allows."""
    files = {
        "manifests/__init__.py": "",
        "manifests/errors.py": "import time\n",
        "engine/__init__.py": "",
        "engine/state.py": "import math\nimport numpy\nfrom manifests.canonical import digest\n",
        "engine/rules/__init__.py": "",
        "manifests/canonical.py": "import hashlib\n",
        "providers/__init__.py": "",
        "providers/routes.py": "import time\nimport manifests.canonical\n",
        "campaigns/__init__.py": "",
        "campaigns/definition.py": "import manifests.canonical\n",
        "orchestrator/__init__.py": "",
        "orchestrator/store/__init__.py": "import time\nimport sqlite3\nimport engine.state\n",
        "orchestrator/lifecycle.py": "",
        "orchestrator/quota/__init__.py": "import orchestrator.store\n",
        "orchestrator/session/__init__.py": "import orchestrator.quota\n",
        "orchestrator/records/__init__.py": "import orchestrator.session\n",
        "orchestrator/replay/__init__.py": "import orchestrator.records\n",
        "orchestrator/status/__init__.py": "import orchestrator.records\n",
        "orchestrator/audit/__init__.py": "import orchestrator.session\n",
        "orchestrator/bundle/__init__.py": "import orchestrator.replay\n",
        "orchestrator/doctor/__init__.py": "import orchestrator.store\n",
        "orchestrator/actors/__init__.py": "",
        "orchestrator/actors/host.py": "import ray\nimport orchestrator.store\n",
        "orchestrator/cli/__init__.py": "",
        "orchestrator/cli/main.py": "import ray\nimport orchestrator.actors.host\n",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    configuration = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(configuration, encoding="utf-8")


def broken_contracts(folder: Path) -> list[str]:
    """The names of the contracts that the copy of the project in this folder breaks."""
    program = "from importlinter.cli import lint_imports; exit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        # In front of the installed packages, so that the copies are read and not the originals.
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Contracts: " in done.stdout, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    broken = [line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")]
    assert (done.returncode != 0) == bool(broken), done.stdout + done.stderr
    return broken


def test_lock_covers_the_direct_dependencies_and_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    settings = project()["project"]
    direct = [*settings["dependencies"], *settings["optional-dependencies"]["dev"]]
    names = {re.split(r"[^A-Za-z0-9._-]", line)[0].lower() for line in direct}
    assert names <= locked().keys()
    assert "://" not in text
    assert "index-url" not in text


def test_every_locked_package_has_hashes() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for block in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block, block


def test_build_backend_is_locked() -> None:
    names = {
        re.split(r"[^A-Za-z0-9._-]", line)[0] for line in project()["build-system"]["requires"]
    }
    assert names <= locked().keys()


def test_whatever_contradicts_itself_has_a_remedy() -> None:
    """Who reads that recorded data differ is told what to do about it."""
    bare = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in sorted((ROOT / "orchestrator").rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "IntegrityError"
        and len(call.args) < 2
    ]
    assert bare == []
