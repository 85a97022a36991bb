"""Commands that carry a campaign out, and those that follow it from any shell."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    AddressOption,
    CampaignArgument,
    Column,
    DaysOption,
    FaultsOption,
    HostsOption,
    JsonOption,
    NameArgument,
    ReasonOption,
    RunOption,
    SeatOption,
    StoreOption,
    chosen_campaign,
    notice,
    print_json,
    tell_made_again,
)
from orchestrator.cli.steering import DayOption, resume_below
from orchestrator.cli.tables import print_table, print_text

if TYPE_CHECKING:
    from orchestrator.status.progress import CampaignProgress
    from orchestrator.store import Store

app = typer.Typer()

_LOOK_SECONDS: Final = 1.0


@app.command()
def launch(
    campaign: CampaignArgument,
    days: DaysOption = None,
    store: StoreOption = DEFAULT_STORE,
    hosts: HostsOption = None,
    address: AddressOption = None,
    faults: FaultsOption = None,
    extend: Annotated[
        bool,
        typer.Option(
            "--extend",
            help="Extend the campaign of this name by what its file has now: seeds, repeats, "
            "lineups. Runs whose inputs are unchanged are kept.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Carry a campaign out on Ray, follow it, and print its results.

    The campaign is frozen before its first run starts. Launched again, it goes on where it stood,
    under what its file says now of limits, endpoints and keys, as far as that decides no result.
    Ctrl-C leaves it without harm; with --address it goes on without the command.

    A campaign that is to play against the rehearsal gateway gets one for the time of the command,
    unless CEO_ARENA_REHEARSAL_URL names one.

    A short form bears the campaign's name; keep it in another store than the whole one.

    Ends with 1 when the campaign did not come to its end, or a model sealed nothing because its
    service failed. JSON: as `results` gives it.
    """
    from campaigns.definition import load_definition
    from campaigns.plan import plan
    from orchestrator.actors.cluster import check_address
    from orchestrator.cli.carrying import carry_out, check_caps_known, created
    from orchestrator.store import DesiredState

    check_address(address)
    planned = plan(load_definition(campaign).short_form(days))
    with created(planned, store, address, extend) as (opened, name):
        check_caps_known(opened, name)
        found = opened.catalogue.campaign(name)
        if found.desired is not DesiredState.RUNNING:
            because = f" ({found.reason})" if found.reason else ""
            notice(f"Campaign {name} was {found.desired}{because}. Launched again, it goes on.")
            opened.catalogue.set_desired(name, DesiredState.RUNNING, "launched again")
        if days is not None:
            notice(f"A short form of {name}, {days} days; its plan hash is its own.")
        _finish(opened, carry_out(opened, name, hosts, address, faults), as_json)


@app.command()
def resume(
    name: NameArgument = None,
    run: RunOption = None,
    seat: SeatOption = None,
    day: DayOption = None,
    store: StoreOption = DEFAULT_STORE,
    reason: ReasonOption = "",
    hosts: HostsOption = None,
    address: AddressOption = None,
    faults: FaultsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a campaign that was paused, left, or interrupted, and print its results.

    Runs that were paused or stopped go on as well, except those that are held
    themselves: resume these with --run. With --run, nothing is carried out
    here: the run, or a company-window of it, is let go on.

    JSON: as `results` gives it; with --run as `pause` does.
    """
    from orchestrator.actors.cluster import check_address
    from orchestrator.binding import check_package
    from orchestrator.cli.carrying import carry_out, check_caps_known
    from orchestrator.status.progress import ProgressReader
    from orchestrator.store import DesiredState, open_store

    check_address(address)
    with open_store(store) as opened:
        name = chosen_campaign(opened, name)
        check_caps_known(opened, name)
        if run is not None or seat is not None or day is not None:
            resume_below(opened, name, (run, day, seat), reason, as_json)
            return
        progress = ProgressReader(opened, name).read()
        if not progress.finished:
            check_package(opened.catalogue.manifest(name))
            found = opened.catalogue.campaign(name)
            owner = progress.owner
            at_rest = found.desired is not DesiredState.RUNNING
            if owner is None or at_rest:
                opened.catalogue.set_desired(name, DesiredState.RUNNING, reason)
            if owner is not None and at_rest:
                notice(f"Campaign {name} goes on, carried out by {owner}.")
                return
            progress = carry_out(opened, name, hosts, address, faults)
        _finish(opened, progress, as_json)


@app.command()
def status(
    name: NameArgument = None,
    store: StoreOption = DEFAULT_STORE,
    runs: Annotated[bool, typer.Option("--runs", help="Show every run.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show how the campaigns of a store stand, or one of them.

    JSON: campaign, plan_hash, desired, reason, owner (who carries it out, or null), obstacle (why
    nothing can be written into the store, such as a full disk, or empty), finished, runs
    (total, and how many are in each state), windows and days (settled, total), bankruptcies,
    seconds_left, spent_microdollars, projected_microdollars; with --runs also matrix: each with
    run, group, repeat, seed, lineup, state, reason, windows, days, exits (seat to day), owner,
    window_seconds, barrier. Without a name, campaigns: a list of these.
    """
    from orchestrator.status.progress import ProgressReader
    from orchestrator.store import open_store

    with open_store(store) as opened:
        names = [name] if name is not None else [row.name for row in opened.catalogue.campaigns()]
        tell_made_again(opened, names)
        found = [ProgressReader(opened, each).read() for each in names]
    if as_json:
        documents = [progress.to_json(runs) for progress in found]
        print_json({"campaigns": documents} if name is None else documents[0])
        return
    if not found:
        notice("The store has no campaign. Launch one: ceo-arena launch rehearsal")
    for progress in found:
        _show(progress, runs)


@app.command()
def watch(
    name: NameArgument = None,
    store: StoreOption = DEFAULT_STORE,
    browser: Annotated[
        bool,
        typer.Option("--browser", help="Serve a live page on this machine, until Ctrl-C."),
    ] = False,
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=65_535,
            help="The port of the live page.",
            show_default="any free one",
        ),
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object on a line after each change.")
    ] = False,
) -> None:
    """Follow a campaign that is carried out anywhere, until it ends or pauses.

    With --browser, serve a page that shows the runs by state, who holds their
    barriers, failures, spending and cash. It only reads, answers on 127.0.0.1
    alone, and goes on when the campaign ends or starts again.

    Ends with 1 when it is not complete. JSON: as `status` gives it; with
    --browser the page's url.
    """
    from orchestrator.cli.watching import view
    from orchestrator.status.progress import ProgressReader
    from orchestrator.store import open_store

    with open_store(store) as opened:
        name = chosen_campaign(opened, name)
    if browser:
        _serve(store, name, port, as_json)
        return
    with open_store(store) as opened:
        reader = ProgressReader(opened, name)
        with view(as_json) as shown:
            while (progress := reader.read()).owner is not None:
                shown.show(progress)
                time.sleep(_LOOK_SECONDS)
            shown.close(progress)
    _say_where_it_stands(progress, store)
    if not progress.finished:
        raise typer.Exit(ANSWER_IS_NO)


def _serve(location: str, name: str, port: int, as_json: bool) -> None:
    from orchestrator.status.live import serve_live

    def told(address: str) -> None:
        if as_json:
            print_json({"url": address})
        else:
            notice(f"The live view of {name} is {address} (Ctrl-C ends it)")

    serve_live(location, name, port, told)


def _finish(store: "Store", progress: "CampaignProgress", as_json: bool) -> None:
    """Print the results of a campaign that came to rest; exit with 1 if they are no answer."""
    from orchestrator.cli.experiments import print_results

    answers = False
    if progress.finished or as_json:
        answers = print_results(store, progress.campaign, as_json)
    _say_where_it_stands(progress, store.location)
    if not (progress.finished and answers):
        raise typer.Exit(ANSWER_IS_NO)


def _say_where_it_stands(progress: "CampaignProgress", location: str) -> None:
    from orchestrator.cli.carrying import how_to_resume
    from orchestrator.status.waiting import why_at_rest
    from orchestrator.store import CAP_REACHED

    if progress.finished:
        return
    for run in progress.waiting:
        notice(f"Run {run.planned.run_id} is {run.state}: {why_at_rest(progress, run)}")
    at_rest = progress.desired in ("paused", "stopped")
    state = progress.desired if at_rest else "not complete, and nobody carries it out"
    capped = any(CAP_REACHED in run.reason for run in progress.waiting)
    how = how_to_resume(progress.campaign, location, capped=capped)
    notice(f"Campaign {progress.campaign} is {state}. {how}")


def _show(progress: "CampaignProgress", runs: bool) -> None:
    from orchestrator.cli.watching import obstructed, outlook, stragglers, summary

    owner = "nobody carries it out" if progress.owner is None else f"by {progress.owner}"
    because = f" ({progress.reason})" if progress.reason else ""
    wanted = f"Wanted: {progress.desired}{because}; {owner}{outlook(progress)}."
    told = [
        "Completed." if progress.finished else wanted,
        *obstructed(progress),
        *stragglers(progress),
        f"Plan {progress.plan_hash}",
    ]
    columns: list[Column | str] = [
        "run",
        "state",
        Column("windows", number=True),
        Column("days", number=True),
        Column("bankrupt", number=True),
        "reason",
    ]
    rows = [
        (
            run.planned.run_id,
            run.state,
            run.windows,
            run.days,
            len(run.exits),
            run.reason,
        )
        for run in progress.runs
    ]
    if runs:
        print_table(summary(progress), columns, rows, told)
    else:
        print_text(summary(progress), *told)
