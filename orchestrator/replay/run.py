"""One run settled again, and everything recorded about it compared on the way."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby, takewhile
from operator import attrgetter
from typing import Any, Final

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from campaigns.plan import PlannedRun
from engine.decision import CompanyDecision, InvalidDecision, company_name
from engine.records import CompanyDay, DayRecord
from engine.scenario import Scenario
from engine.settle import Settlement, initial_state, settle_window
from engine.state import WorldState, encode_state, encoded_state_digest
from engine.streams import Streams
from manifests.canonical import digest_bytes
from manifests.errors import ArenaError, IntegrityError
from orchestrator.lifecycle import SETTLED, RunState
from orchestrator.outcomes import Totals, company_outcomes
from orchestrator.records.accounts import daily_units
from orchestrator.replay.cursor import Cursor
from orchestrator.replay.differences import (
    Difference,
    FieldDifference,
    json_difference,
    record_difference,
    restored,
    unreadable,
)
from orchestrator.replay.recorded import (
    RecordedBoundary,
    RecordedCompanyDay,
    RecordedDay,
    RecordedRun,
)
from orchestrator.replay.reports import RunReport
from orchestrator.store import CompanyWindow, RunStatus, company_day_columns, day_digest
from orchestrator.store.codec import company_day_details, day_details, read_decision

MISSING: Final = "missing"
PRESENT: Final = "present"


class RunReplay:
    """A run from day 0 by the decisions in `decided`, compared with the rest of `recorded`.

    Both are the same, unless the decisions come from a copy. `identities` says under which
    name every candidate decides.
    """

    def __init__(
        self,
        planned: PlannedRun,
        scenario: Scenario,
        identities: Mapping[str, str],
        decided: RecordedRun,
        recorded: RecordedRun,
    ) -> None:
        self._planned = planned
        self._scenario = scenario
        self._identities = identities
        self._decided = decided
        self._recorded = recorded
        self._streams = Streams(planned.seed)
        self._totals = Totals(len(planned.lineup))
        self._state = initial_state(scenario, self._streams, len(planned.lineup))

    def report(self) -> RunReport:
        """Replay to the end, or to the first difference."""
        try:
            difference = next(self._differences(), None)
        except (
            ArenaError,
            SQLAlchemyError,
            msgspec.MsgspecError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            # Whatever a damaged row makes of the code that reads it.
            difference = self._found(
                "the database", FieldDifference("row", unreadable(error), None)
            )
        complete = self._state.day >= self._scenario.horizon_days
        return RunReport(
            self._planned.run_id, self._state.day, self._state.version, difference, complete
        )

    def _found(
        self,
        what: str,
        field: FieldDifference,
        *,
        seat: int | None = None,
        day: int | None = None,
    ) -> Difference:
        return Difference(
            run=self._planned.run_id,
            day=self._state.day if day is None else day,
            company=None if seat is None else company_name(seat),
            field=field.field,
            recorded=field.recorded,
            recomputed=field.recomputed,
            what=what,
        )

    def _differences(self) -> Iterator[Difference]:
        # Read first: a run that somebody plays meanwhile is replayed as far as it is now.
        status = self._recorded.status()
        last_day, reached = _frontier(status)
        recorded = self._recorded
        days = Cursor(recorded.days(), lambda row: row.day, last_day)
        company_days = Cursor(recorded.company_days(), lambda row: row.day, last_day)
        checkpoints = Cursor(recorded.checkpoints(), lambda row: row.version, reached)
        receipts = Cursor(recorded.receipts(), lambda row: row.version, reached - 1)
        windows = Cursor(recorded.company_windows(), lambda row: row.version, reached - 1)
        taken = takewhile(lambda row: row.version < reached, self._decided.company_windows())
        if windows.following() is not None or checkpoints.following() is not None:
            yield from self._checkpoint_differences(self._state, checkpoints.up_to(0))
        for version, group in groupby(taken, attrgetter("version")):
            decided = list(group)
            if version != self._state.version:
                yield self._presence("a window", f"world version {self._state.version}", MISSING)
            yield from self._window_differences(decided, windows.up_to(version))
            try:
                settlement = self._settled(decided)
            except InvalidDecision as error:
                field = FieldDifference("decision", "; ".join(error.problems), "what is allowed")
                yield replace(self._found("the decision", field), company=error.company)
                return
            last = settlement.state.day
            yield from self._day_differences(settlement, days.up_to(last), company_days.up_to(last))
            yield from self._receipt_differences(settlement, receipts.up_to(version))
            yield from self._checkpoint_differences(
                settlement.state, checkpoints.up_to(version + 1)
            )
            self._state = settlement.state
        for what, cursor in (
            ("a day", days),
            ("a company-day", company_days),
            ("a checkpoint", checkpoints),
            ("a receipt", receipts),
            ("a decision", windows),
        ):
            if cursor.following() is not None:
                yield self._presence(what, "row after the last decision", PRESENT)
        yield from self._end_differences(status)

    def _presence(
        self,
        what: str,
        field: str,
        recorded: str,
        *,
        seat: int | None = None,
        day: int | None = None,
    ) -> Difference:
        expected = PRESENT if recorded == MISSING else MISSING
        return self._found(what, FieldDifference(field, recorded, expected), seat=seat, day=day)

    def _settled(self, windows: list[CompanyWindow]) -> Settlement:
        decisions: dict[int, CompanyDecision | None] = {
            window.seat: window.decision for window in windows
        }
        settlement = settle_window(self._scenario, self._streams, self._state, decisions)
        self._totals.add(settlement.days)
        return settlement

    def _window_differences(
        self, decided: list[CompanyWindow], recorded: list[CompanyWindow]
    ) -> Iterator[Difference]:
        active = [seat for seat, firm in enumerate(self._state.firms, start=1) if firm.active]
        found = {window.seat: window for window in decided}
        for seat in sorted({*active, *found}):
            if (seat in found) is not (seat in active):
                state = PRESENT if seat in found else MISSING
                yield self._presence("a decision", "row", state, seat=seat)
                continue
            yield from self._decision_differences(found[seat])
        originals = {window.seat: window for window in recorded}
        for window in decided:
            original = originals.get(window.seat)
            if original is None:
                yield self._presence("the original's decision", "row", MISSING, seat=window.seat)
            elif (original.decision_json, original.status) != (window.decision_json, window.status):
                field = json_difference(
                    "decision", window.decision_json or b"null", original.decision_json or b"null"
                ) or FieldDifference("status", window.status, original.status)
                yield self._found("a decision and its original", field, seat=window.seat)

    def _decision_differences(self, window: CompanyWindow) -> Iterator[Difference]:
        candidate = self._planned.lineup[window.seat - 1]
        expected = {"candidate": candidate, "identity": self._identities.get(candidate)}
        for name, value in expected.items():
            found = getattr(window, name)
            if found != value:
                field = FieldDifference(name, found, value)
                yield self._found("the decision", field, seat=window.seat)
        if window.status not in SETTLED:
            field = FieldDifference("status", window.status, "a settled status")
            yield self._found("the decision", field, seat=window.seat)
        content, digest = window.decision_json, window.decision_digest
        if content is None:
            if digest is not None:
                field = FieldDifference("decision", MISSING, digest)
                yield self._found("the decision", field, seat=window.seat)
            return
        if digest_bytes(content) != digest:
            original = restored(content, digest)
            damage = None if original is None else json_difference("decision", content, original)
            field = damage or FieldDifference("decision_digest", digest, digest_bytes(content))
            yield self._found("the decision that was sealed", field, seat=window.seat)
        try:
            read_decision(content, "the decision")
        except IntegrityError as error:
            field = FieldDifference("decision", unreadable(error), "a decision")
            yield self._found("the decision", field, seat=window.seat)

    def _day_differences(
        self,
        settlement: Settlement,
        days: list[RecordedDay],
        company_days: list[RecordedCompanyDay],
    ) -> Iterator[Difference]:
        found = {row.day: row for row in days}
        companies: dict[int, dict[int, RecordedCompanyDay]] = {}
        for row in company_days:
            companies.setdefault(row.day, {})[row.seat] = row
        for record in settlement.days:
            of_day = companies.pop(record.day, {})
            for company in record.companies:
                yield from self._company_day_differences(
                    record.day, company, of_day.pop(company.seat, None)
                )
            for seat in of_day:
                yield self._presence("a company-day", "row", PRESENT, seat=seat, day=record.day)
            yield from self._market_day_differences(settlement, record, found.pop(record.day, None))
        for day in [*found, *companies]:
            yield self._presence("a day", "row", PRESENT, day=day)

    def _company_day_differences(
        self, day: int, expected: CompanyDay, row: RecordedCompanyDay | None
    ) -> Iterator[Difference]:
        seat = expected.seat
        if row is None:
            yield self._presence("a company-day", "row", MISSING, seat=seat, day=day)
            return
        if row.details is not None:
            field = record_difference(row.details, expected, company_day_details)
            if field is not None:
                yield self._found("the company-day", field, seat=seat, day=day)
        accounts = company_day_columns(expected) | daily_units(expected)
        for name, found in row.columns.items():
            if found != accounts[name]:
                column = FieldDifference(name, found, accounts[name])
                yield self._found("a column of the company-day", column, seat=seat, day=day)

    def _market_day_differences(
        self, settlement: Settlement, expected: DayRecord, row: RecordedDay | None
    ) -> Iterator[Difference]:
        day = expected.day
        if row is None:
            yield self._presence("a day", "row", MISSING, day=day)
            return
        if row.details is not None:
            market = msgspec.structs.replace(expected, companies=[])
            field = record_difference(row.details, market, day_details)
            if field is not None:
                yield self._found("the day", field, day=day)
        if row.public is not None:
            encode = msgspec.msgpack.encode
            field = record_difference(encode(row.public), expected.public, encode)
            if field is not None:
                yield self._found("what is public of the day", field, day=day)
        columns: dict[str, Any] = {
            "version": settlement.state.version - 1,
            "state_digest": expected.state_digest,
            "record_digest": day_digest(expected),
        }
        for name, value in columns.items():
            if getattr(row, name) != value:
                column = FieldDifference(name, getattr(row, name), value)
                yield self._found("the day", column, day=day)

    def _receipt_differences(self, settlement: Settlement, rows: list[Any]) -> Iterator[Difference]:
        expected = {
            (seat, number): receipt
            for seat, of_seat in settlement.receipts.items()
            for number, receipt in enumerate(of_seat, start=1)
        }
        found = {(row.seat, row.number): row.receipt for row in rows}
        for seat, number in sorted({*expected, *found}):
            here, there = expected.get((seat, number)), found.get((seat, number))
            if here is None or there is None:
                state = MISSING if there is None else PRESENT
                yield self._presence(f"receipt {number}", "row", state, seat=seat)
                continue
            for name in here.__struct_fields__:
                recorded, value = getattr(there, name), getattr(here, name)
                if recorded != value:
                    field = FieldDifference(name, recorded, value)
                    yield self._found(f"receipt {number}", field, seat=seat)

    def _checkpoint_differences(
        self, state: WorldState, rows: list[RecordedBoundary]
    ) -> Iterator[Difference]:
        if not rows:
            yield self._presence("a checkpoint", "row", MISSING, day=state.day)
            return
        row = rows[0]
        field = record_difference(row.state, state, encode_state)
        if field is not None:
            yield self._found("the state", field, seat=_seat_in(field.field), day=state.day)
        columns: dict[str, Any] = {
            "version": state.version,
            "day": state.day,
            "state_digest": encoded_state_digest(encode_state(state)),
        }
        for name, value in columns.items():
            if getattr(row, name) != value:
                column = FieldDifference(name, getattr(row, name), value)
                yield self._found("the checkpoint", column, day=state.day)

    def _end_differences(self, status: RunStatus) -> Iterator[Difference]:
        state = self._state
        finished = state.day >= self._scenario.horizon_days
        expected: dict[str, Any] = {
            "world_version": state.version,
            "day": state.day,
            "completed": finished,
            "exits": {
                seat: firm.exit_day
                for seat, firm in enumerate(state.firms, start=1)
                if firm.exit_day is not None
            },
        }
        recorded: dict[str, Any] = {
            "world_version": status.world_version,
            "day": status.day,
            "completed": status.status is RunState.COMPLETED,
            "exits": dict(status.exits),
        }
        for name, value in expected.items():
            if recorded[name] != value:
                field = FieldDifference(name, recorded[name], value)
                yield self._found("the state of the run", field)
        yield from self._outcome_differences(finished)

    def _outcome_differences(self, finished: bool) -> Iterator[Difference]:
        found = {outcome.seat: outcome for outcome in self._recorded.outcomes()}
        expected = {}
        if finished:
            campaign = self._recorded.key.campaign
            outcomes = company_outcomes(
                campaign, self._planned, self._scenario, self._state, self._totals
            )
            expected = {outcome.seat: outcome for outcome in outcomes}
        for seat in sorted({*expected, *found}):
            if seat not in expected or seat not in found:
                state = PRESENT if seat in found else MISSING
                yield self._presence("an outcome", "row", state, seat=seat)
                continue
            recorded = found[seat].to_json()
            for name, value in expected[seat].to_json().items():
                if recorded[name] != value:
                    field = FieldDifference(name, recorded[name], value)
                    yield self._found("the outcome", field, seat=seat)


def _frontier(status: RunStatus) -> tuple[float, float]:
    """The day and world version up to which a run's rows are compared: all, unless it is played."""
    if status.status is RunState.RUNNING:
        return status.day, status.world_version
    return math.inf, math.inf


def _seat_in(path: str) -> int | None:
    """The seat of the company to which a path such as `firms[3].cash_cents` belongs."""
    if not path.startswith("firms["):
        return None
    return int(path[len("firms[") : path.index("]")])
