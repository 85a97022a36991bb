"""Contents by their digests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from manifests.errors import IntegrityError
from orchestrator.store import AttemptKey, FileVersion, RunStore, SessionStore, open_store
from orchestrator.store.blobs import Blob
from orchestrator.store.connection import CommitPoint
from orchestrator.store.schema import blobs, session_events
from tests.orchestrator.store import samples

KEY = AttemptKey(0, 1, 0)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunStore]:
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        yield store.run(samples.KEY)


def executed(run: RunStore, statement: Any) -> Any:
    held = run.held()
    assert held is not None
    with held.database.write(CommitPoint.APPEND_EVENT) as connection:
        return connection.execute(statement)


def stored(run: RunStore) -> int:
    held = run.held()
    assert held is not None
    with held.database.read() as connection:
        return connection.scalar(select(func.count()).select_from(blobs)) or 0


def test_equal_contents_are_stored_once_wherever_they_stand(run: RunStore) -> None:
    lease, sessions = samples.start(run), SessionStore(run)
    sessions.append(lease, KEY, 0, "one", b"a text", FileVersion("a.md", 1, "a text"))
    sessions.append(lease, KEY, 1, "two", b"a text", FileVersion("b.md", 1, "a text"))
    sessions.append(lease, KEY, 2, "two", b"another", None)
    sessions.keep_late_reply(lease, KEY, 3, b"another")
    assert stored(run) == 2
    assert sessions.events(KEY) == [b"a text", b"a text", b"another"]
    assert sessions.files_before(1, 1) == {"a.md": ("a text", 1), "b.md": ("a text", 1)}
    assert sessions.late_replies()[0].body == b"another"


def test_a_long_content_takes_little_room(run: RunStore) -> None:
    assert len(Blob.of(b"the same words again and again; " * 10_000).packed) < 5_000
    lease, sessions = samples.start(run), SessionStore(run)
    content = "é".encode() * 300_000
    sessions.append(lease, KEY, 0, "one", content, None)
    assert sessions.events(KEY) == [content]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (update(blobs).values(content=Blob.of(b"a lie").packed), "is damaged"),
        (update(blobs).values(content=b"?"), "is damaged"),
        (update(session_events).values(blob=b"?"), "is missing"),
    ],
    ids=["another content", "no content", "another name"],
)
def test_what_is_not_what_was_stored_is_never_read(run: RunStore, changed: Any, said: str) -> None:
    lease, sessions = samples.start(run), SessionStore(run)
    sessions.append(lease, KEY, 0, "one", b"a text", None)
    executed(run, changed)
    for read in (
        lambda: sessions.events(KEY),
        lambda: sessions.of_kinds({"one"}),
        lambda: sessions.latest(0),
    ):
        with pytest.raises(IntegrityError, match=said):
            read()
