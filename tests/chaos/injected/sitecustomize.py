"""Kills the process it is imported into at chosen commits, each of them once.

Python imports this module at its start when its folder is on PYTHONPATH. The directory named by
`CRASH_POINTS` has a file for every point that is to be hit, such as `commit window.before`. The
process that comes there renames the file, so that no other dies at the same point, and ends itself
by SIGKILL. Nothing is done before the store is imported.
"""

import importlib.abc
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

WATCHED = "orchestrator.store.connection"


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the watched module as others do, and installs the listeners when it is there."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != WATCHED:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _listen(Path(os.environ["CRASH_POINTS"]))

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _listen(directory: Path) -> None:
    from sqlalchemy import Engine, event
    from sqlalchemy.pool import Pool

    def about_to_commit(connection: Any) -> None:
        point = connection.get_execution_options().get("commit_point")
        if point is not None:
            _die_once(directory / f"{point}.before")
            connection.info["committing"] = point

    def returned(_raw: Any, record: Any, *_rest: Any) -> None:
        # A connection goes back to its pool right after its commit.
        point = record.info.pop("committing", None)
        if point is not None:
            _die_once(directory / f"{point}.after")

    event.listen(Engine, "commit", about_to_commit)
    event.listen(Pool, "reset", returned)


def _die_once(point: Path) -> None:
    try:
        point.rename(point.with_suffix(f"{point.suffix}-hit"))
    except OSError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


if "CRASH_POINTS" in os.environ:
    sys.meta_path.insert(0, _Finder())
