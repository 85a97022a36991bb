"""The outcome of a campaign from its store: ranking, contrasts, bankruptcies, what is missing."""

from dataclasses import dataclass
from typing import Any

from campaigns.analysis.builds import ServedBuilds, served_builds
from campaigns.analysis.conduct import conduct
from campaigns.analysis.contrasts import Contrasts, contrasts
from campaigns.analysis.health import Health, decision_health
from campaigns.analysis.ranking import Ranking, ranking
from campaigns.analysis.rule_search import SearchResult, rule_search
from campaigns.analysis.workload import Workload, workload
from campaigns.plan import CampaignPlan, PlannedRun
from campaigns.records import CompanyOutcome
from manifests.errors import IntegrityError
from manifests.model import CampaignManifest, models_of
from orchestrator.bound import bound_plan, bound_scenario
from orchestrator.lifecycle import RunState
from orchestrator.markets import PlayedMarket
from orchestrator.money import Money, money, routes_of
from orchestrator.records import StoreSource
from orchestrator.search import search_json
from orchestrator.store import RunStatus, Store


@dataclass(frozen=True, slots=True)
class GroupResults:
    """The runs of one group; `contrasts` is None where no lineup replaces anybody."""

    group: str
    ranking: Ranking
    contrasts: Contrasts | None

    def to_json(self) -> dict[str, Any]:
        """What the group's means are taken over."""
        return {
            "group": self.group,
            "seeds": list(self.ranking.seeds),
            "left_out_seeds": list(self.ranking.left_out_seeds),
            "worlds": self.ranking.worlds,
            "equal_sets": self.ranking.equal_sets,
            "unplanned": [] if self.contrasts is None else list(self.contrasts.unplanned),
        }


@dataclass(frozen=True, slots=True)
class ModelConduct:
    """Decision health and workload of the models in the order of the campaign, where the last row
    of either is all of them; and the builds that have served them.
    """

    health: tuple[Health, ...]
    workload: tuple[Workload, ...]
    builds: tuple[ServedBuilds, ...]

    def to_json(self) -> dict[str, Any]:
        """All as plain JSON, under `decision_health`, `workload` and `served_builds`."""
        tables = {
            "decision_health": [row.to_json() for row in self.health],
            "workload": [row.to_json() for row in self.workload],
        }
        found: dict[str, Any] = {
            name: {"candidates": rows[:-1], "all": rows[-1]} for name, rows in tables.items()
        }
        return found | {"served_builds": [row.to_json() for row in self.builds]}


@dataclass(frozen=True, slots=True)
class CampaignResults:
    """The results of a campaign as far as it went.

    A campaign that searches has `search`, every other one `groups`. `unfinished` are the runs
    without outcomes, in scheduling order; `companies` counts the outcomes that are there, `exits`
    are those of bankrupt companies. `conduct` is None where no candidate is a model, `money` where
    none has a route with prices.
    """

    manifest: CampaignManifest
    planned: CampaignPlan
    market: PlayedMarket
    groups: tuple[GroupResults, ...]
    search: SearchResult | None
    unfinished: tuple[RunStatus, ...]
    companies: int
    exits: tuple[CompanyOutcome, ...]
    conduct: ModelConduct | None
    money: Money | None

    @property
    def campaign(self) -> str:
        return self.manifest.provenance.campaign

    @property
    def runs(self) -> int:
        """How many runs are planned."""
        return len(self.planned.runs)

    @property
    def complete(self) -> bool:
        """Whether every planned run has its outcomes."""
        return not self.unfinished

    @property
    def undecided(self) -> tuple[Health, ...]:
        """The models that sealed fewer than half of their windows, so that their Scores say little
        about them.
        """
        rows = () if self.conduct is None else self.conduct.health
        return tuple(row for row in rows if row.candidate and row.mostly_unsealed)

    @property
    def answers(self) -> bool:
        """Whether the campaign answers what it asks: it is complete, and no model is in it in name
        only because its service could not be used.
        """
        return self.complete and not any(row.never_reached for row in self.undecided)

    def to_json(self) -> dict[str, Any]:
        """The results as plain JSON, money in integer cents.

        `groups` says over which seeds the means of `ranking`, `entrants` and `directed` are; every
        row of these names its group. `missing` are the unfinished runs with the day they reached.
        """
        compared = [
            (group.group, group.contrasts) for group in self.groups if group.contrasts is not None
        ]
        return {
            "campaign": self.campaign,
            "plan_hash": self.manifest.plan_hash,
            "market": self.market.to_json(),
            "complete": self.complete,
            "runs": {"planned": self.runs, "completed": self.runs - len(self.unfinished)},
            "missing": [_unfinished_json(run) for run in self.unfinished],
            "groups": [group.to_json() for group in self.groups],
            "ranking": [
                {"group": group.group, **row.to_json()}
                for group in self.groups
                for row in group.ranking.rows
            ],
            "entrants": [
                {"group": name, **entrant.to_json()}
                for name, found in compared
                for entrant in found.entrants
            ],
            "directed": [
                {"group": name, **pair.to_json()}
                for name, found in compared
                for pair in found.directed
            ],
            "companies": self.companies,
            "bankruptcies": [_exit_json(outcome) for outcome in self.exits],
            "search": None if self.search is None else search_json(self.search),
            **({} if self.conduct is None else self.conduct.to_json()),
            **({} if self.money is None else {"money": self.money.to_json()}),
        }


def campaign_results(store: Store, campaign: str) -> CampaignResults:
    """The results of a campaign in a store.

    Raises:
        InputError: the store has no such campaign.
        IntegrityError: a run is completed without outcomes, an outcome contradicts the plan, or
            the catalogue has other runs than the manifest.
    """
    manifest, rows = store.catalogue.planned(campaign)
    planned = bound_plan(manifest)
    runs = [row.planned for row in rows]
    # In this order: a run that is completed in between has its outcomes, and is not missing.
    statuses = store.statuses(campaign)
    outcomes = store.outcomes(campaign)
    groups: tuple[GroupResults, ...] = ()
    search = None
    if planned.definition.search is None:
        groups = tuple(
            _group_results(name, [run for run in runs if run.group == name], outcomes)
            for name in planned.groups()
        )
    else:
        search = rule_search(planned, outcomes)
    decided = _conduct(store, campaign)
    return CampaignResults(
        manifest=manifest,
        planned=planned,
        market=PlayedMarket.of(bound_scenario(manifest)),
        groups=groups,
        search=search,
        unfinished=_unfinished(statuses, outcomes),
        companies=len(outcomes),
        exits=tuple(outcome for outcome in outcomes if outcome.exit_day is not None),
        conduct=decided,
        money=None if decided is None else _money(store, planned, decided),
    )


def _conduct(store: Store, campaign: str) -> ModelConduct | None:
    source = StoreSource(store, campaign)
    models = models_of(source.manifest)
    if not models:
        return None
    trajectories = [each for run in source.runs() for each in conduct(run)]
    return ModelConduct(
        tuple(decision_health(models, trajectories)),
        tuple(workload(models, trajectories)),
        served_builds(models, trajectories),
    )


def _money(store: Store, planned: CampaignPlan, decided: ModelConduct) -> Money | None:
    routes = routes_of(planned.definition)
    prices = {candidate: route.prices for candidate, route in routes.items()}
    return money(prices, decided.workload, store.controls.spent(planned.definition.name))


def _group_results(
    name: str, runs: list[PlannedRun], outcomes: list[CompanyOutcome]
) -> GroupResults:
    compares = any(run.replaced is not None for run in runs)
    return GroupResults(
        name, ranking(runs, outcomes), contrasts(runs, outcomes) if compares else None
    )


def _unfinished(statuses: list[RunStatus], outcomes: list[CompanyOutcome]) -> tuple[RunStatus, ...]:
    finished = {outcome.run_id for outcome in outcomes}
    unfinished = tuple(status for status in statuses if status.key.run_id not in finished)
    for status in unfinished:
        if status.status is RunState.COMPLETED:
            raise IntegrityError(
                f"The {status.key} is completed, but its outcomes are not there.",
                "Put back the database that belongs to this run.",
            )
    return unfinished


def _unfinished_json(run: RunStatus) -> dict[str, Any]:
    return {
        "run": run.key.run_id,
        "status": run.status.value,
        "day": run.day,
        "reason": run.reason,
    }


def _exit_json(outcome: CompanyOutcome) -> dict[str, Any]:
    return {
        "group": outcome.group,
        "run": outcome.run_id,
        "seed": outcome.seed,
        "lineup": outcome.lineup_label,
        "seat": outcome.seat,
        "candidate": outcome.candidate,
        "exit_day": outcome.exit_day,
        "score_cents": outcome.score_cents,
    }
