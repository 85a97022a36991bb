"""Replay: everything matches, and whatever was changed is found and named."""

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from manifests.canonical import digest_bytes
from manifests.errors import InputError
from orchestrator.replay import Difference, ReplayReport, RunReport, replay_campaign
from orchestrator.store import RunKey, open_store
from orchestrator.world import StopKind, StopRequest
from tests.orchestrator.trial import DAYS, NAME, REFERENCE, WINDOWS, Trial

RUNS = 8
SETTLED_ROWS = ("receipts", "company_days", "days", "checkpoints", "company_exits", "outcomes")
ONE_RUN = (REFERENCE,)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A completed campaign."""
    place = tmp_path_factory.mktemp("replay") / "original"
    trial = Trial.new(place)
    with trial.store:
        trial.play_all()
    return place


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


def replay(
    place: Path,
    runs: tuple[str, ...] = (),
    jobs: int = 1,
    against: Path | None = None,
    told: Callable[[RunReport], None] = lambda _report: None,
) -> ReplayReport:
    return replay_campaign(
        str(place), NAME, runs, jobs, None if against is None else str(against), told
    )


def only(report: ReplayReport) -> Difference:
    (difference,) = report.differences
    return difference


def run_file(place: Path, run_id: str = REFERENCE) -> Path:
    return place / "runs" / NAME / f"{run_id}.db"


def test_a_completed_campaign_matches_in_parallel_and_tells_of_every_run(original: Path) -> None:
    told: list[str] = []
    report = replay(original, jobs=2, told=lambda done: told.append(done.run_id))
    assert report.to_json() == {
        "runs": RUNS,
        "matched": RUNS,
        "days": RUNS * DAYS,
        "windows": RUNS * WINDOWS,
        "complete": RUNS,
        "differences": [],
    }
    assert sorted(told) == sorted(run.run_id for run in report.runs)
    with open_store(str(original)) as store:
        in_order = [row.key.run_id for row in store.catalogue.runs(NAME)]
    assert [run.run_id for run in report.runs] == in_order


def test_some_runs_can_be_chosen(original: Path) -> None:
    report = replay(original, ("trial-s29-without-cy", REFERENCE))
    assert [run.run_id for run in report.runs] == ["trial-s29-without-cy", REFERENCE]
    with pytest.raises(InputError, match="no run trial-s99"):
        replay(original, ("trial-s99",))


def test_a_copy_without_settled_rows_is_compared_with_its_original(
    original: Path, copy: Path
) -> None:
    for path in sorted((copy / "runs" / NAME).glob("*.db")):
        with sqlite3.connect(path) as connection:
            for table in SETTLED_ROWS:
                connection.execute(f"DELETE FROM {table}")
        connection.close()
    report = replay(copy, against=original)
    assert (report.matched, report.to_json()["days"]) == (RUNS, RUNS * DAYS)
    alone = replay(copy)
    assert alone.matched == 0
    assert {found.what for found in alone.differences} == {"a checkpoint"}
    assert {found.recorded for found in alone.differences} == {"missing"}


def test_a_run_that_has_not_begun_or_not_ended_matches_as_far_as_it_is(tmp_path: Path) -> None:
    trial = Trial.new(tmp_path / "store")
    with trial.store:
        stop = StopRequest()
        stop.ask(StopKind.PAUSE, "")
        trial.play("trial-s11-without-ada", stop=stop)
        run = trial.run("trial-s11-without-bob")
        run.release(run.acquire("a test", 60))
        trial.play()
    report = replay(tmp_path / "store")
    assert report.matched == RUNS
    assert report.to_json()["windows"] == WINDOWS


def test_a_run_that_goes_on_meanwhile_matches_as_far_as_it_was(copy: Path) -> None:
    with sqlite3.connect(run_file(copy)) as connection:
        # As a reader finds it who looked at the status before the last windows were committed.
        connection.execute("UPDATE run_states SET status = 'running', world_version = 1, day = 7")
        connection.execute("DELETE FROM company_exits")
        connection.execute("DELETE FROM outcomes")
    connection.close()
    report = replay(copy, runs=(REFERENCE,))
    assert report.differences == ()
    assert [(run.windows, run.days, run.complete) for run in report.runs] == [(1, 7, False)]


def test_stores_of_different_plans_are_not_compared(original: Path, tmp_path: Path) -> None:
    Trial.new(tmp_path / "other", horizon_days=DAYS + 1).store.close()
    with pytest.raises(InputError, match="has plan sha256:"):
        replay(original, against=tmp_path / "other")


class Case(NamedTuple):
    """One change of a stored value, and how it must be named."""

    table: str
    column: str
    where: str
    change: Callable[[Any], Any]
    what: str
    field: str
    company: str | None = None
    day: int | None = None
    recorded: Any = None
    recomputed: Any = None


def flip(offset: int, mask: int = 1) -> Callable[[bytes], bytes]:
    """Change one byte."""

    def change(content: bytes) -> bytes:
        return content[:offset] + bytes([content[offset] ^ mask]) + content[offset + 1 :]

    return change


def write(after: str, text: str) -> Callable[[Any], Any]:
    """Overwrite what follows a text for the first time."""

    def change(content: Any) -> Any:
        found = content if isinstance(content, str) else content.decode()
        start = found.index(after) + len(after)
        assert found[start : start + len(text)] != text
        changed = found[:start] + text + found[start + len(text) :]
        return changed if isinstance(content, str) else changed.encode()

    return change


def more(value: int) -> int:
    return value + 1


def longer(text: str) -> str:
    return text + "x"


SECOND = "version = 1 AND seat = 2"
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


def change(path: Path, case: Case) -> None:
    """Change one stored value, behind the store's back."""
    with sqlite3.connect(path) as connection:
        (value,) = connection.execute(
            f"SELECT {case.column} FROM {case.table} WHERE {case.where}"
        ).fetchone()
        changed = case.change(value)
        assert changed != value
        connection.execute(
            f"UPDATE {case.table} SET {case.column} = ? WHERE {case.where}", (changed,)
        )
    connection.close()


def test_the_catalogue_s_scenario_is_checked_by_the_copies_of_the_runs(copy: Path) -> None:
    change(copy / "catalogue.db", CASES["the run's own scenario"])
    report = replay(copy)
    found = only(report)
    assert found.run is None
    assert found.field == "decisive.scenario.phases.states[balanced].price_weight"
    assert (found.recorded, found.recomputed) == (9, 1)
    assert report.matched == RUNS


def test_a_run_that_the_catalogue_lost_is_named(copy: Path) -> None:
    with sqlite3.connect(copy / "catalogue.db") as connection:
        connection.execute("DELETE FROM runs WHERE run_id = ?", (REFERENCE,))
    connection.close()
    lost = only(replay(copy))
    assert (lost.run, lost.what) == (REFERENCE, "the catalogue's list of runs")
    assert (lost.recorded, lost.recomputed) == ("missing", "present")


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


@pytest.mark.parametrize("table", ["company_windows", *SETTLED_ROWS[1:4], "outcomes"])
def test_a_missing_row_is_found(table: str, copy: Path) -> None:
    key = {"company_windows": "version = 1 AND seat = 2", "outcomes": "seat = 2"}
    where = key.get(table, "version = 2" if table == "checkpoints" else "day = 9")
    with sqlite3.connect(run_file(copy)) as connection:
        assert connection.execute(f"DELETE FROM {table} WHERE {where}").rowcount > 0
    connection.close()
    found = only(replay(copy, ONE_RUN))
    assert (found.field, found.recorded) == ("row", "missing")


@pytest.mark.parametrize("table", ["days", "company_days", "checkpoints", "company_windows"])
def test_a_row_too_many_is_found(table: str, copy: Path) -> None:
    number = "version" if table in {"checkpoints", "company_windows"} else "day"
    with sqlite3.connect(run_file(copy)) as connection:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(f"{name} + 90" if name == number else name for name in names)
        connection.execute(
            f"INSERT INTO {table} SELECT {values} FROM {table} ORDER BY {number} LIMIT 1"
        )
    connection.close()
    assert only(replay(copy, ONE_RUN)).recorded in {"present", "missing"}


def test_a_lost_window_in_the_middle_is_found(copy: Path) -> None:
    with sqlite3.connect(run_file(copy)) as connection:
        connection.execute("DELETE FROM company_windows WHERE version = 1")
    connection.close()
    found = only(replay(copy, ONE_RUN))
    assert (found.what, found.field, found.day) == ("a window", "world version 1", 7)


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


def test_a_damaged_database_is_a_difference_of_its_run_alone(copy: Path) -> None:
    path = run_file(copy)
    content = bytearray(path.read_bytes())
    content[4096:8192] = bytes(4096)
    path.write_bytes(content)
    report = replay(copy)
    found = only(report)
    assert (found.run, found.what) == (REFERENCE, "the database")
    assert report.matched == RUNS - 1


def test_a_status_that_there_is_not_is_told(copy: Path) -> None:
    change(
        run_file(copy),
        Case("company_windows", "status", SECOND, lambda _: "saeled", "", ""),
    )
    found = only(replay(copy, ONE_RUN))
    assert "saeled" in str(found)


@pytest.fixture
def opened(copy: Path) -> Iterator[Path]:
    with open_store(str(copy)) as store:
        store.run(RunKey(NAME, REFERENCE)).status()
        yield copy


def test_a_store_in_use_can_be_replayed(opened: Path) -> None:
    assert replay(opened, ONE_RUN).matched == 1


def test_a_difference_reads_well() -> None:
    found = Difference(
        run="trial-s11-reference",
        day=8,
        company="company-2",
        field="closing_cash_cents",
        recorded=5,
        recomputed=6,
        what="the company-day",
    )
    assert str(found) == (
        "trial-s11-reference, day 8, company-2: the company-day, closing_cash_cents: "
        "recorded 5, recomputed 6"
    )
    assert str(Difference(**{**found_fields(found), "run": None, "company": None})).startswith(
        "the catalogue, day 8: "
    )


def found_fields(found: Difference) -> dict[str, Any]:
    return {name: getattr(found, name) for name in Difference.__slots__}


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
