"""A campaign's results as tables for people."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from campaigns.analysis.contrasts import Contrasts, EntrantContrast, MatchedContrast
from campaigns.analysis.exact import cents
from campaigns.analysis.ranking import Ranking
from campaigns.analysis.rule_search import SearchResult
from campaigns.definition import Axis, CampaignDefinition
from campaigns.records import CompanyOutcome
from orchestrator.cli.conduct_tables import show_conduct
from orchestrator.cli.money_tables import show_money
from orchestrator.cli.output import Column, dollars
from orchestrator.cli.tables import print_table, print_text, whole_dollars
from orchestrator.results import CampaignResults, GroupResults
from orchestrator.search import in_order, validation_mean
from orchestrator.store import RunStatus

_MEASURES: Final = ("private", "others", "market")


def show_results(results: CampaignResults) -> None:
    """Print everything that the results hold, and what they lack."""
    completed = results.runs - len(results.unfinished)
    print_text(
        f"Campaign {results.campaign}: {completed} of {results.runs} runs completed",
        f"Plan {results.manifest.plan_hash}",
        f"Market {results.market}",
        f"Release {results.manifest.decisive.release}",
        "",
    )
    if results.search is not None:
        show_search(results.search, results.planned.definition)
    for group in results.groups:
        _show_group(group, named=len(results.groups) > 1)
    _show_exits(results.exits, results.companies)
    if results.conduct is not None:
        show_conduct(results.conduct)
    if results.money is not None:
        show_money(results.money)
    _show_unfinished(results.unfinished, results.runs)


def show_search(result: SearchResult, definition: CampaignDefinition) -> None:
    """Print the ranking of a search, its winner and the validation."""
    settings = _settings(definition)
    seeds = definition.seeds or ()
    ranks = _ranks(result)
    print_table(
        "Profiles by mean Score",
        [
            Column("rank", number=True),
            "profile",
            *(Column(f"seed {seed}", number=True) for seed in seeds),
            Column("mean", number=True),
            "settings",
        ],
        (
            (
                ranks.get(profile.number),
                str(profile.number),
                *(whole_dollars(profile.scores.get(seed)) for seed in seeds),
                whole_dollars(_mean(profile.total, len(profile.scores))),
                settings[profile.number],
            )
            for profile in in_order(result)
        ),
        _search_notes(definition, ranks),
    )
    _show_winner(result)


def _ranks(result: SearchResult) -> dict[int, int]:
    """The rank of each profile with all its Scores by its number; equal means share one."""
    totals = [profile.total for profile in result.ranked()]
    return {profile.number: totals.index(profile.total) + 1 for profile in result.ranked()}


def _search_notes(definition: CampaignDefinition, ranks: Mapping[int, int]) -> list[str]:
    axes = () if definition.search is None else definition.search.axes
    notes = ["settings: what varies, axis by axis"]
    notes += [f"  {axis.name or 'axis'}: {', '.join(_parameters(axis))}" for axis in axes]
    if len(set(ranks.values())) < len(ranks):
        notes.append("Equal means share a rank; the profile with the lower number stands first.")
    return notes


def _show_winner(result: SearchResult) -> None:
    winner = result.winner
    if winner is None:
        print_text("Winner          not known before every profile has all its worlds")
        return
    mean = cents(_mean(winner.total, len(winner.scores)))
    print_text(f"Winner          profile {winner.number}, mean Score {dollars(mean)}")
    if result.validation:
        scores = ", ".join(
            f"seed {seed} {dollars(score)}" for seed, score in result.validation.items()
        )
        mean = cents(validation_mean(result))
        print_text(f"Validation      mean Score {dollars(mean)}: {scores}")


def _show_group(group: GroupResults, *, named: bool) -> None:
    if named:
        print_text(f"Group {group.group}", "")
    _show_ranking(group.ranking)
    if group.contrasts is not None:
        _show_contrasts(group.contrasts)


def _show_ranking(ranking: Ranking) -> None:
    if not ranking.rows:
        print_text("No ranking: no seed has all its runs yet.", "")
        return
    notes = [] if ranking.equal_sets else ["The means are over different numbers of outcomes."]
    print_table(
        f"Mean Score, {_over(ranking.seeds, ranking.left_out_seeds)}; {ranking.worlds} worlds",
        [
            Column("rank", number=True),
            "candidate",
            Column("Mean Score", number=True),
            Column("outcomes", number=True),
            Column("bankrupt", number=True),
        ],
        (
            (
                row.rank,
                row.candidate,
                dollars(cents(row.mean_score)),
                row.outcomes,
                f"{100 * row.bankruptcies / row.outcomes:.0f}%",
            )
            for row in ranking.rows
        ),
        notes,
    )


def _show_contrasts(found: Contrasts) -> None:
    if found.seeds:
        over = _over(found.seeds, found.left_out_seeds)
        _show_entrants(found, over)
        _show_by_seed(found)
        _show_directed(found, over)
    else:
        print_text("No means of contrasts: no seed has all runs of all lineups yet.", "")
        if any(entrant.matched for entrant in found.entrants):
            _show_by_seed(found)
    if found.unplanned:
        print_text(
            "The campaign does not plan these runs, which contrasts need:",
            *(f"  {lineup}" for lineup in found.unplanned),
            "",
        )


def _show_entrants(found: Contrasts, over: str) -> None:
    print_table(
        f"What each entrant changes, {over}",
        [
            "entrant",
            Column("private", number=True),
            Column("per rival", number=True),
            Column("others", number=True),
            Column("market", number=True),
            Column("market > 0", number=True),
        ],
        (
            (
                entrant.entrant,
                *(
                    whole_dollars(mean)
                    for mean in (
                        entrant.private,
                        entrant.per_rival,
                        entrant.others,
                        entrant.market,
                    )
                ),
                f"{entrant.positive_market_seeds} of {len(found.seeds)}",
            )
            for entrant in found.entrants
        ),
        [
            "private: its Score less that of the baseline in its seat",
            "others: what its being there changes for all rivals together; market: both together",
        ],
    )


def _show_by_seed(found: Contrasts) -> None:
    places = dict.fromkeys(
        (contrast.seed, contrast.repeat)
        for entrant in found.entrants
        for contrast in entrant.matched
    )
    print_table(
        "The same by seed",
        ["entrant", "", *(Column(heading, number=True) for heading in _headings(places))],
        (
            (entrant.entrant, measure, *_measured(entrant, measure, places))
            for entrant in found.entrants
            for measure in _MEASURES
        ),
    )


def _measured(
    entrant: EntrantContrast, measure: str, places: Iterable[tuple[int, int]]
) -> list[str | None]:
    by_place: Mapping[tuple[int, int], MatchedContrast] = {
        (contrast.seed, contrast.repeat): contrast for contrast in entrant.matched
    }
    return [
        whole_dollars(getattr(by_place[place], measure)) if place in by_place else None
        for place in places
    ]


def _show_directed(found: Contrasts, over: str) -> None:
    means = {(pair.entrant, pair.rival): pair.mean for pair in found.directed}
    panel = [entrant.entrant for entrant in found.entrants]
    print_table(
        f"Effect of the entrant in a row on the rival in a column, {over}; {len(means)} pairs",
        ["entrant", *(Column(str(seat), number=True) for seat in range(1, len(panel) + 1))],
        (
            (
                f"{seat} {entrant}",
                *(whole_dollars(means.get((entrant, rival))) for rival in panel),
            )
            for seat, entrant in enumerate(panel, start=1)
        ),
    )


def _show_exits(exits: Sequence[CompanyOutcome], companies: int) -> None:
    print_text(f"Bankrupt        {len(exits)} of {companies} companies")
    by_candidate: dict[str, list[int]] = {}
    for outcome in exits:
        by_candidate.setdefault(outcome.candidate, []).append(outcome.exit_day or 0)
    for candidate, days in by_candidate.items():
        first, last = min(days), max(days)
        when = f"on day {first}" if first == last else f"from day {first} to {last}"
        print_text(f"                {candidate}: {len(days)}, {when}")


def _show_unfinished(unfinished: Sequence[RunStatus], runs: int) -> None:
    if not unfinished:
        return
    print_text("", f"Missing         {len(unfinished)} of {runs} runs are not completed:")
    for run in unfinished:
        reason = f" ({run.reason})" if run.reason else ""
        print_text(f"  {run.key.run_id}  {run.status}, day {run.day}{reason}")


def _over(seeds: Sequence[int], left_out: Sequence[int]) -> str:
    """Over which seeds a mean is, and which are left out of it."""
    taken = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    return f"{taken} (without {', '.join(map(str, left_out))})" if left_out else taken


def _headings(places: Collection[tuple[int, int]]) -> list[str]:
    """Seeds, with the number of the repeat where there is more than one."""
    seeds = Counter(seed for seed, _ in places)
    return [
        f"seed {seed} R{repeat}" if seeds[seed] > 1 else f"seed {seed}" for seed, repeat in places
    ]


def _parameters(axis: Axis) -> list[str]:
    return list(dict.fromkeys(name for setting in axis.values for name in setting))


def _settings(definition: CampaignDefinition) -> dict[int, str]:
    """What distinguishes each profile, axis by axis, by its number."""
    if definition.search is None:
        return {}
    axes = [_parameters(axis) for axis in definition.search.axes]
    return {
        profile.number: " ".join(
            "/".join(
                _setting(name, profile.parameters[name])
                for name in names
                if name in profile.parameters
            )
            for names in axes
        )
        for profile in definition.search.chosen()
    }


def _setting(name: str, value: object) -> str:
    if name.endswith("_cents") and isinstance(value, int):
        return whole_dollars(value) or ""
    return f"{value}%" if name.endswith("_percent") else str(value)


def _mean(total: int | None, count: int) -> Fraction | None:
    return None if total is None else Fraction(total, count)
