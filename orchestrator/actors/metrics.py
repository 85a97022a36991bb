"""What a campaign tells Prometheus through Ray's exporter (runtime.md section 6).

The scheduler tells how the campaign stands by its store, the hosts count what their models do from
now on: counters begin anew with a host, as Prometheus expects of them. Where the packages of the
exporter are missing, nobody hears any of it, and nothing else happens.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ray.util.metrics import Counter, Gauge

from manifests.errors import StoreError
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.session.events import Answered, Closed, Event, Failed, Halted, WaitBegan
from orchestrator.store import RunStatus, Spent, Store

# How often the scheduler tells how the campaign stands.
_SECONDS: Final = 5.0

COUNTED: Final = {
    "ceo_arena_replies": ("Replies that were stored.", ()),
    "ceo_arena_tokens": ("Tokens of replies, as the services told them.", ("kind",)),
    "ceo_arena_request_failures": ("Requests that ended without a reply.", ("kind",)),
    "ceo_arena_back_offs": ("Back-offs that began.", ()),
    "ceo_arena_back_off_seconds": ("Length of the back-offs that began, in seconds.", ()),
    "ceo_arena_attempts_ended": ("Attempts at company-windows that ended.", ("status",)),
}

SHOWN: Final = {
    "ceo_arena_runs": ("Runs of the campaign.", ("state",)),
    "ceo_arena_windows_settled": ("Windows that all runs have settled.", ()),
    "ceo_arena_days_settled": ("Days that all runs have settled.", ()),
    "ceo_arena_spent_microdollars": (
        "What the models have cost, in millionths of a dollar.",
        ("candidate", "certainty"),
    ),
}


class Measure(NamedTuple):
    """By how much a counter rises, or where a gauge stands; `labels` are those beside the campaign
    and the candidate.
    """

    name: str
    amount: float
    labels: Mapping[str, str] = MappingProxyType({})


class WorkMetrics:
    """The counters of one host, of all candidates of its campaign."""

    def __init__(self, campaign: str) -> None:
        self._counters: dict[str, Any] = {
            name: Counter(name, description, ("campaign", "candidate", *labels))
            for name, (description, labels) in COUNTED.items()
        }
        self._campaign = campaign

    def heard(self, candidate: str, event: Event) -> None:
        """Count what a model did."""
        for name, amount, labels in work_in(event):
            if amount > 0:
                tags = {"campaign": self._campaign, "candidate": candidate, **labels}
                self._counters[name].inc(amount, tags)


class CampaignMetrics:
    """The gauges of one campaign of a store."""

    def __init__(self, store: Store, campaign: str) -> None:
        self._gauges: dict[str, Any] = {
            name: Gauge(name, description, ("campaign", *labels))
            for name, (description, labels) in SHOWN.items()
        }
        self._store = store
        self._campaign = campaign

    async def go_on(self) -> None:
        """Tell how the campaign stands, again and again; a store that cannot be read is no news."""
        while True:
            with suppress(StoreError):
                await asyncio.to_thread(self.show)
            await asyncio.sleep(_SECONDS)

    def show(self) -> None:
        """Tell how the campaign stands. Raises StoreError."""
        statuses = self._store.statuses(self._campaign)
        for name, amount, labels in standing_of(
            statuses, self._store.controls.spent(self._campaign)
        ):
            self._gauges[name].set(amount, {"campaign": self._campaign, **labels})


def work_in(event: Event) -> Iterator[Measure]:
    """What an event that was journaled adds to the counters."""
    if isinstance(event, Answered):
        yield Measure("ceo_arena_replies", 1)
        if event.reply.usage is not None:
            usage = event.reply.usage
            yield Measure("ceo_arena_tokens", usage.input_tokens, {"kind": "input"})
            yield Measure("ceo_arena_tokens", usage.cached_input_tokens, {"kind": "cached_input"})
            yield Measure("ceo_arena_tokens", usage.output_tokens, {"kind": "output"})
            yield Measure("ceo_arena_tokens", usage.reasoning_tokens, {"kind": "reasoning"})
    elif isinstance(event, Failed):
        yield Measure("ceo_arena_request_failures", 1, {"kind": event.fault.kind})
    elif isinstance(event, WaitBegan):
        yield Measure("ceo_arena_back_offs", 1)
        yield Measure("ceo_arena_back_off_seconds", event.seconds)
    elif isinstance(event, Closed):
        yield Measure("ceo_arena_attempts_ended", 1, {"status": event.status.value})
    elif isinstance(event, Halted):
        status = CompanyWindowStatus.PROVIDER_ERROR.value
        yield Measure("ceo_arena_attempts_ended", 1, {"status": status})


def standing_of(statuses: Sequence[RunStatus], spent: Iterable[Spent]) -> Iterator[Measure]:
    """Where the gauges stand; every state has a number."""
    for state in RunState:
        number = sum(status.status is state for status in statuses)
        yield Measure("ceo_arena_runs", number, {"state": state.value})
    yield Measure("ceo_arena_windows_settled", sum(each.world_version for each in statuses))
    yield Measure("ceo_arena_days_settled", sum(each.day for each in statuses))
    for each in spent:
        for certainty in ("known", "uncertain", "set_aside"):
            labels = {"candidate": each.candidate, "certainty": certainty}
            yield Measure("ceo_arena_spent_microdollars", getattr(each, certainty), labels)
