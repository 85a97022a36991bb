"""The audit: a store that is whole, and stores in which one thing was changed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.audit import AuditReport, audit_store
from orchestrator.store import RunKey, open_store
from orchestrator.store.copying import copy_to_server
from orchestrator.store.directory import run_path
from tests.orchestrator.cli.commands import ceo_arena
from tests.orchestrator.cli.rehearsed import DAYS, NAME, OPEN, PLAYED, make_store
from tests.orchestrator.store import raw
from tests.postgresql import Server

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.xdist_group("sessions")

KEY = RunKey(NAME, PLAYED)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("audited"))


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Iterator[str]:
    """The location of a copy of the store, by kind of database."""
    if request.param == "sqlite":
        shutil.copytree(whole, tmp_path / "store")
        yield str(tmp_path / "store")
        return
    server: Server = request.getfixturevalue("postgresql")
    name = server.new_database()
    copy_to_server(str(whole), server.url(name))
    yield server.url(name)
    server.drop(name)


def audited(location: str) -> AuditReport:
    with open_store(location) as opened:
        return audit_store(opened, lambda _row: None)


def test_a_store_that_is_whole(store: str) -> None:
    report = audited(store)
    assert report.problems == []
    assert (report.campaigns, report.runs) == (1, 2)
    assert (report.windows, report.days, report.attempts) == (2, DAYS, 6)


# Where, what is changed, and what the first problem says. In the run that was played, seats 1 and 3
# are models, of which the first writes files.
CHANGES = {
    "checkpoint": (
        "UPDATE checkpoints SET state_digest = 'sha256:0' WHERE version = 1",
        "its digest differs",
    ),
    "a lost checkpoint": (
        "DELETE FROM checkpoints WHERE version = 2",
        "stands at world version 2, and has worlds up to 1",
    ),
    "status": (
        "UPDATE run_states SET day = 9 WHERE day = 10",
        "stands on day 9, and its last world on day 10",
    ),
    "lease": (
        "UPDATE run_leases SET epoch = 0 WHERE epoch = 1",
        "its lease has epoch 0, and epoch 1 has written",
    ),
    "decision": (
        "UPDATE company_windows SET decision_digest = 'sha256:0' WHERE seat = 2",
        "its digest differs",
    ),
    "window status": (
        "UPDATE company_windows SET status = 'timeout' WHERE version = 1 AND seat = 2",
        "company-2 at world version 1 is timeout, and a decision does not fit that",
    ),
    "candidate": (
        "UPDATE company_windows SET candidate = 'buyer' WHERE version = 0 AND seat = 2",
        "company-2 at world version 0 was played by buyer, who does not sit there",
    ),
    "company-day": (
        (
            "UPDATE company_days SET details = (SELECT details FROM company_days AS other "
            "WHERE other.day = 1 AND other.seat = 2) WHERE day = 1 AND seat = 1"
        ),
        "day 1 is not what was settled",
    ),
    "account": (
        "UPDATE company_days SET revenue_cents = revenue_cents + 1 WHERE day = 3 AND seat = 2",
        "the columns of company-2 on day 3 are not its record's",
    ),
    "day": ("DELETE FROM company_days WHERE day = 10", "day 10 is not what was settled"),
    "outcome": (
        "UPDATE outcomes SET score_cents = score_cents + 1 WHERE seat = 3",
        "its outcomes do not follow from its days",
    ),
    "exit": (
        (
            "INSERT INTO company_exits (run, seat, day) SELECT run, 2, 4 FROM run_states "
            "WHERE status = 'completed'"
        ),
        "the companies that left are not those whose records say so",
    ),
    "event": (
        (
            "UPDATE session_events SET blob = (SELECT blob FROM private_files LIMIT 1) "
            "WHERE version = 0 AND seat = 3 AND attempt = 0 AND ordinal = 1"
        ),
        "an event that cannot be read",
    ),
    "a blob": (
        (
            "UPDATE blobs SET content = (SELECT content FROM blobs AS other "
            "WHERE other.digest <> blobs.digest ORDER BY run, digest LIMIT 1) WHERE digest = "
            "(SELECT blob FROM private_files ORDER BY run, version LIMIT 1)"
        ),
        "is damaged",
    ),
    "a lost blob": (
        (
            "DELETE FROM blobs WHERE digest = (SELECT blob FROM session_events "
            "WHERE seat = 3 AND version = 0 AND ordinal = 4 ORDER BY run LIMIT 1)"
        ),
        "is missing",
    ),
    "a lost event": (
        "DELETE FROM session_events WHERE seat = 1 AND version = 1 AND ordinal = 2",
        "lacks events of company-1 at world version 1",
    ),
    "a request": (
        (
            "UPDATE session_events SET blob = (SELECT blob FROM session_events AS other "
            "WHERE other.seat = 3 AND other.version = 0 AND other.ordinal = 2 ORDER BY run "
            "LIMIT 1) WHERE seat = 3 AND version = 0 AND ordinal = 1"
        ),
        (
            "the session of company-3 at world version 0 has an answer to request 1, "
            "which was not under way"
        ),
    ),
    "a lost session": (
        "DELETE FROM session_events WHERE seat = 3 AND version = 1",
        "the session of company-3 at world version 1 was settled without a session",
    ),
    "a file": (
        "UPDATE private_files SET file_version = file_version + 7 WHERE version = 1",
        "the files that the session of company-1 at world version 1 stored are not",
    ),
    "an attempt": (
        "UPDATE session_events SET attempt = 1 WHERE seat = 3 AND version = 0",
        "the session of company-3 at world version 0, fresh attempt 1 was never granted",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_is_named(store: str, name: str) -> None:
    change, told = CHANGES[name]
    of_run = f"run = (SELECT run FROM runs WHERE run_id = '{PLAYED}')"
    raw.execute(store, f"{change} AND {of_run}", KEY)
    problems = audited(store).problems
    assert {problem.place for problem in problems} == {str(KEY)}
    assert told in " ".join(problem.fault for problem in problems)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"UPDATE runs SET position = -1 WHERE run_id = '{OPEN}'", "has position -1"),
        ("UPDATE campaigns SET plan_hash = 'sha256:0'", "under another plan hash"),
    ],
)
def test_a_plan_that_is_not_its_manifest(store: str, change: str, told: str) -> None:
    raw.execute(store, change)
    first = audited(store).problems[0]
    assert first.place == f"campaign {NAME}"
    assert told in first.fault


class TestFiles:
    @pytest.fixture
    def place(self, whole: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(whole, tmp_path / "store"))

    def test_a_damaged_file_is_named(self, place: Path) -> None:
        path = run_path(place, KEY)
        content = bytearray(path.read_bytes())
        content[20_480:61_440] = b"\xff" * 40_960
        path.write_bytes(content)
        problems = audited(str(place)).problems
        assert str(path) in {problem.place for problem in problems}

    def test_a_row_without_its_parent(self, place: Path) -> None:
        raw.execute(str(place), "DELETE FROM company_windows WHERE version = 1", KEY)
        assert "of receipts names a row of company_windows that is not there" in str(
            audited(str(place)).problems[0]
        )

    def test_a_run_that_nobody_knows(self, place: Path) -> None:
        stray = run_path(place, KEY._replace(campaign="other"))
        stray.parent.mkdir()
        shutil.copy(run_path(place, KEY), stray)
        assert str(audited(str(place)).problems[0]) == f"{stray}: the catalogue has no such run"

    def test_a_run_whose_file_was_exchanged(self, place: Path) -> None:
        shutil.copy(run_path(place, KEY), run_path(place, RunKey(NAME, OPEN)))
        (problem,) = audited(str(place)).problems
        assert problem.place == str(RunKey(NAME, OPEN))
        assert "is not the database of" in problem.fault


class TestCommand:
    def test_a_clean_store(self, capsys: Capture, whole: Path) -> None:
        answer = ceo_arena(capsys, "audit", "--store", whole)
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.startswith("0 problems in 1 campaign, 2 runs, 2 windows, 10 days")
        answer = ceo_arena(capsys, "audit", "--store", whole, "--json")
        assert answer.data["clean"]
        assert answer.data["problems"] == []

    def test_a_changed_one(self, capsys: Capture, store: str) -> None:
        raw.execute(store, "UPDATE run_leases SET epoch = 0", KEY)
        answer = ceo_arena(capsys, "audit", "--store", store)
        assert answer.code == 1
        assert f"{KEY}: its lease has epoch 0" in answer.out
        answer = ceo_arena(capsys, "audit", "--store", store, "--json")
        assert answer.code == 1
        assert not answer.data["clean"]
        assert answer.data["problems"][0]["place"] == str(KEY)
