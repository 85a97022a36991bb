"""What a person is told to put right."""

import pytest

from providers.contract import Fault, FaultKind
from providers.remedies import what_to_fix
from tests.providers.asking import KEY_VARIABLE, route


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("refused", 401, KEY_VARIABLE),
        ("refused", 403, "may be used for"),
        ("refused", 402, "needs credit"),
        ("refused", 429, "quota"),
        ("refused", 404, "analyst-1"),
        ("refused", None, "the account"),
        ("identity", None, "accepted_aliases"),
    ],
)
def test_it_is_named(kind: FaultKind, status: int | None, words: str) -> None:
    fault = Fault(kind=kind, message="No.", status=status)
    assert words in what_to_fix(fault, route())


def test_a_page_is_a_wrong_address() -> None:
    described = route(endpoint=None, endpoint_env="ANALYST_URL")
    fault = Fault(kind="refused", code="web_page", message="A page.")
    assert "the base URL in ANALYST_URL: it leads to a web page" in what_to_fix(fault, described)


def test_a_route_by_variables_names_them() -> None:
    described = route(endpoint=None, endpoint_env="ANALYST_URL", credentials="no key")
    assert "ANALYST_URL" in what_to_fix(Fault(kind="refused", message="", status=404), described)
    told = what_to_fix(Fault(kind="refused", message="", status=401), described)
    assert "without a key" in told


@pytest.mark.parametrize("kind", ["transient", "bad_request", "too_long", "protocol"])
def test_other_faults_need_nobody(kind: FaultKind) -> None:
    assert what_to_fix(Fault(kind=kind, message="No.", status=400), route()) == ""
