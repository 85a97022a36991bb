"""Commands that check what a store or a bundle holds."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from manifests.errors import InputError
from manifests.printable import counted
from orchestrator.cli.bundles import BundleOption, checked_bundle
from orchestrator.cli.keys import PublicKeysOption, public_keys
from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    MOST_HOSTS,
    JsonOption,
    NameArgument,
    StoreOption,
    chosen_campaign,
    print_json,
    progress_bar,
)
from orchestrator.cli.tables import print_text

if TYPE_CHECKING:
    from manifests.keys import PublicKey
    from orchestrator.replay import ReplayReport

app = typer.Typer()

_MOST_NAMED: Final = 3


@app.command()
def replay(
    name: NameArgument = None,
    run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="ID", help="Only this run; may be given several times."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="PLACE",
            help="Take only the decisions from the store, and compare with what this one recorded.",
        ),
    ] = None,
    bundle: BundleOption = None,
    key: PublicKeysOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_HOSTS,
            help="How many processes replay.",
            show_default="one for each processor",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Settle every run again from its recorded decisions, and compare all that was recorded.

    Every day's digest and accounts, every window, receipt and Score are compared to the last bit.
    The first difference of a run is named by day, company and field. Ends with 1 when something
    differs, or when a run has no settled window yet and nothing of it could be compared.

    From a bundle nothing else is needed. Its files must be those of its statement and, with --key,
    be signed by the owners of these keys and nobody else.

    JSON: runs, matched, nothing_recorded, complete, days, windows (how many), differences, each
    with run, day, company, field, recorded, recomputed, what.
    """
    workers = jobs or os.cpu_count() or 1
    if bundle is None:
        if key:
            raise InputError("--key is for a bundle.", "Name one with --bundle.")
        report = _replay_store(store, name, run or [], workers, against)
    else:
        if name is not None or against is not None:
            raise InputError("A bundle is replayed by itself.", "Leave out the name and --against.")
        report = _replay_bundle(bundle, public_keys(key), run or [], workers)
    if as_json:
        print_json(report.to_json())
    else:
        _show(report)
    if report.differences or report.nothing_recorded:
        raise typer.Exit(ANSWER_IS_NO)


def _replay_store(
    store: str, name: str | None, run_ids: list[str], jobs: int, against: str | None
) -> "ReplayReport":
    from orchestrator.replay import replay_campaign
    from orchestrator.store import open_store

    with open_store(store) as opened:
        campaign = chosen_campaign(opened, name)
        runs = len(set(run_ids) if run_ids else opened.catalogue.runs(campaign))
    with progress_bar("replaying", runs) as replayed:
        return replay_campaign(store, campaign, run_ids, jobs, against, replayed)


def _replay_bundle(
    bundle: Path, keys: "list[PublicKey]", run_ids: list[str], jobs: int
) -> "ReplayReport":
    from orchestrator.bundle.replay import replay_bundle

    source = checked_bundle(bundle, keys)
    with progress_bar("replaying", len(set(run_ids)) or len(source.planned)) as replayed:
        return replay_bundle(bundle, run_ids, jobs, replayed)


def _show(report: "ReplayReport") -> None:
    found = report.to_json()
    empty = report.nothing_recorded
    notes = []
    if unfinished := sum(run.matches and not run.complete for run in report.runs):
        notes.append(f"{unfinished} of these are not complete, and match as far as they are.")
    if empty:
        more = ", ..." if len(empty) > _MOST_NAMED else ""
        notes.append(
            f"{len(empty)} {'has' if len(empty) == 1 else 'have'} no settled window to compare: "
            f"{', '.join(empty[:_MOST_NAMED])}{more}."
        )
    print_text(
        f"{found['matched']} of {found['runs']} runs match: "
        f"{counted(found['windows'], 'window')} and {counted(found['days'], 'day')} were settled "
        "again.",
        *notes,
        *(f"  {difference}" for difference in report.differences),
    )
