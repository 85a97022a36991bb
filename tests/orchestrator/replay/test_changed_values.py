"""Whatever stored value was changed is found and named."""

import random
import sqlite3
from pathlib import Path

import pytest

from manifests.canonical import digest_bytes
from tests.orchestrator.replay.replaying import (
    ONE_RUN,
    RUNS,
    SECOND,
    Case,
    change,
    flip,
    longer,
    more,
    only,
    replay,
    run_file,
    write,
)
from tests.orchestrator.trial import DAYS, REFERENCE, WINDOWS

A_DAY = "day = 9 AND seat = 3"
DIGEST = write("sha256:", "zz")

CASES = {
    "a price in a decision": Case(
        "company_windows",
        "decision",
        SECOND,
        write('"A":{"daily_development_budget_cents":', "9"),
        "the decision that was sealed",
        "decision.products.A.daily_development_budget_cents",
        "company-2",
        7,
    ),
    "a name in a decision": Case(
        "company_windows",
        "decision",
        SECOND,
        write('"reorder_targe', "d"),
        "the decision that was sealed",
        "decision.products.A.reorder_targed",
        "company-2",
        7,
    ),
    "the structure of a decision": Case(
        "company_windows",
        "decision",
        SECOND,
        write('"products"', "="),
        "the decision that was sealed",
        "decision",
        "company-2",
        7,
    ),
    "the digest of a decision": Case(
        "company_windows",
        "decision_digest",
        SECOND,
        DIGEST,
        "the decision that was sealed",
        "decision_digest",
        "company-2",
        7,
    ),
    "who decided": Case(
        "company_windows",
        "candidate",
        SECOND,
        longer,
        "the decision",
        "candidate",
        "company-2",
        7,
        recorded="bobx",
        recomputed="bob",
    ),
    "as what it decided": Case(
        "company_windows", "identity", SECOND, longer, "the decision", "identity", "company-2", 7
    ),
    "the market's part of a state": Case(
        "checkpoints", "state", "version = 2", flip(4), "the state", "macro", None, 14
    ),
    "a company's part of a state": Case(
        "checkpoints",
        "state",
        "version = 2",
        flip(-1),
        "the state",
        "firms[3].support_queue",
        "company-3",
        14,
    ),
    "a state that cannot be read": Case(
        "checkpoints", "state", "version = 2", flip(0, 0x40), "the state", "length", None, 14
    ),
    "the first state": Case(
        "checkpoints",
        "state",
        "version = 0",
        flip(-1),
        "the state",
        "firms[3].support_queue",
        "company-3",
        0,
    ),
    "the digest of a state": Case(
        "checkpoints",
        "state_digest",
        "version = 2",
        DIGEST,
        "the checkpoint",
        "state_digest",
        None,
        14,
    ),
    "the day of a state": Case(
        "checkpoints",
        "day",
        "version = 2",
        more,
        "the checkpoint",
        "day",
        None,
        14,
        recorded=15,
        recomputed=14,
    ),
    "the digest of a day": Case(
        "days", "state_digest", "day = 9", DIGEST, "the day", "state_digest", None, 9
    ),
    "the digest of a day's record": Case(
        "days", "record_digest", "day = 9", DIGEST, "the day", "record_digest", None, 9
    ),
    "the record of a day": Case(
        "days", "details", "day = 9", flip(2), "the day", "state_digest", None, 9
    ),
    "the record of a company-day": Case(
        "company_days",
        "details",
        A_DAY,
        flip(1),
        "the company-day",
        "seat",
        "company-3",
        9,
        recorded=2,
        recomputed=3,
    ),
    "a column of a company-day": Case(
        "company_days",
        "revenue_cents",
        A_DAY,
        more,
        "a column of the company-day",
        "revenue_cents",
        "company-3",
        9,
    ),
    "the exit in a company-day": Case(
        "company_days",
        "exited",
        A_DAY,
        more,
        "a column of the company-day",
        "exited",
        "company-3",
        9,
        recorded=1,
        recomputed=False,
    ),
    "a receipt": Case(
        "receipts",
        "charge_cents",
        "version = 0 AND seat = 3 AND number = 1",
        more,
        "receipt 1",
        "charge_cents",
        "company-3",
        0,
    ),
    "an outcome": Case(
        "outcomes", "score_cents", "seat = 2", more, "the outcome", "score_cents", "company-2", DAYS
    ),
    "the frontier": Case(
        "run_states",
        "world_version",
        "1",
        more,
        "the state of the run",
        "world_version",
        None,
        DAYS,
        recorded=WINDOWS + 1,
        recomputed=WINDOWS,
    ),
    "the end": Case(
        "run_states",
        "status",
        "1",
        lambda _: "paused",
        "the state of the run",
        "completed",
        None,
        DAYS,
        recorded=False,
        recomputed=True,
    ),
    "the run's own scenario": Case(
        "campaigns",
        "manifest",
        "1",
        write('"price_weight":', "9"),
        "the manifest",
        "decisive.scenario.phases.states[balanced].price_weight",
        None,
        0,
        recorded=9,
        recomputed=1,
    ),
    "the structure of the run's own scenario": Case(
        "campaigns",
        "manifest",
        "1",
        write('"price_weight"', ";"),
        "the manifest",
        "decisive.scenario.phases.states[0]",
        None,
        0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_found_and_named(name: str, copy: Path) -> None:
    case = CASES[name]
    change(run_file(copy), case)
    found = only(replay(copy, ONE_RUN))
    assert (found.run, found.what, found.field) == (REFERENCE, case.what, case.field)
    assert (found.company, found.day) == (case.company, case.day)
    if case.recorded is not None:
        assert (found.recorded, found.recomputed) == (case.recorded, case.recomputed)
    assert found.recorded != found.recomputed
    assert replay(copy, ("trial-s29-reference",)).matched == 1


def test_the_catalogue_s_scenario_is_checked_by_the_copies_of_the_runs(copy: Path) -> None:
    change(copy / "catalogue.db", CASES["the run's own scenario"])
    report = replay(copy)
    found = only(report)
    assert found.run is None
    assert found.field == "decisive.scenario.phases.states[balanced].price_weight"
    assert (found.recorded, found.recomputed) == (9, 1)
    assert report.matched == RUNS


def test_a_planned_run_is_checked_by_its_manifest(copy: Path) -> None:
    seed = Case("runs", "planned", "run_id = 'trial-s11-reference'", write('"seed":', "2"), "", "")
    change(copy / "catalogue.db", seed)
    with sqlite3.connect(copy / "catalogue.db") as connection:
        # Where the column contradicts the plan, the store itself refuses.
        connection.execute("UPDATE runs SET seed = 21 WHERE run_id = 'trial-s11-reference'")
    connection.close()
    found = only(replay(copy, ONE_RUN))
    assert (found.what, found.field) == ("the planned run", "seed")
    assert (found.recorded, found.recomputed) == (21, 11)


def forge(path: Path) -> None:
    """Change a decision and give it the digest of what it is now."""
    change(path, CASES["a price in a decision"])
    with sqlite3.connect(path) as connection:
        (content,) = connection.execute(
            f"SELECT decision FROM company_windows WHERE {SECOND}"
        ).fetchone()
        connection.execute(
            f"UPDATE company_windows SET decision_digest = ? WHERE {SECOND}",
            (digest_bytes(content),),
        )
    connection.close()


def test_a_consistently_forged_decision_is_found_in_what_follows_from_it(copy: Path) -> None:
    forge(run_file(copy))
    found = only(replay(copy, ONE_RUN))
    assert (found.company, found.day) == ("company-2", 8)
    assert found.field == "ledger.development_cents"


def test_a_forged_decision_that_the_world_does_not_allow_is_named(copy: Path) -> None:
    path = run_file(copy)
    with sqlite3.connect(path) as connection:
        content = b'{"company_id":"company-2","world_version":2}'
        connection.execute(
            f"UPDATE company_windows SET decision = ?, decision_digest = ? WHERE {SECOND}",
            (content, digest_bytes(content)),
        )
    connection.close()
    found = only(replay(copy, ONE_RUN))
    assert (found.company, found.day, found.field) == ("company-2", 7, "decision")
    assert "world_version: must be 1" in found.recorded


def test_a_decision_that_differs_from_its_original_is_named(original: Path, copy: Path) -> None:
    forge(run_file(copy))
    found = only(replay(copy, ONE_RUN, against=original))
    assert found.what == "a decision and its original"
    assert found.field == "decision.products.A.daily_development_budget_cents"
    assert (found.company, found.day) == ("company-2", 7)


def test_a_status_that_there_is_not_is_told(copy: Path) -> None:
    change(
        run_file(copy),
        Case("company_windows", "status", SECOND, lambda _: "saeled", "", ""),
    )
    found = only(replay(copy, ONE_RUN))
    assert "saeled" in str(found)


BLOBS = (
    ("company_windows", "decision", "version", "seat"),
    ("checkpoints", "state", "version", "version"),
    ("days", "details", "day", "day"),
    ("company_days", "details", "day", "seat"),
)


@pytest.mark.parametrize("seed", range(24))
def test_any_flipped_byte_of_any_record_is_found_and_named(seed: int, copy: Path) -> None:
    chance = random.Random(seed)
    table, column, number, seat = BLOBS[seed % len(BLOBS)]
    with sqlite3.connect(run_file(copy)) as connection:
        rows = connection.execute(f"SELECT {number}, {seat}, {column} FROM {table}").fetchall()
        at, company, content = chance.choice(rows)
        flipped = flip(chance.randrange(len(content)), 1 << chance.randrange(8))(content)
        connection.execute(
            f"UPDATE {table} SET {column} = ? WHERE {number} = ? AND {seat} = ?",
            (flipped, at, company),
        )
    connection.close()
    found = only(replay(copy, ONE_RUN))
    boundaries = (0, 7, 14, DAYS)
    assert found.day == (boundaries[at] if number == "version" else at)
    if seat == "seat":
        assert found.company == f"company-{company}"
    assert found.field.startswith("decision") if column == "decision" else found.field
    assert found.recorded != found.recomputed
