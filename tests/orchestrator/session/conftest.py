"""An office in a store of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.session.sql import QueryWorkers
from orchestrator.store import Store, open_store
from tests.orchestrator.session.office import Office
from tests.orchestrator.store import samples


@pytest.fixture
def workers() -> Iterator[QueryWorkers]:
    with QueryWorkers(1) as started:
        yield started


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "store"), create=True) as opened:
        samples.create_campaign(opened)
        yield opened


@pytest.fixture
def office(store: Store, tmp_path: Path, workers: QueryWorkers) -> Office:
    run = store.run(samples.KEY)
    return Office(run, samples.start(run, "host-1", 0), tmp_path / "host-1", workers)
