"""Stores of every kind for the conformance tests: in real files, and on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store import RunStore, Store, open_store
from tests.orchestrator.store import samples
from tests.postgresql import Server


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The place of a store that does not exist yet, by kind of database."""
    if request.param == "sqlite":
        yield str(tmp_path / "store")
        return
    server: Server = request.getfixturevalue("postgresql")
    database = server.new_database()
    yield server.url(database)
    server.drop(database)


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    """An empty store."""
    with open_store(location, create=True) as opened:
        yield opened


@pytest.fixture
def campaign(store: Store) -> str:
    """The name of a campaign with two planned runs."""
    samples.create_campaign(store)
    return samples.CAMPAIGN


@pytest.fixture
def run(store: Store, campaign: str) -> RunStore:  # noqa: ARG001
    """A run that nobody has taken yet."""
    return store.run(samples.KEY)
