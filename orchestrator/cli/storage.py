"""Commands about the store itself: audit, backup, and the way to another database."""

from pathlib import Path
from typing import Annotated, Final

import typer

from manifests.printable import counted
from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    notice,
    print_json,
    progress_bar,
    store_shown,
    tell_made_again,
)
from orchestrator.cli.tables import print_text

app = typer.Typer()

_MOST_SHOWN: Final = 50


@app.command()
def audit(store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """Check that everything in a store agrees with everything else in it.

    The databases themselves, plans and manifests, leases, every digest, every account to the cent,
    every journal against the files, drafts and decisions that came of it and against what was
    spent. Ends with 1 and names the places when something does not agree. Nothing is changed;
    campaigns may go on meanwhile.

    JSON: clean, campaigns, runs, windows, days, attempts (how many were looked at), problems, each
    with place and fault.
    """
    from orchestrator.audit import audit_store
    from orchestrator.store import open_store

    with open_store(store) as opened:
        campaigns = opened.catalogue.campaigns()
        tell_made_again(opened, [campaign.name for campaign in campaigns])
        runs = sum(campaign.runs for campaign in campaigns)
        with progress_bar("auditing", runs) as audited:
            report = audit_store(opened, audited)
    if as_json:
        print_json(report.to_json())
    else:
        shown = [f"  {problem}" for problem in report.problems[:_MOST_SHOWN]]
        more = len(report.problems) - len(shown)
        print_text(
            f"{counted(len(report.problems), 'problem')} in "
            f"{counted(report.campaigns, 'campaign')}, {counted(report.runs, 'run')}, "
            f"{counted(report.windows, 'window')}, "
            f"{counted(report.days, 'day')} and {counted(report.attempts, 'session')}.",
            *shown,
            *([f"  and {more} more, all of which --json tells."] if more else []),
        )
    if report.problems:
        raise typer.Exit(ANSWER_IS_NO)


@app.command()
def backup(
    to: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where to; must not exist.")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Copy a store to a new directory while its campaigns go on; the copy is a store itself.

    A run of the copy stands at its last boundary at that moment, and goes on from there with
    resume. A store in PostgreSQL is backed up with pg_dump.

    JSON: directory, databases (how many).
    """
    from orchestrator.store.copying import backup as copied

    files = copied(store, to)
    if as_json:
        print_json({"directory": str(to), "databases": files})
    else:
        notice(f"{to} has {counted(files, 'database')} of {store_shown(store)}.")


@app.command()
def upgrade(store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """Let this version change the tables of a store that an older one wrote, whatever is in it.

    Every command does so by itself, unless the store has a campaign that is
    not completed and that another package froze: this one cannot finish it,
    and that one cannot open the store any more. Make a copy first, with
    `backup` of the older version.

    JSON: revision (of the tables), runs (how many were looked at).
    """
    from orchestrator.store import open_store
    from orchestrator.store.schema import REVISION

    with open_store(store, upgrade=True) as opened:
        runs = 0
        for campaign in opened.catalogue.campaigns():
            runs += len(opened.statuses(campaign.name))
    if as_json:
        print_json({"revision": REVISION, "runs": runs})
    else:
        notice(f"{store_shown(store)} has the tables of this version, revision {REVISION}.")


@app.command()
def copy(
    to: Annotated[
        str, typer.Argument(metavar="URL", help="Where to: postgresql://user@host/name.")
    ],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Copy a whole store from a directory to PostgreSQL, compare both, and keep it only then.

    All of it is one transaction: what breaks off leaves nothing, and doing it again does no harm.
    A store whose campaigns are being carried out is not copied.

    JSON: runs, rows, was_there (an earlier copy had brought them).
    """
    from orchestrator.store.copying import copy_to_server

    copied = copy_to_server(store, to)
    if as_json:
        print_json(copied.to_json())
        return
    there = "Before, it had got" if copied.was_there else "It has got"
    brought = f"{counted(copied.runs, 'run')} with {counted(copied.rows, 'row')}"
    notice(f"{there} {brought}. Go on with: --store {to}")
