"""From a store to a bundle: one run after the other, each written once and forgotten.

The analysis is computed from the very rows that are written, while they are at hand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec

from campaigns.analysis.evidence import read_evidence
from campaigns.analysis.study import Study, study
from campaigns.analysis.tables import all_tables
from campaigns.plan import PlannedRun
from campaigns.records import (
    TABLES,
    CompanyDayRecord,
    CompanyOutcome,
    CompanyWindowRecord,
    MarketDayRecord,
    NoteRecord,
    QueryRecord,
    Record,
    RunRecord,
)
from campaigns.report.files import INDEX, table_index
from engine.state import WorldState, encode_state
from manifests.bundle import BundleWriter, Predicate, document, new_bundle
from manifests.canonical import parse_json
from manifests.errors import IntegrityError
from manifests.fingerprints import package_version
from manifests.keys import PrivateKey
from manifests.model import CampaignManifest, models_of
from manifests.rows import exact, row_line
from orchestrator.bound import bound_scenario
from orchestrator.bundle import layout
from orchestrator.bundle.conversations import conversations
from orchestrator.bundle.named import from_named, to_named
from orchestrator.bundle.parquet import polars_version, write_frame, write_rows
from orchestrator.bundle.redaction import Redaction, shown_manifest
from orchestrator.bundle.schemas import schemas
from orchestrator.bundle.summary import results
from orchestrator.lifecycle import RunState
from orchestrator.records.source import StoredRun
from orchestrator.store import (
    AttemptStore,
    RunRow,
    RunStore,
    Store,
    StoredCheckpoint,
    read_day,
)

_Row = TypeVar("_Row", bound=Record)

_NULL: Final = msgspec.Raw(b"null")


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export has written; `signed_by` are the ids of the keys."""

    place: str
    campaign: str
    plan_hash: str
    runs: int
    completed: int
    files: int
    signed_by: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return asdict(self)


def export(
    store: Store,
    campaign: str,
    path: Path,
    keys: Sequence[PrivateKey],
    environment: Mapping[str, str],
    *,
    with_conversations: bool,
) -> Exported:
    """Write the signed bundle of a campaign, as far as it went, to a directory or a `.tar` file.

    A campaign that somebody carries out meanwhile is exported up to where each run stands when its
    turn comes. `environment` tells which texts are secret, and is not written anywhere.

    Raises:
        InputError: the place is taken, or the plan holds a secret.
        IntegrityError: what is stored is not what was settled.
        StoreError: the system refuses to write.
    """
    planned = store.catalogue.planned(campaign)
    manifest = planned[0]
    redaction = Redaction.of(store.catalogue.definitions(campaign), environment)
    shown = shown_manifest(manifest, redaction)
    with new_bundle(path) as bundle:
        source = _Source(store, planned, bundle, redaction, with_conversations)
        _write_earlier_plans(bundle, store, campaign, redaction)
        evidence = read_evidence(source)
        found = study([evidence])
        _write_analysis(bundle, found)
        for name, schema in schemas().items():
            bundle.add(f"{layout.SCHEMAS}/{name}", [document(schema)])
        envelope = bundle.seal(
            Predicate(
                written_with={"ceo-arena": package_version(), "polars": polars_version()},
                conversations=with_conversations,
                manifest=shown,
                results=results(evidence, found),
            ),
            keys,
        )
        files = bundle.files
    return Exported(
        place=str(path),
        campaign=campaign,
        plan_hash=manifest.plan_hash,
        runs=len(source.planned),
        completed=source.completed,
        files=files,
        signed_by=tuple(envelope.signatures),
    )


def _write_earlier_plans(
    bundle: BundleWriter, store: Store, campaign: str, redaction: Redaction
) -> None:
    """What an extended campaign was before, and which of its runs began then."""
    for content in store.catalogue.past_manifests(campaign):
        earlier = CampaignManifest.from_json(content, "An earlier manifest of the campaign")
        shown = document(shown_manifest(earlier, redaction))
        bundle.add(layout.earlier_plan_file(earlier.plan_hash), [shown])
    begun = store.catalogue.beginnings(campaign)
    rows = (layout.BeginningRow(run_id=run, plan_hash=begun[run]) for run in sorted(begun))
    bundle.add(layout.BEGINNINGS, map(row_line, rows))


def _write_analysis(bundle: BundleWriter, found: Study) -> None:
    tables = all_tables(found)
    for table in tables.values():
        place = f"{layout.ANALYSIS}/{table.name}"
        bundle.add(f"{place}.csv", [table.frame.write_csv().encode()])
        bundle.add(f"{place}.parquet", [write_frame(table.frame)])
    bundle.add(f"{layout.ANALYSIS}/{INDEX}", [document(table_index(tables.values()))])


class _Source:
    """The campaign's records as they are written: each run is written when it is asked for."""

    def __init__(
        self,
        store: Store,
        planned: tuple[CampaignManifest, list[RunRow]],
        bundle: BundleWriter,
        redaction: Redaction,
        with_conversations: bool,
    ) -> None:
        self.manifest, self._rows = planned
        self.completed = 0
        self._store = store
        self._bundle = bundle
        self._redaction = redaction
        self._with_conversations = with_conversations

    @property
    def label(self) -> str:
        return self.manifest.provenance.campaign

    @property
    def planned(self) -> list[PlannedRun]:
        return [row.planned for row in self._rows]

    def runs(self) -> Iterator["_RunExport"]:
        scenario, models = bound_scenario(self.manifest), frozenset(models_of(self.manifest))
        for row in self._rows:
            run = self._store.run(row.key)
            try:
                records = StoredRun(run, row.planned, scenario, models)
                exported = _RunExport(run, records, row.planned, self._redaction)
                exported.write(self._bundle, self._with_conversations)
                self.completed += exported.run.status == RunState.COMPLETED
                yield exported
            finally:
                run.close()


class _RunExport:
    """One run: what of it is written, and the same rows for the analysis."""

    def __init__(
        self, store: RunStore, records: StoredRun, planned: PlannedRun, redaction: Redaction
    ) -> None:
        # Read first: a run that somebody plays meanwhile is exported as far as it is now.
        self.run = cast("RunRecord", redaction.record(records.run))
        self._store = store
        self._records = records
        self._planned = planned
        self._redaction = redaction
        self._written: dict[type[Record], list[Record]] = {}

    def rows(self, table: type[_Row]) -> Iterator[_Row]:
        """The rows of one table as they are written."""
        return cast("Iterator[_Row]", iter(self._written[table]))

    def write(self, bundle: BundleWriter, with_conversations: bool) -> None:
        """Write all files of the run."""
        folder = layout.run_folder(self._planned)
        planned = document(exact(asdict(self._planned)))
        bundle.add(f"{folder}/{layout.PLANNED}", [planned])
        lines: dict[str, Iterable[msgspec.Struct]] = {
            layout.DECISIONS: self._decisions(),
            layout.RECEIPTS: self._receipts(),
            layout.DAYS: self._days(),
            layout.BOUNDARIES: self._boundaries(),
            layout.ENVIRONMENTS: self._environments(),
            layout.ATTEMPT_FAILURES: self._attempt_failures(),
            layout.FRESH_ATTEMPTS: self._fresh_attempts(),
        }
        if with_conversations:
            lines[layout.CONVERSATIONS] = conversations(self._store, self._redaction)
        for name, rows in lines.items():
            bundle.add(f"{folder}/{name}", map(row_line, rows))
        for name, table in TABLES.items():
            kept = [self._shown(row, with_conversations) for row in self._present(table)]
            self._written[table] = kept
            bundle.add(f"{folder}/{layout.table_file(name)}", [write_rows(table, kept)])

    def _present(self, table: type[Record]) -> Iterator[Record]:
        """The rows of a table up to where the run stood."""
        day, version = self.run.day, self.run.world_version
        for row in self._records.rows(table):
            match row:
                case CompanyDayRecord() | MarketDayRecord() if row.day > day:
                    return
                case CompanyWindowRecord() if row.is_settled and row.world_version >= version:
                    return
                case CompanyOutcome() if self.run.status != RunState.COMPLETED:
                    return
            yield row

    def _shown(self, row: Record, with_conversations: bool) -> Record:
        match row:
            case NoteRecord() if not with_conversations:
                return msgspec.structs.replace(row, text=None)
            case QueryRecord() if not with_conversations:
                return msgspec.structs.replace(row, sql=None)
        return self._redaction.record(row)

    def _decisions(self) -> Iterator[layout.DecisionRow]:
        reached = self.run.world_version
        for window in takewhile(lambda row: row.version < reached, self._store.company_windows()):
            sealed = window.decision_json
            # Checks that the bytes are what was sealed.
            assert (window.decision is None) is (sealed is None)
            yield layout.DecisionRow(
                world_version=window.version,
                seat=window.seat,
                status=window.status.value,
                candidate=window.candidate,
                identity=window.identity,
                decision_digest=window.decision_digest,
                decision=_NULL if sealed is None else msgspec.Raw(sealed),
            )

    def _receipts(self) -> Iterator[layout.ReceiptRow]:
        reached = self.run.world_version
        for stored in takewhile(lambda row: row.version < reached, self._store.receipts()):
            yield layout.ReceiptRow(
                world_version=stored.version,
                seat=stored.seat,
                number=stored.number,
                **msgspec.structs.asdict(stored.receipt),
            )

    def _days(self) -> Iterator[msgspec.Struct]:
        for stored in takewhile(lambda row: row.day <= self.run.day, self._store.days()):
            record = read_day(stored.details, f"the record of day {stored.day}")
            yield layout.DayRow(
                day=stored.day,
                world_version=stored.version,
                state_digest=stored.state_digest,
                record_digest=stored.record_digest,
                public=to_named(record.public),
            )

    def _boundaries(self) -> Iterator[msgspec.Struct]:
        reached = self.run.world_version
        for stored in takewhile(lambda row: row.version <= reached, self._store.checkpoints()):
            yield layout.BoundaryRow(
                world_version=stored.version,
                day=stored.day,
                state_digest=stored.state_digest,
                state=_named_state(self._planned.run_id, stored),
            )

    def _environments(self) -> Iterator[layout.EnvironmentRow]:
        for epoch, content in self._store.environments():
            yield layout.EnvironmentRow(epoch=epoch, **parse_json(content, "an environment"))

    def _attempt_failures(self) -> Iterator[layout.AttemptFailureRow]:
        for failure in sorted(
            AttemptStore(self._store).failures(), key=lambda row: (row.key, row.ordinal)
        ):
            yield layout.AttemptFailureRow(
                world_version=failure.key.version,
                seat=failure.key.seat,
                attempt=failure.key.attempt,
                ordinal=failure.ordinal,
                status=failure.status.value,
                cause=failure.cause,
                needs_person=failure.needs_person,
                reason=self._redaction.text(failure.reason),
                verdict=failure.verdict,
                verdict_reason=self._redaction.text(failure.verdict_reason),
            )

    def _fresh_attempts(self) -> Iterator[layout.FreshAttemptRow]:
        for fresh in AttemptStore(self._store).fresh():
            yield layout.FreshAttemptRow(
                world_version=fresh.key.version,
                seat=fresh.key.seat,
                attempt=fresh.key.attempt,
                granted_by=self._redaction.text(fresh.granted_by),
                reason=self._redaction.text(fresh.reason),
                files_digest=fresh.files_digest,
            )


def _named_state(run_id: str, stored: StoredCheckpoint) -> msgspec.Struct:
    """The state with its fields by name, after making sure that it leads back to the same bytes."""
    named = to_named(stored.world())
    if encode_state(from_named(named, WorldState)) != stored.state:
        raise IntegrityError(
            f"The state of run {run_id} at world version {stored.version} cannot be exported: "
            "it is not in the encoding of this version.",
            "Export it with the version of this package that wrote it.",
        )
    return named
