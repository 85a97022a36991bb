"""The clock of the machine jumps by hours while models decide: no lease, wait or allowance goes by
it in a way that loses or repeats anything.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from campaigns.definition import load_definition
from campaigns.plan import plan
from orchestrator.binding import frozen
from orchestrator.store import open_store
from tests.chaos.clock.shifting import CANNOT_SHIFT, HOURS, Clock
from tests.chaos.harness import CAMPAIGN, place
from tests.chaos.models import (
    REHEARSAL,
    check_nothing_was_done_twice,
    gateway_process,
    playing,
    read_journals,
    undisturbed_models,
)

pytestmark = pytest.mark.skipif(CANNOT_SHIFT, reason="no clock can be shifted here")

DAYS: Final = 28


def test_the_clock_of_a_process_jumps(tmp_path: Path) -> None:
    """The test below can fail: both Python and SQLite go by the shifted clock."""
    clock = Clock(tmp_path)
    clock.set(2 * HOURS)
    ask = (
        "import sqlite3, time; print(time.time(), sqlite3.connect(':memory:').execute("
        "\"SELECT (julianday('now') - 2440587.5) * 86400\").fetchone()[0])"
    )
    here = [sys.executable, "-c", ask]
    environment = {**os.environ, **clock.environment}
    told = [
        [float(word) for word in subprocess.check_output(here, env=each).split()]
        for each in (None, environment)
    ]
    for before, shifted in zip(*told, strict=True):
        assert shifted - before > HOURS


def test_a_clock_that_jumps_loses_and_repeats_nothing(tmp_path: Path) -> None:
    with place(tmp_path, REHEARSAL, DAYS) as trial, gateway_process(tmp_path / "ledger") as gateway:
        worlds, journals, _ = undisturbed_models(trial.file, tmp_path / "undisturbed")
        planned = plan(load_definition(trial.file))
        with open_store(trial.location, create=True) as store:
            store.catalogue.create_campaign(frozen(planned), planned.runs)
        clock = Clock(tmp_path)
        with playing(trial, gateway, clock.environment):
            trial.wait_for_windows(1)
            clock.set(2 * HOURS)
            trial.wait_for_windows(3)
        # It died two hours ahead of its successor, and its lease with it.
        clock.set(0)
        with playing(trial, gateway, clock.environment) as successor:
            trial.wait_for_windows(5)
            clock.set(-2 * HOURS)
            assert successor.wait(timeout=240) == 0
        assert trial.evidence() == worlds
        with open_store(trial.location) as store:
            found = read_journals(store)
            assert {status.lease.owner for status in store.statuses(CAMPAIGN)} == {None}
        assert found.conversations() == journals.conversations()
        check_nothing_was_done_twice(found, gateway.entries())
        charged = [event.active_seconds for events in found.attempts.values() for event in events]
        assert max(charged) < HOURS, "a jump is not active time"
