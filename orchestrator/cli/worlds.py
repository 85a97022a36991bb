"""Commands that need no campaign and no store: one world, its CEOs, its scenario."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from manifests.printable import counted
from orchestrator.cli.output import (
    Column,
    JsonOption,
    dollars,
    notices,
    print_json,
)
from orchestrator.cli.tables import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.scenario import Scenario
    from engine.state import WorldState
    from orchestrator.policies import PolicyEntry
    from orchestrator.single import WorldResult

app = typer.Typer()
scenario_app = typer.Typer(
    no_args_is_help=True, help="The market's parameters: show the default ones, check your own."
)
app.add_typer(scenario_app, name="scenario")

_BAR_WIDTH: Final = 40


@app.command()
def run(
    ceo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEAT=POLICY",
            help="Put a policy into a seat, such as 3=rule; may be given once for each seat.",
        ),
    ] = None,
    firms: Annotated[
        int,
        typer.Option(
            metavar="N", help="How many companies compete; more than 8 repeat the characters."
        ),
    ] = 8,
    seed: Annotated[
        int, typer.Option(metavar="N", help="The economic seed: all luck follows from it.")
    ] = 11,
    days: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many days the world lasts.",
            show_default="500, or the scenario's own",
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A market of your own; see `scenario show`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play one world, here and now, and show how every company ended.

    Eight deterministic characters compete unless --ceo seats others;
    `ceo-arena policies` names all there are. Nothing is stored. The same
    options give the same world to the last bit.

    JSON: market, seed, windows, companies (by seat), totals,
    final_state_digest, and days_digest, the SHA-256 over the state digests
    of all days, each with a newline after it. Money is in integer cents.
    """
    from orchestrator.markets import chosen_scenario
    from orchestrator.single import play, seated_panel

    market = chosen_scenario(scenario, days)
    panel = seated_panel(firms, ceo or [])
    with _progress(market) as settled:
        result = play(market, seed, panel, settled)
    if as_json:
        print_json(result.to_json())
    else:
        _show_world(result)


@app.command()
def policies(as_json: JsonOption = False) -> None:
    """List the CEOs that need no model, with their identities, parameters and defaults.

    JSON: policies, each with name, identity (null when a parameter must be
    given), summary, parameters (name to default), required, and problem
    (why it cannot be used, or null). Amounts are in integer cents.
    """
    from orchestrator.policies import policy_entries

    entries = policy_entries()
    if as_json:
        print_json({"policies": [entry.to_json() for entry in entries]})
        return
    for number, entry in enumerate(entries):
        if number:
            print_text("")
        _show_policy(entry)


@scenario_app.command("show")
def show_scenario(
    digest: Annotated[
        bool, typer.Option("--digest", help="Print only the digest that identifies it.")
    ] = False,
) -> None:
    """Print the evaluated market as JSON: a file to copy, change, and give to --scenario."""
    from engine.scenario import default_scenario

    scenario = default_scenario()
    typer.echo(scenario.digest if digest else scenario.to_json(), nl=digest)


@scenario_app.command("check")
def check_scenario(
    file: Annotated[Path, typer.Argument(help="A scenario file (JSON).")],
    as_json: JsonOption = False,
) -> None:
    """Check a scenario file, and say in which parameters it differs from the evaluated market.

    JSON: name, digest, days, and changes, each with path, evaluated, here.
    """
    from orchestrator.markets import scenario_report

    report = scenario_report(file)
    if as_json:
        print_json(report.to_json())
        return
    changes = report.changes
    differs = f"{len(changes)} parameters differ" if len(changes) != 1 else "1 parameter differs"
    print_text(
        f"{file} is a valid scenario: {report.name}, {counted(report.days, 'day')}.",
        report.digest,
        f"{differs} from the evaluated market{':' if changes else '.'}",
        *(f"  {change}" for change in changes),
    )


@contextmanager
def _progress(scenario: "Scenario") -> "Iterator[Callable[[WorldState], None]]":
    """A bar on standard error while a world is played; nothing when that is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    with Progress(
        TextColumn("day"),
        MofNCompleteColumn(),
        BarColumn(_BAR_WIDTH),
        TextColumn("{task.description}"),
        console=notices(),
        transient=True,
        disable=not notices().is_terminal,
    ) as bar:
        task = bar.add_task("", total=scenario.horizon_days)

        def settled(state: "WorldState") -> None:
            active = sum(firm.active for firm in state.firms)
            described = f"{active} of {len(state.firms)} companies active"
            bar.update(task, completed=state.day, description=described)

        yield settled


def _show_world(result: "WorldResult") -> None:
    totals = result.totals
    companies = counted(len(result.companies), "company", "companies")
    print_table(
        f"One world: {companies}, seed {result.seed}, {result.market}",
        [
            Column("#", number=True),
            Column("seat", number=True),
            "CEO",
            Column("Score", number=True),
            Column("final cash", number=True),
            Column("units sold", number=True),
            Column("tier", number=True),
            Column("bankrupt", number=True),
        ],
        (
            (
                rank,
                company.seat,
                company.ceo,
                dollars(company.score_cents),
                dollars(company.cash_cents),
                company.fulfilled_units,
                company.tier,
                None if company.exit_day is None else f"day {company.exit_day}",
            )
            for rank, company in enumerate(result.ranked(), start=1)
        ),
    )
    print_text(
        f"Market Score    {dollars(totals.score_cents)}",
        f"Revenue         {dollars(totals.revenue_cents)}",
        f"Units sold      {totals.fulfilled_units:,}; consumers ordered {totals.consumer_orders:,} "
        f"at {totals.opportunities:,} opportunities",
        f"Tenders won     {totals.tenders_awarded} of {totals.tenders_closed}",
        f"Bankrupt        {totals.bankruptcies} of {companies}",
        f"Final state     {result.final_state_digest}",
        f"All days        {result.days_digest}",
    )


def _show_policy(entry: "PolicyEntry") -> None:
    if entry.problem is not None:
        print_text(f"{entry.name}  (unusable)", f"  {entry.problem}")
        return
    identity = entry.identity or "its parameters must be given"
    print_text(f"{entry.name}  ({identity})", f"  {entry.summary}")
    width = max((len(parameter.name) for parameter in entry.parameters), default=0)
    for parameter in entry.parameters:
        print_text(f"    {parameter.name:{width}}  {parameter.shown_default}")
