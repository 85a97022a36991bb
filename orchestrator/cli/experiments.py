"""Commands about experiments: which there are, what one would run, and what came out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from manifests.errors import ArenaError
from manifests.printable import counted
from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    AddressOption,
    CampaignArgument,
    Column,
    DaysOption,
    HostsOption,
    JsonOption,
    NameArgument,
    StoreOption,
    chosen_campaign,
    notice,
    print_json,
)
from orchestrator.cli.tables import print_table, print_text

if TYPE_CHECKING:
    from campaigns.analysis.health import Health
    from orchestrator.estimate import Forecast
    from orchestrator.overview import Overview
    from orchestrator.store import Store

app = typer.Typer()


@app.command()
def campaigns(as_json: JsonOption = False) -> None:
    """List the campaigns that come with the project.

    JSON: campaigns, each with name, runs, companies (in a run), seeds,
    models (the candidates that need one), notes.
    """
    from orchestrator.overview import library

    entries = library()
    if as_json:
        print_json({"campaigns": [entry.to_json() for entry in entries]})
        return
    print_table(
        "Library campaigns",
        [
            "campaign",
            Column("runs", number=True),
            Column("companies", number=True),
            Column("models", number=True),
            "what for",
        ],
        (
            (entry.name, entry.runs, entry.companies, len(entry.models), entry.notes)
            for entry in entries
        ),
        ["A file of your own is given by its path, such as ./mine.toml."],
    )


@app.command("plan")
def show_plan(
    campaign: CampaignArgument,
    days: DaysOption = None,
    runs: Annotated[bool, typer.Option("--runs", help="List every run as well.")] = False,
    estimated: Annotated[
        bool, typer.Option("--estimate", help="Estimate replies, tokens and money as well.")
    ] = False,
    past: Annotated[
        str | None,
        typer.Option(
            "--past",
            metavar="PLACE",
            help="A store from whose runs of the same models the estimate is taken.",
            show_default="none; windows are guessed",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a campaign would run: plan hash, counts, seeds, lineups. Creates nothing.

    An estimate is a range. It takes a company-window from past runs, from
    the company that took least on average to the one that took most, or
    from a guess: 5 to 20 replies, 95,000 to 1.44 million input tokens, of
    which 70,000 to 850,000 cached, and 4,000 to 80,000 output tokens.

    JSON: campaign, plan_hash, release, market, seeds, counts, candidates,
    models (the candidates that need one), lineups, runs (all of them); with
    --estimate also estimate: candidates and all, each with windows, based_on,
    low and high (tokens), low_cents and high_cents (null without prices, for
    all where one has none), and unpriced (candidates).
    """
    from orchestrator.money import check_own_cap
    from orchestrator.overview import overview

    found = overview(campaign, days)
    check_own_cap(found.planned.definition)
    forecast = _forecast(found, past) if estimated or past is not None else None
    if as_json:
        more = {} if forecast is None else {"estimate": forecast.to_json()}
        print_json(found.to_json() | more)
        return
    _show_overview(found)
    if forecast is not None:
        from orchestrator.cli.money_tables import show_forecast

        show_forecast(forecast)
    if runs:
        _show_runs(found)


@app.command()
def results(
    name: NameArgument = None, store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False
) -> None:
    """Show a campaign's ranking, contrasts and bankruptcies, as far as its runs are completed.

    Ends with 1 when runs are missing, which it names, and when a model sealed nothing because its
    service failed. Every model that sealed fewer than half of its windows is named on standard
    error.

    JSON: campaign, plan_hash, market, complete, runs, missing, groups (the
    seeds that means are over), ranking, entrants (private, others, market),
    directed (all pairs), companies, bankruptcies, search (of a search, as
    search-rule gives it, else null). Money is in integer cents. Where models
    take part, also decision_health and workload, by candidate and for all, and
    served_builds, by candidate; where their routes have prices, money as well.
    """
    from orchestrator.store import open_store

    with open_store(store) as opened:
        answers = print_results(opened, chosen_campaign(opened, name), as_json)
    if not answers:
        raise typer.Exit(ANSWER_IS_NO)


@app.command("search-rule")
def search_rule(
    seeds: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Development seeds.", show_default="7,19,42"),
    ] = None,
    profiles: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Profiles, such as 1,17 or 1-8.", show_default="all"),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A market of your own; see `scenario show`."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Keep the search there; given again, it goes on where it stood.",
            show_default="a temporary one, removed at the end",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The search's name in the store.")
    ] = "rule-search",
    hosts: HostsOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for the best profile of Rule, and validate the winner on fresh seeds.

    Each profile takes the first seat of a nine-firm market on each seed;
    the highest mean Score wins, and is then run on three seeds that cannot
    change the choice.

    JSON: profiles by rank (id, scores_cents by seed, mean_cents rounded half
    to even), winner (its id), bankrupt (companies of all worlds), worlds,
    validation (profile, scores_cents, mean_cents), missing (runs).
    """
    from campaigns.plan import plan
    from campaigns.search import rule_search_definition
    from orchestrator.actors.cluster import check_address
    from orchestrator.cli.carrying import carry_out, created
    from orchestrator.cli.result_tables import show_results
    from orchestrator.results import campaign_results
    from orchestrator.search import parse_profiles, parse_seeds, search_json
    from orchestrator.store import DesiredState

    check_address(address)
    definition = rule_search_definition(
        name=name,
        seeds=None if seeds is None else parse_seeds(seeds),
        profiles=None if profiles is None else parse_profiles(profiles),
        scenario=scenario,
    )
    with (
        _place_of_search(store) as location,
        created(plan(definition), location, address) as made,
    ):
        opened, campaign = made
        if opened.catalogue.campaign(campaign).desired is DesiredState.PAUSED:
            opened.catalogue.set_desired(campaign, DesiredState.RUNNING, "searched again")
        carry_out(opened, campaign, hosts, address, temporary=store is None)
        found = campaign_results(opened, campaign)
    if not as_json:
        show_results(found)
    elif found.search is not None:
        print_json(search_json(found.search))
    if not found.complete:
        raise typer.Exit(ANSWER_IS_NO)


@contextmanager
def _place_of_search(store: str | None) -> Iterator[str]:
    """The store that is named, or a temporary one that is removed at the end."""
    if store is not None:
        yield store
        return
    with TemporaryDirectory(prefix="ceo-arena-search-") as location:
        try:
            yield location
        except (typer.Exit, ArenaError):
            notice("The search was kept in a temporary store only, which is removed now.")
            notice("To be able to go on with a search, give it a --store.")
            raise


def print_results(store: "Store", campaign: str, as_json: bool) -> bool:
    """Print a campaign's results from an open store, and say which models hardly decided; returns
    whether the results answer what the campaign asks.

    Raises:
        InputError: the store has no such campaign.
    """
    from orchestrator.cli.result_tables import show_results
    from orchestrator.results import campaign_results

    found = campaign_results(store, campaign)
    if as_json:
        print_json(found.to_json())
    else:
        show_results(found)
    for row in found.undecided:
        notice(_undecided(row, campaign))
    return found.answers


def _undecided(row: "Health", campaign: str) -> str:
    """What a person must know before believing the Scores of a model that hardly decided."""
    causes = {
        "budget exhausted": row.budget_exhausted,
        "timeout": row.timeout,
        "protocol error": row.protocol_error,
    }
    why = ", ".join(f"{count:,} {cause}" for cause, count in causes.items() if count)
    sealed = f"{row.sealed:,} of" if row.sealed else "none of"
    return (
        f"WARNING: {row.candidate} sealed {sealed} its {row.active:,} settled company-windows "
        f"({why}). Its Scores are mostly those of a company without decisions, not of the model. "
        f"Why: ceo-arena failures {campaign}"
    )


def _forecast(found: "Overview", past: str | None) -> "Forecast":
    from orchestrator.estimate import estimate, past_of
    from orchestrator.store import open_store

    if past is None:
        return estimate(found, {})
    with open_store(past) as store:
        return estimate(found, past_of(store))


def _show_overview(found: "Overview") -> None:
    definition = found.planned.definition
    print_text(
        f"Campaign        {definition.name}"
        + (f": {definition.notes}" if definition.notes else ""),
        f"Plan            {found.manifest.plan_hash}",
        f"Market          {found.market}",
        f"Runs            {len(found.runs)}, of {found.windows_per_run} windows each",
        f"Outcomes        {counted(found.company_outcomes, 'company', 'companies')}",
        f"Windows         {found.windows:,}",
        f"Decisions       {found.decisions:,} at most: a bankrupt company takes none",
        f"Seeds           {', '.join(map(str, found.planned.seeds))}",
        f"Models          {', '.join(member.id for member in found.models) or 'none needed'}",
        "",
    )
    print_table(
        "Candidates",
        [Column("seat", number=True), "candidate", "kind", "policy or model", "identity"],
        (
            (member.seat, member.id, member.kind, member.player, _shortened(member.identity))
            for member in found.members
        ),
    )
    groups = {row.group for row in found.lineups}
    print_table(
        "Lineups",
        [
            *(["group"] if len(groups) > 1 else []),
            "lineup",
            Column("seat", number=True),
            "who sits there",
            "seeds",
            Column("repeats", number=True),
            Column("runs", number=True),
        ],
        (
            (
                *([row.group] if len(groups) > 1 else []),
                row.lineup,
                row.seat,
                row.candidate or "every candidate in its own seat",
                ", ".join(map(str, row.seeds)),
                row.repeats,
                row.runs,
            )
            for row in found.lineups
        ),
    )


def _show_runs(found: "Overview") -> None:
    print_table(
        "Runs in the order of the scheduler",
        [Column("#", number=True), "run", Column("seed", number=True), "lineup", "waits for"],
        (
            (
                run.position + 1,
                run.run_id,
                str(run.seed),
                run.lineup_label,
                counted(len(run.depends_on), "run") if run.depends_on else None,
            )
            for run in found.runs
        ),
    )


def _shortened(identity: str) -> str:
    """An identity that is a digest, cut to what tells it from others at a glance."""
    return f"{identity[:19]}..." if identity.startswith("sha256:") else identity
