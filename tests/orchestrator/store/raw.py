"""SQL past the store, for tests that damage what it holds."""

import sqlite3
from pathlib import Path
from typing import Any

import psycopg

from orchestrator.store import RunKey
from orchestrator.store.directory import CATALOGUE_FILE, run_path
from orchestrator.store.location import is_shared


def execute(location: str, statement: str, key: RunKey | None = None) -> list[tuple[Any, ...]]:
    """Run a statement in the catalogue of a store, or where the rows of a run are."""
    if is_shared(location):
        with psycopg.connect(location, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
    place = Path(location)
    path = place / CATALOGUE_FILE if key is None else run_path(place, key)
    file = sqlite3.connect(path, isolation_level=None)
    try:
        return file.execute(statement).fetchall()
    finally:
        file.close()
