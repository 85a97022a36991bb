"""What a campaign tells Prometheus: what every event adds, and where the gauges stand."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from orchestrator.actors.metrics import COUNTED, SHOWN, Measure, standing_of, work_in
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.events import Closed
from orchestrator.store import Spent, open_store
from tests.orchestrator.cli.rehearsed import DAYS, EVENTS, HALT, NAME, OPEN, make_store

PAGE = Path(__file__).parents[3] / "docs" / "cluster.md"


def totals(measures: Iterable[Measure]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for name, amount, labels in measures:
        shown = "".join(f" {value}" for value in labels.values())
        found[name.removeprefix("ceo_arena_") + shown] += amount
    return dict(found)


def test_what_models_did_is_counted_by_kind() -> None:
    events = (*EVENTS, *HALT, Closed(9.0, CompanyWindowStatus.SEALED, "sealed"))
    assert totals(measure for event in events for measure in work_in(event)) == {
        "replies": 2,
        "tokens input": 300,
        "tokens cached_input": 190,
        "tokens output": 50,
        "tokens reasoning": 5,
        "request_failures transient": 1,
        "request_failures refused": 1,
        "back_offs": 1,
        "back_off_seconds": 2.5,
        "attempts_ended provider_error": 1,
        "attempts_ended sealed": 1,
    }


def test_how_a_campaign_stands_is_told_by_its_store(tmp_path: Path) -> None:
    spent = Spent("writer", known=3_000, uncertain=200, set_aside=10)
    with open_store(str(make_store(tmp_path))) as store:
        statuses = store.statuses(NAME)
        assert [status.key.run_id for status in statuses][-1] == OPEN
        found = totals(standing_of(statuses, [spent]))
    assert found == {
        "runs planned": 1,
        "runs queued": 0,
        "runs running": 0,
        "runs paused": 0,
        "runs completed": 1,
        "runs stopped": 0,
        "windows_settled": 2,
        "days_settled": DAYS,
        "spent_microdollars writer known": 3_000,
        "spent_microdollars writer uncertain": 200,
        "spent_microdollars writer set_aside": 10,
    }


def test_the_page_names_what_ray_exports() -> None:
    """Ray puts its name before a metric's, and behind a counter's what Prometheus expects."""
    row = re.compile(r"^\| `(ray_ceo_arena_\w+)` \| (\w+), [^|]*\| ([^|]*)\|$", re.MULTILINE)
    told = {
        name: (kind, tuple(re.findall("`(.+?)`", labels)))
        for name, kind, labels in row.findall(PAGE.read_text(encoding="utf-8"))
    }
    counters = {
        f"ray_{name}_total": ("counter", ("candidate", *labels))
        for name, (_, labels) in COUNTED.items()
    }
    gauges = {f"ray_{name}": ("gauge", labels) for name, (_, labels) in SHOWN.items()}
    assert told == counters | gauges
