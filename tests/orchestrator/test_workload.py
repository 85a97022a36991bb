"""Decision health and workload, from company-windows that are written out by hand."""

import math
from dataclasses import replace
from typing import Any

from orchestrator.lifecycle import CompanyWindowStatus as Status
from orchestrator.session.allowance import Use
from orchestrator.session.reading import Attempt, LateAnswer, WindowRecord
from orchestrator.session.state import Counts
from orchestrator.workload import Work, conduct
from providers.contract import Usage
from tests.orchestrator.cli.rehearsed import reply


def attempt(number: int, status: Status, replies: int, **counts: int) -> Attempt:
    return Attempt(
        number=number,
        status=status,
        reason="",
        use=Use(replies=replies, output_tokens=10 * replies),
        counts=Counts(**{"output_tokens": 10 * replies, "tool_calls": 2 * replies, **counts}),
    )


def window(
    run: str, version: int, status: Status, *attempts: Attempt, **other: Any
) -> WindowRecord:
    parts: dict[str, Any] = {
        "run_id": run,
        "version": version,
        "day": 7 * version,
        "seat": 1,
        "candidate": "ada",
        "status": status,
        "reason": "",
        "settled": True,
        "attempts": attempts,
    }
    return WindowRecord(**{**parts, **other})


RECORDS = [
    window("one", 0, Status.SEALED, attempt(0, Status.SEALED, 5)),
    window("one", 1, Status.SEALED, attempt(0, Status.SEALED, 7)),
    # Of a reply nobody knows what it took: the window is not counted.
    window("one", 2, Status.SEALED, attempt(0, Status.SEALED, 3, replies_without_usage=1)),
    # The first attempt failed; its work is told apart.
    window(
        "two",
        0,
        Status.SEALED,
        attempt(0, Status.TIMEOUT, 9, possibly_billed=2),
        attempt(1, Status.SEALED, 4),
    ),
    window("two", 1, Status.BUDGET_EXHAUSTED, attempt(0, Status.BUDGET_EXHAUSTED, 32)),
    window("two", 2, Status.OPEN, attempt(0, Status.OPEN, 1), settled=False),
    window("one", 0, Status.SEALED, seat=2, candidate="rule"),
    window("one", 0, Status.PROTOCOL_ERROR, attempt(0, Status.PROTOCOL_ERROR, 2), candidate="bob"),
    window("two", 0, Status.TIMEOUT, attempt(0, Status.TIMEOUT, 0), candidate="bob"),
]


def test_health_counts_settled_windows_by_status_and_failed_attempts_apart() -> None:
    found = conduct(["ada", "bob"], RECORDS)
    ada, bob = (row.to_json() for row in found.health)
    assert ada == {
        "candidate": "ada",
        "active": 5,
        "sealed": 4,
        "budget_exhausted": 1,
        "timeout": 0,
        "protocol_error": 0,
        "open": 1,
        "fresh_attempts": 1,
        "failed_attempts": 1,
        "unsealed_rate": 0.2,
    }
    assert (bob["active"], bob["timeout"], bob["protocol_error"]) == (2, 1, 1)
    assert bob["unsealed_rate"] == 1.0
    everyone = found.health_of_all
    assert (everyone.active, everyone.sealed, everyone.open) == (7, 4, 1), "a policy is no model"


def test_workload_counts_sealed_windows_with_complete_usage_only() -> None:
    ada = conduct(["ada"], RECORDS).workload[0]
    assert (ada.counted.windows, ada.counted.replies) == (3, 5 + 7 + 4)
    assert (ada.counted.output_tokens, ada.counted.tool_calls) == (160, 32)
    assert (ada.apart.windows, ada.apart.replies) == (3, 3 + 9 + 32 + 1)
    assert (ada.apart.replies_without_usage, ada.apart.possibly_billed) == (1, 2)
    assert ada.trajectories == 2
    assert ada.replies_per_trajectory_mean == (12 + 4) / 2
    assert ada.replies_per_trajectory_sd is not None
    assert math.isclose(ada.replies_per_trajectory_sd, math.sqrt(2 * 4**2))


def test_late_replies_are_in_no_other_figure() -> None:
    usage = Usage(input_tokens=100, cached_input_tokens=40, output_tokens=20, reasoning_tokens=5)
    late = [
        LateAnswer(attempt=0, request=number, owner="a host", epoch=1, reply=reply(usage=found))
        for number, found in enumerate((usage, usage, None), start=1)
    ]
    records = [
        replace(RECORDS[0], late=tuple(late[:2])),
        replace(RECORDS[5], late=tuple(late[2:])),
        *RECORDS[1:5],
    ]
    ada = conduct(["ada"], records).workload[0]
    before = conduct(["ada"], RECORDS[:6]).workload[0]
    assert (ada.counted, ada.apart) == (before.counted, before.apart)
    assert ada.late == Work(
        windows=2,
        replies=3,
        input_tokens=200,
        cached_input_tokens=80,
        output_tokens=40,
        reasoning_tokens=10,
        replies_without_usage=1,
    )
    assert before.late == Work()


def test_json_has_counted_work_at_the_top_and_the_rest_apart() -> None:
    data = conduct(["ada"], RECORDS).to_json()
    (ada,) = data["workload"]["candidates"]
    assert (ada["counted_windows"], ada["replies"], ada["apart"]["replies"]) == (3, 16, 45)
    assert data["workload"]["all"] == {**ada, "candidate": None}


def test_nothing_played_is_nothing_and_no_mean() -> None:
    found = conduct(["ada"], [])
    assert found.health_of_all.unsealed_rate is None
    assert found.workload_of_all.replies_per_trajectory_mean is None
    one = conduct(["ada"], RECORDS[:1]).workload_of_all
    assert (one.replies_per_trajectory_mean, one.replies_per_trajectory_sd) == (5.0, None)
