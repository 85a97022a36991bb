"""Decision health, workload and behaviour, from records that are written out by hand."""

import math
from fractions import Fraction

from campaigns.analysis.behaviour import behaviour
from campaigns.analysis.builds import served_builds
from campaigns.analysis.conduct import SETTINGS, Conduct, Work, conduct
from campaigns.analysis.health import decision_health
from campaigns.analysis.workload import workload
from campaigns.plan import plan
from campaigns.records import Record
from tests.campaigns.analysis.recorded import (
    Recorded,
    answered,
    attempt,
    failure,
    late,
    note,
    query,
    run_record,
    window,
)
from tests.campaigns.builders import campaign

RUN = run_record(plan(campaign(("ada", "bob"), seeds=[1])).runs[0])

ONE: list[Record] = [
    window(0, "sealed", price_settings=4, bid_settings=1),
    attempt(0, "sealed", 5),
    query(0, 1),
    query(0, 2),
    note(0, 3),
    window(1, "sealed", price_settings=2),
    attempt(1, "sealed", 7),
    note(1, 0),
    # Of a reply nobody knows what it took: the window is not counted.
    window(2, "sealed"),
    attempt(2, "sealed", 3, replies_without_usage=1),
    window(0, "sealed", seat=2, candidate="rule", is_model=False, attempts=0, stock_settings=3),
    failure("transient"),
    failure("interrupted"),
    failure("transient"),
]
TWO: list[Record] = [
    # The first attempt failed; its work is told apart, and its queries and notes are not ada's.
    window(0, "sealed", attempts=2),
    attempt(0, "timeout", 9, possibly_billed=2),
    query(0, 1),
    note(0, 50),
    attempt(0, "sealed", 4, attempt=1),
    query(0, 1, attempt_number=1),
    window(1, "budget_exhausted"),
    attempt(1, "budget_exhausted", 32),
    # It is open: its queries wait for its end.
    window(2, "open", is_settled=False),
    attempt(2, "open", 1),
    query(2, 1),
]


def trajectories() -> list[Conduct]:
    return [*conduct(Recorded(RUN, ONE)), *conduct(Recorded(RUN, TWO))]


def test_health_counts_settled_windows_by_status_and_fresh_attempts_apart() -> None:
    ada, everyone = decision_health(["ada"], trajectories())
    assert ada.to_json() == {
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
    assert everyone.to_json() == {**ada.to_json(), "candidate": None}, "a policy is not asked for"
    _, rule, everyone = decision_health(["ada", "rule"], trajectories())
    assert (rule.active, rule.sealed, everyone.active) == (1, 1, 6)


def test_failures_are_counted_by_kind() -> None:
    ada = trajectories()[0]
    assert ada.failures == {"transient": 2, "interrupted": 1}


def test_workload_counts_sealed_windows_with_complete_usage_only() -> None:
    ada, _ = workload(["ada"], trajectories())
    assert (ada.counted.windows, ada.counted.replies) == (3, 5 + 7 + 4)
    assert (ada.counted.output_tokens, ada.counted.tool_calls) == (160, 32)
    assert (ada.apart.windows, ada.apart.replies) == (3, 3 + 9 + 32 + 1)
    assert (ada.apart.replies_without_usage, ada.apart.possibly_billed) == (1, 2)
    assert ada.trajectories == 2
    assert ada.replies_per_trajectory_mean == (12 + 4) / 2
    assert ada.replies_per_trajectory_sd is not None
    assert math.isclose(ada.replies_per_trajectory_sd, math.sqrt(2 * 4**2))


def test_late_replies_are_in_no_other_figure() -> None:
    late_replies = [late(0, (100, 40, 20, 5)), late(0, (100, 40, 20, 5)), late(2, None)]
    before, _ = workload(["ada"], conduct(Recorded(RUN, ONE)))
    ada, _ = workload(["ada"], conduct(Recorded(RUN, [*ONE, *late_replies])))
    assert (ada.counted, ada.apart) == (before.counted, before.apart)
    assert ada.late == Work(
        windows=2,
        replies=3,
        tool_calls=3,
        input_tokens=200,
        cached_input_tokens=80,
        output_tokens=40,
        reasoning_tokens=10,
        replies_without_usage=1,
    )
    assert before.late == Work()


def test_json_has_counted_work_at_the_top_and_the_rest_apart() -> None:
    ada, everyone = (row.to_json() for row in workload(["ada"], trajectories()))
    assert (ada["counted_windows"], ada["replies"], ada["apart"]["replies"]) == (3, 16, 45)
    assert everyone == {**ada, "candidate": None}


def test_behaviour_is_over_settled_windows_and_their_last_attempts() -> None:
    ada, rule = behaviour(["ada", "rule"], trajectories())
    assert (ada.windows, ada.unsealed) == (5, 1)
    assert ada.settings["price_settings"] == 6
    assert ada.per_window(ada.settings["price_settings"]) == Fraction(6, 5)
    assert (ada.queries, ada.notes, ada.statements) == (3, 2, 3)
    assert ada.statements_per_note == 1.5
    assert rule.settings == {name: 3 if name == "stock_settings" else 0 for name in SETTINGS}
    assert rule.statements_per_note is None


def test_nothing_played_is_nothing_and_no_mean() -> None:
    (everyone,) = decision_health([], [])
    assert everyone.unsealed_rate is None
    (work,) = workload([], [])
    assert work.replies_per_trajectory_mean is None
    alone = conduct(Recorded(RUN, ONE))[:1]
    _, work = workload(["ada"], alone)
    assert (work.replies_per_trajectory_mean, work.replies_per_trajectory_sd) == (12.0, None)
    (nobody,) = behaviour(["bob"], alone)
    assert nobody.per_window(0) is None


def test_a_model_that_its_vendor_changes_on_the_way_is_told() -> None:
    replies = [
        *(answered(0, build="fp-1"), answered(0, build="fp-1", request=2)),
        *(answered(1, build="fp-2"), answered(2)),
    ]
    windows = [window(version, "sealed") for version in range(3)]
    attempts = [attempt(version, "sealed", 1) for version in range(3)]

    ada, bob = served_builds(
        ["ada", "bob"], conduct(Recorded(RUN, [*windows, *attempts, *replies]))
    )

    assert ada.to_json() == {
        "candidate": "ada",
        "replies": {"fp-1": 2, "fp-2": 1},
        "changed": True,
    }
    assert (bob.replies, bob.changed) == ({}, False)
