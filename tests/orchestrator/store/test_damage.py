"""Values outside the records that were changed: each is named, none gives a traceback."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from manifests.errors import ArenaError
from orchestrator.store import RunKey, Store, open_store
from tests.orchestrator.trial import NAME, REFERENCE, Trial

Reading = Callable[[Store], object]


def status(store: Store) -> object:
    return store.run(RunKey(NAME, REFERENCE)).status()


def campaign(store: Store) -> object:
    return store.catalogue.campaign(NAME)


def listed(store: Store) -> object:
    return store.catalogue.runs(NAME)


@pytest.mark.parametrize(
    ("of_run", "statement", "read", "told"),
    [
        (False, "UPDATE campaign_controls SET desired = 'rest'", campaign, "is 'rest', which does"),
        (True, "UPDATE run_states SET status = 'dead'", status, "is 'dead', which does not exist"),
        (True, "DELETE FROM run_leases", status, "a row that must be there once is missing"),
        (True, "DELETE FROM run_states", status, "is not the database of"),
        (True, "UPDATE run_states SET updated_at = 1 << 62", status, "as a point in time"),
        (True, "UPDATE run_states SET reason = CAST(x'ff' AS TEXT)", status, "is damaged"),
        (False, "UPDATE runs SET seed = seed + 1", listed, "has seed 12, but its plan has 11"),
        (False, "UPDATE runs SET position = 9 WHERE position = 0", listed, "has position 9, but"),
        (False, "UPDATE runs SET run_id = 'x' WHERE position = 0", listed, "has run_id x, but its"),
    ],
)
def test_a_changed_value_is_told(
    of_run: bool, statement: str, read: Reading, told: str, tmp_path: Path
) -> None:
    trial = Trial.new(tmp_path / "store")
    run = trial.run()
    run.release(run.acquire("somebody", 60))
    trial.store.close()
    inside = f"runs/{NAME}/{REFERENCE}.db" if of_run else "catalogue.db"
    connection = sqlite3.connect(tmp_path / "store" / inside)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with open_store(str(tmp_path / "store")) as store, pytest.raises(ArenaError) as caught:
        read(store)
    assert told in str(caught.value)
