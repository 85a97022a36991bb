"""Commands that steer a campaign from any shell, and those that say why something does not go on.

They talk to the store; whoever carries the campaign out reacts to what is there.
"""

from collections.abc import Callable
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from manifests.printable import counted
from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    Column,
    JsonOption,
    NameArgument,
    ReasonOption,
    RunOption,
    SeatOption,
    StatusOption,
    StoreOption,
    chosen_campaign,
    notice,
    print_json,
)
from orchestrator.cli.tables import print_table, print_text

if TYPE_CHECKING:
    from orchestrator.operating import Done
    from orchestrator.retrying import Retried
    from orchestrator.status.history import Entry
    from orchestrator.store import Store

app = typer.Typer()

_WIDTH: Final = 100

DayOption = Annotated[
    int | None,
    typer.Option(
        "--day",
        metavar="N",
        min=0,
        help="The day on which that window opened.",
        show_default="where the run stands",
    ),
]


_PAUSE: Final = """Let a campaign, a run, or a company-window rest until somebody resumes it.

A run stops at its next window boundary, a company-window at its next step;
a run one of whose windows rests gives its slot away when the others have
closed theirs.

JSON: campaign, run, world_version, seat, act, changed, said.
"""

_STOP: Final = """Stop a campaign, a run, or a company-window and with it its run.

What is stopped rests like what is paused, is counted apart, and can be
resumed as well.

JSON: campaign, run, world_version, seat, act, changed, said.
"""


def _resting(desired: Literal["paused", "stopped"]) -> Callable[..., None]:
    """The command that lets something rest in this way."""

    def command(
        name: NameArgument = None,
        run: RunOption = None,
        seat: SeatOption = None,
        day: DayOption = None,
        store: StoreOption = DEFAULT_STORE,
        reason: ReasonOption = "",
        as_json: JsonOption = False,
    ) -> None:
        from orchestrator.operating import Operator
        from orchestrator.store import DesiredState, open_store

        with open_store(store) as opened:
            operator = Operator(opened, chosen_campaign(opened, name))
            done = operator.rest(operator.target(run, day, seat), DesiredState(desired), reason)
        _tell(done, as_json)

    return command


app.command("pause", help=_PAUSE)(_resting("paused"))
app.command("stop", help=_STOP)(_resting("stopped"))


@app.command()
def retry(
    name: NameArgument = None,
    run: RunOption = None,
    seat: SeatOption = None,
    day: DayOption = None,
    candidate: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only windows of this candidate.", show_default="all"),
    ] = None,
    status: StatusOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what is eligible, and why the rest is not.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Give failed company-windows a fresh attempt: one, some, or all that may have one.

    A window may have three at most, whatever it failed by. Who retries
    answers for what had to be put right, such as a key. Runs go back to the
    queue when none of their windows waits for a person any more. A fresh
    attempt that was granted and waits for its time begins at once. After a
    provider error for which no fresh attempt is left, `resume` lets the last
    one go on.

    Ends with 1 when a run is named and no window of it gets one, or has got
    one that is still to begin.

    JSON: campaign, dry_run, windows: each with run, world_version, seat,
    candidate, status, eligible, attempt, reason.
    """
    from orchestrator.operating import Operator
    from orchestrator.retrying import Retrying, Which
    from orchestrator.store import open_store

    with open_store(store) as opened:
        campaign = chosen_campaign(opened, name)
        place = None if day is None else Operator(opened, campaign).target(run, day, seat)
        version = None if place is None else place.version
        which = Which(run, version, seat, candidate, status)
        rows = Retrying(opened, campaign).retry(which, reason, dry_run=dry_run)
        window_days = _window_days(opened, campaign)
    if as_json:
        windows = [row.to_json() for row in rows]
        print_json({"campaign": campaign, "dry_run": dry_run, "windows": windows})
    else:
        _show_retried(rows, dry_run, window_days, every_row=which != Which())
    if run is not None and all(row.attempt is None for row in rows):
        notice(f"Nothing that was named of run {run} may have a fresh attempt.")
        raise typer.Exit(ANSWER_IS_NO)


def _window_days(store: "Store", campaign: str) -> int:
    """How many days a window of the campaign has: people name a window by the day it opens on."""
    from orchestrator.bound import bound_scenario

    return bound_scenario(store.catalogue.manifest_in_force(campaign)).window_days


def _show_retried(
    rows: "list[Retried]", dry_run: bool, window_days: int, *, every_row: bool
) -> None:
    """Show the windows that were named, or of all those that concern a person."""
    eligible = sum(row.eligible for row in rows)
    what = "may have" if dry_run else "got"
    title = f"{eligible} of {counted(len(rows), 'window')} {what} a fresh attempt"
    shown = [row for row in rows if every_row or row.concerns_a_person]
    others = len(rows) - len(shown)
    notes = [f"Others, which have not failed: {others:,}; --json lists them."] if others else []
    if not shown:
        print_text(title, *notes)
        return
    print_table(
        title,
        [
            "run",
            Column("day", number=True),
            Column("seat", number=True),
            "candidate",
            "status",
            Column("attempt", number=True),
            "reason",
        ],
        [
            (
                row.target.run_id,
                None if row.target.version is None else row.target.version * window_days,
                row.target.seat,
                row.candidate,
                row.status.value,
                row.attempt,
                row.reason,
            )
            for row in shown
        ],
        notes,
    )


@app.command()
def why(
    name: NameArgument = None,
    run: RunOption = None,
    seat: SeatOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Say what a campaign and its runs, one run, or one company is waiting for.

    JSON: campaign, answers: each with subject, state, waits_for (nothing,
    person, command, slot, runs, provider, money, back-off, seal, settlement,
    space),
    reason.
    """
    from manifests.errors import InputError
    from orchestrator.status.progress import ProgressReader
    from orchestrator.status.waiting import run_of, why_campaign, why_run, why_seat
    from orchestrator.store import open_store

    if seat is not None and run is None:
        raise InputError("A company needs its run.", "Name it with --run.")
    with open_store(store) as opened:
        campaign = chosen_campaign(opened, name)
        progress = ProgressReader(opened, campaign).read()
        if run is None:
            answers = why_campaign(progress, opened.controls.pauses(campaign))
        elif seat is None:
            answers = [why_run(progress, run_of(progress, run))]
        else:
            answers = [why_seat(progress, run, seat)]
    if as_json:
        print_json({"campaign": campaign, "answers": [answer.to_json() for answer in answers]})
        return
    print_table(
        f"What {campaign} waits for",
        ["what", "state", "waits for", "because"],
        [(each.subject, each.state, each.waits_for, each.reason) for each in answers],
    )


@app.command()
def failures(
    name: NameArgument = None,
    run: RunOption = None,
    seat: SeatOption = None,
    store: StoreOption = DEFAULT_STORE,
    everything: Annotated[
        bool, typer.Option("--all", help="List also what happens to every run: queued, running.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List every failure, fresh attempt and rest of a campaign's runs, and all that people did.

    That a run was interrupted is known when somebody takes it over: whoever
    played it was killed, stood still, or could not write into the store.

    JSON has all entries.

    JSON: campaign, history: each with at, run, target (of what a person did,
    else null), kind (failure, fresh attempt, paused, stopped, interrupted,
    queued, running; or an act such as pause, resume, retry, cap $100.00),
    world_version, seat, attempt, status, cause, reason, followed_by.
    """
    from orchestrator.status.history import acts, history
    from orchestrator.store import open_store

    with open_store(store) as opened:
        campaign = chosen_campaign(opened, name)
        found = [*history(opened, campaign, run, seat), *acts(opened, campaign, run, seat)]
        window_days = _window_days(opened, campaign)
    entries = sorted(found, key=lambda entry: entry.at)
    if as_json:
        print_json({"campaign": campaign, "history": [entry.to_json() for entry in entries]})
        return
    shown = [entry for entry in entries if everything or not entry.is_routine]
    left_out = len(entries) - len(shown)
    _show_history(f"History of {campaign}: {len(shown)} entries", shown, window_days)
    if left_out:
        print_text(f"{left_out} routine entries are left out; --all lists them.")


def _show_history(title: str, entries: "list[Entry]", window_days: int) -> None:
    """A line for each entry, and below it why and what followed, so that any width will do."""
    print_text(title)
    for entry in entries:
        place = (
            ""
            if entry.version is None
            else f"  day {entry.version * window_days}, seat {entry.seat}, attempt {entry.attempt}"
        )
        what = f"{entry.kind}: {entry.status}" if entry.status else entry.kind
        subject = entry.target or entry.run_id
        print_text(f"{entry.at:%m-%d %H:%M:%S} UTC  {subject}{place}  {what}")
        for text in filter(None, (entry.reason, entry.followed_by)):
            print_text(fill(text, _WIDTH, initial_indent="    ", subsequent_indent="    "))


def resume_below(
    store: "Store",
    campaign: str,
    place: tuple[str | None, int | None, int | None],
    reason: str,
    as_json: bool,
) -> None:
    """Resume a run or a company-window, and tell what came of it."""
    from orchestrator.operating import Operator

    operator = Operator(store, campaign)
    _tell(operator.resume(operator.target(*place), reason), as_json)


def _tell(done: "Done", as_json: bool) -> None:
    if as_json:
        print_json(done.to_json())
    else:
        notice(done.said)
