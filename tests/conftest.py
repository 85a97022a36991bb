"""Settings that all tests share."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgresql import Server, running_server

# No test depends on the clock: on a loaded machine a deadline would fail examples at random.
# The same examples every time; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("arena", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "arena"))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A PostgreSQL server for the tests of one process; who needs one to kill starts its own."""
    with running_server() as server:
        yield server
