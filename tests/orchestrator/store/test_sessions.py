"""Journals, heartbeats, private files and late replies of model sessions, as stored."""

import pytest

from manifests.errors import IntegrityError
from orchestrator.lifecycle import RunState
from orchestrator.store import (
    AttemptKey,
    FileVersion,
    Lease,
    LeaseLost,
    RunStore,
    SessionStore,
    Store,
)
from tests.orchestrator.store import raw, samples

KEY = AttemptKey(0, 1, 0)


@pytest.fixture
def sessions(run: RunStore) -> SessionStore:
    return SessionStore(run)


def append(
    sessions: SessionStore,
    lease: Lease,
    key: AttemptKey,
    ordinal: int,
    *file: object,
) -> None:
    written = FileVersion(*file) if file else None  # type: ignore[arg-type]
    sessions.append(lease, key, ordinal, "kind", f"event {ordinal}".encode(), written)


def test_a_run_that_nobody_has_taken_has_no_sessions(sessions: SessionStore) -> None:
    assert sessions.events(KEY) == []
    assert sessions.attempts() == []
    assert sessions.files_before(1, 9) == {}
    assert sessions.beaten_milliseconds(KEY) == 0
    assert sessions.late_replies() == []
    assert not sessions.has_rested_since(KEY, 0)


def test_events_come_back_in_order_by_attempt(run: RunStore, sessions: SessionStore) -> None:
    lease = samples.start(run)
    others = [AttemptKey(0, 2, 0), AttemptKey(0, 1, 1), AttemptKey(1, 1, 0)]
    for key in (KEY, *others):
        for ordinal in range(12):
            append(sessions, lease, key, ordinal)
    assert sessions.events(KEY) == [f"event {ordinal}".encode() for ordinal in range(12)]
    assert sessions.attempts() == [KEY, others[1], others[0], others[2]]
    assert sessions.events(AttemptKey(5, 1, 0)) == []


@pytest.mark.parametrize("ordinal", [0, 1, 3, 7])
def test_an_event_follows_the_last_one(run: RunStore, sessions: SessionStore, ordinal: int) -> None:
    lease = samples.start(run)
    for earlier in range(2):
        sessions.append(lease, KEY, earlier, "kind", f"earlier {earlier}".encode(), None)
    with pytest.raises(IntegrityError, match=f"number {ordinal} was to come"):
        append(sessions, lease, KEY, ordinal)
    assert len(sessions.events(KEY)) == 2


def test_an_event_whose_commit_had_an_unknown_end_is_stored_once(
    run: RunStore, sessions: SessionStore
) -> None:
    lease = samples.start(run)
    for _ in range(2):
        append(sessions, lease, KEY, 0, "MEMORY.md", 0, "text")
    assert sessions.events(KEY) == [b"event 0"]
    assert sessions.files_before(1, 1) == {"MEMORY.md": ("text", 0)}


def test_a_missing_event_is_noticed(
    run: RunStore, sessions: SessionStore, store: Store, location: str
) -> None:
    lease = samples.start(run)
    for ordinal in range(3):
        append(sessions, lease, KEY, ordinal)
    store.close()
    raw.execute(location, "DELETE FROM session_events WHERE ordinal = 1", samples.KEY)
    with pytest.raises(IntegrityError, match="lacks events of company-1"):
        sessions.events(KEY)
    run.close()


def test_a_stale_owner_writes_nothing(run: RunStore, sessions: SessionStore) -> None:
    stale = samples.start(run, "host-1", 0)
    append(sessions, stale, KEY, 0)
    lease = run.acquire("host-2", 60)
    with pytest.raises(LeaseLost):
        append(sessions, stale, KEY, 1, "MEMORY.md", 1, "text")
    with pytest.raises(LeaseLost):
        sessions.beat(stale, {KEY: 5})
    assert len(sessions.events(KEY)) == 1
    assert sessions.files_before(1, 1) == {}
    assert sessions.beaten_milliseconds(KEY) == 0
    append(sessions, lease, KEY, 1)


def test_heartbeats_never_become_less(run: RunStore, sessions: SessionStore) -> None:
    lease = samples.start(run)
    other = AttemptKey(0, 2, 0)
    for beaten, kept in ((0, 0), (1_500, 1_500), (900, 1_500), (0, 1_500), (2_000, 2_000)):
        sessions.beat(lease, {KEY: beaten, other: 7})
        assert sessions.beaten_milliseconds(KEY) == kept
    assert sessions.beaten_milliseconds(other) == 7
    sessions.beat(lease, {})
    assert sessions.beaten_milliseconds(AttemptKey(1, 1, 0)) == 0


def test_files_are_those_at_the_opening_of_a_window(run: RunStore, sessions: SessionStore) -> None:
    lease = samples.start(run)
    append(sessions, lease, KEY, 0, "MEMORY.md", 1, "first")
    append(sessions, lease, KEY, 1, "MEMORY.md", 2, "second\n\u00e9")
    append(sessions, lease, KEY, 2, "notes/a.md", 1, "")
    append(sessions, lease, AttemptKey(2, 1, 0), 0, "MEMORY.md", 3, "third")
    append(sessions, lease, AttemptKey(0, 2, 0), 0, "MEMORY.md", 1, "another company's")
    assert sessions.files_before(1, 0) == {}
    after_first = {"MEMORY.md": ("second\n\u00e9", 2), "notes/a.md": ("", 1)}
    assert sessions.files_before(1, 1) == after_first
    assert sessions.files_before(1, 2) == after_first
    assert sessions.files_before(1, 3) == after_first | {"MEMORY.md": ("third", 3)}
    assert sessions.files_before(2, 3) == {"MEMORY.md": ("another company's", 1)}


def test_files_of_an_attempt_that_was_given_up_do_not_count(
    run: RunStore, sessions: SessionStore
) -> None:
    lease = samples.start(run)
    append(sessions, lease, KEY, 0, "MEMORY.md", 1, "kept")
    failed, fresh = AttemptKey(1, 1, 0), AttemptKey(1, 1, 1)
    append(sessions, lease, failed, 0, "MEMORY.md", 2, "given up")
    append(sessions, lease, failed, 1, "MEMORY.md", 3, "given up, too")
    append(sessions, lease, failed, 2, "plan.md", 1, "given up")
    assert sessions.files_before(1, 1) == {"MEMORY.md": ("kept", 1)}
    append(sessions, lease, fresh, 0)
    assert sessions.files_before(1, 2) == {"MEMORY.md": ("kept", 1)}
    append(sessions, lease, fresh, 1, "MEMORY.md", 2, "new")
    assert sessions.files_before(1, 2) == {"MEMORY.md": ("new", 2)}


def test_whether_a_run_has_rested_since_an_event(run: RunStore, sessions: SessionStore) -> None:
    lease = samples.start(run, "host-1", 0)
    append(sessions, lease, KEY, 0)
    assert not sessions.has_rested_since(KEY, 0)
    lease = run.acquire("host-2", 60)
    sessions.beat(lease, {KEY: 5})
    run.renew(lease)
    assert not sessions.has_rested_since(KEY, 0)
    run.set_status(lease, RunState.PAUSED, "a person")
    run.set_status(lease, RunState.RUNNING, "")
    assert sessions.has_rested_since(KEY, 0)
    append(sessions, lease, KEY, 1)
    assert not sessions.has_rested_since(KEY, 7)


def test_late_replies_are_kept_in_order_without_a_present_lease(
    run: RunStore, sessions: SessionStore
) -> None:
    stale = samples.start(run, "host-1", 0)
    append(sessions, stale, KEY, 0)
    run.acquire("host-2", 60)
    for request in (4, 4, 2):
        sessions.keep_late_reply(stale, KEY, request, f"reply {request}".encode())
    late = sessions.late_replies()
    assert [(reply.request, reply.body) for reply in late] == [
        (4, b"reply 4"),
        (2, b"reply 2"),
    ]
    assert {(reply.key, reply.owner, reply.epoch) for reply in late} == {
        (KEY, "host-1", stale.epoch)
    }
    assert len(sessions.events(KEY)) == 1
