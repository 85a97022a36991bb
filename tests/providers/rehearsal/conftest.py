"""One gateway for the tests of a process; tests that count or delay start their own."""

from collections.abc import Iterator

import pytest
from openai import OpenAI

from providers.rehearsal import RunningGateway, start_gateway
from tests.providers.rehearsal.client import sdk
from tests.providers.rehearsal.company import Company


@pytest.fixture(scope="session")
def gateway() -> Iterator[RunningGateway]:
    with start_gateway() as running:
        yield running


@pytest.fixture
def client(gateway: RunningGateway) -> Iterator[OpenAI]:
    with sdk(gateway.base_url) as client:
        yield client


@pytest.fixture
def company() -> Iterator[Company]:
    company = Company()
    yield company
    company.close()
