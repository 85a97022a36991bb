"""A window that goes through everything, and a campaign of which one request in twenty fails."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.lifecycle import SETTLED, RunState
from orchestrator.session.events import Answered, Asked, Event, Interrupted, WaitBegan
from orchestrator.store import RunKey
from tests.orchestrator.session.rehearsal import (
    NAME,
    Rehearsal,
    at,
    campaign,
    rehearsal,
    run_id,
)
from tests.providers.rehearsal.windows import PROTOCOLS

AGENT: Final = "analyst"
CUT: Final = at(AGENT, 4, fault="cut-by-length")
DISTURBED: Final = [
    at(AGENT, 2, fault="refuse", status=429, retry_after_seconds=90),
    at(AGENT, 3, fault="cut-stream"),
    at(AGENT, 3, fault="delay", seconds=600),
    at(AGENT, 5, fault="refuse", status=400),
    CUT,
]


def data(protocol: str) -> dict[str, Any]:
    return campaign([AGENT, "minimalist"], [11], {AGENT: {"protocol": protocol}})


def last_request(played: Rehearsal) -> str:
    return [each for each in played.events(11, 1) if isinstance(each, Asked)][-1].request_digest


def decision(played: Rehearsal) -> str | None:
    windows = list(played.store.run(RunKey(NAME, run_id(11))).company_windows())
    return windows[0].decision_digest


def is_under_way(events: Sequence[Event], request: int) -> bool:
    """Whether the request of this ordinal is the last thing that happened."""
    return bool(events) and isinstance(events[-1], Asked) and events[-1].ordinal == request


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_window_through_everything_ends_as_one_that_nothing_happened_to(
    tmp_path: Path, protocol: str
) -> None:
    with rehearsal(tmp_path / "calm", data(protocol), [CUT]) as calm:
        assert calm.play(11) is RunState.COMPLETED
        expected = (last_request(calm), decision(calm), calm.window(11, 1).use)
    with rehearsal(tmp_path / "rough", data(protocol), DISTURBED) as played:
        # Requests 1 and 3 are answered; 2 is told to wait, 4 loses its stream, 5 hangs.
        played.lose_host(11, lambda: is_under_way(played.events(11, 1), 5))
        assert played.play(11) is RunState.COMPLETED
        found = played.window(11, 1)
        digest, sealed, use = expected
        # A digest of the body that was sent: equal byte for byte.
        assert (last_request(played), decision(played)) == (digest, sealed)
        assert (found.use.replies, found.use.output_tokens) == (use.replies, use.output_tokens)
        check_that_all_adds_up(played)


def check_that_all_adds_up(played: Rehearsal) -> None:
    events, record = played.events(11, 1), played.window(11, 1)
    asked = [each for each in events if isinstance(each, Asked)]
    answered = [each for each in events if isinstance(each, Answered)]
    assert len([each for each in events if isinstance(each, Interrupted)]) == 1
    # 429, cut stream, 400.
    assert record.counts.faults == 3
    # The cut stream, and the request that its host did not live to see answered.
    assert record.counts.possibly_billed == 2
    assert len(asked) == len(answered) + 3 + 1
    waited = sum(each.seconds for each in events if isinstance(each, WaitBegan))
    assert waited >= 91
    seconds = [each.active_seconds for each in events]
    assert seconds == sorted(seconds)
    assert waited <= record.use.seconds < waited + 600, "the request that hung was never waited out"
    assert any(each.reply.stop == "length" for each in answered)
    counted = played.gateway.statistics()
    assert counted["faults"] == {
        "cut-by-length": 1,
        "cut-stream": 1,
        "delay": 1,
        "refuse 400": 1,
        "refuse 429": 1,
    }


# --- one request in twenty ------------------------------------------------------------------------

AGENTS: Final = (
    *("analyst", "trader", "builder", "researcher"),
    *("bidder", "diarist", "gambler", "apprentice"),
)
TWENTIETH: Final = [
    {"fault": "refuse", "status": 429, "retry_after_seconds": 3, "rate": 0.01},
    {"fault": "cut-stream", "rate": 0.01},
    {"fault": "refuse", "status": 503, "page": True, "rate": 0.008},
    {"fault": "error-in-stream", "code": "overloaded_error", "rate": 0.007},
    {"fault": "refuse", "status": 400, "rate": 0.005},
    {"fault": "leave-out-usage", "rate": 0.005},
    {"fault": "cut-by-length", "rate": 0.005},
]


def test_with_a_twentieth_of_faults_every_window_closes_and_is_explained(tmp_path: Path) -> None:
    spread = {
        agent: {"protocol": PROTOCOLS[number % len(PROTOCOLS)]}
        for number, agent in enumerate(AGENTS)
    }
    described = campaign(AGENTS, [11], spread) | {"horizon_days": 21}
    with rehearsal(tmp_path, described, TWENTIETH) as played:
        assert played.play(11) is RunState.COMPLETED
        records = played.windows(11)
        assert len(records) == 3 * len(AGENTS)
        assert all(record.settled and record.status in SETTLED for record in records)
        assert all(record.status == "sealed" or record.reason for record in records)
        counts = [record.counts for record in records]
        struck = played.gateway.statistics()["faults"]
        assert sum(struck.values()) > 5, "the plan has struck"
        # Every fault is in the store, none is there twice.
        lost = sum(struck.values()) - struck.get("cut-by-length", 0)
        assert sum(each.faults + each.replies_without_usage for each in counts) == lost
        billed = struck.get("cut-stream", 0) + struck.get("error-in-stream", 0)
        assert sum(each.possibly_billed for each in counts) == billed
