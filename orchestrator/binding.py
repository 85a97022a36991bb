"""Freezing a campaign: everything that decides its results, bound by value and by digest.

A campaign file and a package give one plan hash wherever they are put together. A run starts and
goes on only under the package that its manifest binds (manifests.md section 1).
"""

import socket
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from campaigns.consistency import SEARCH_WINNER
from campaigns.definition import CampaignDefinition
from campaigns.definition import Candidate as Described
from campaigns.plan import PLAN_VERSION, CampaignPlan, PlannedRun
from engine import DECISION_VERSION, ECONOMY_VERSION
from engine.boundary import catalog
from engine.observation import Catalog
from engine.policies.base import make_policy
from engine.scenario import Scenario, default_scenario, load_scenario
from engine.streams import stream_fingerprint
from manifests.commitments import commitments
from manifests.comparison import Difference, difference, told
from manifests.errors import InputError
from manifests.fingerprints import (
    PACKAGES,
    interpreter,
    library_versions,
    package_version,
    source_fingerprint,
)
from manifests.model import (
    CampaignManifest,
    Candidate,
    Decisive,
    Harness,
    ModelCandidate,
    PolicyCandidate,
    Provenance,
    SearchWinner,
    Versions,
    freeze,
)
from manifests.model import PlannedRun as BoundRun
from orchestrator.bound import bound_plan, bound_scenario
from providers.routes import Route, parse_route

VENDORS_OWN: Final = "the vendor's own address"
"""What is committed to for a route that names no endpoint."""

RUNTIME_VERSION: Final = "ceos-runtime-v4"


def frozen(planned: CampaignPlan) -> CampaignManifest:
    """The manifest of a plan under this package, made here and now.

    Raises:
        InputError: an unusable scenario, route, policy or parameter; says of which candidate.
    """
    definition = planned.definition
    _check_routes(definition)
    scenario = scenario_of(definition)
    market = catalog(scenario)
    candidates = [_bound_candidate(each, market) for each in definition.all_candidates()]
    seated, others = _by_role(definition, candidates)
    decisive = Decisive(
        versions=_versions(),
        release=definition.release,
        scenario=scenario.to_data(),
        scenario_digest=scenario.digest,
        horizon_days=scenario.horizon_days,
        seeds=planned.seeds,
        candidates=seated,
        baselines=(*others, *_search_winner(planned)),
        runs=tuple(_bound_run(run) for run in planned.runs),
        recovery_policy=definition.recovery,
        limits=_deciding_limits(definition),
        harness=_harness(candidates),
        sources=source_fingerprint(PACKAGES),
        libraries=library_versions(),
        random_streams=stream_fingerprint(),
    )
    return freeze(decisive, _provenance(definition))


def with_endpoints(
    manifest: CampaignManifest, key: bytes, environment: Mapping[str, str]
) -> CampaignManifest:
    """The manifest with commitments, under `key`, to the endpoints that its models have now.

    A model whose endpoint stands in a variable that is not set has none.

    Raises:
        InputError: an unusable route; says of which candidate.
    """
    endpoints = {}
    for candidate in bound_plan(manifest).definition.all_candidates():
        if candidate.route is None:
            continue
        route = parse_route(candidate.route, f'The route of candidate "{candidate.id}"')
        endpoint = endpoint_of(route, environment)
        if endpoint:
            endpoints[candidate.id] = endpoint
    committed = {"endpoints": commitments(key, endpoints)}
    provenance = manifest.provenance.model_copy(update=committed)
    return manifest.model_copy(update={"provenance": provenance})


def endpoint_of(route: Route, environment: Mapping[str, str]) -> str:
    """The endpoint that a commitment to a route is about; empty while its variable is not set."""
    if route.endpoint_env is not None:
        return environment.get(route.endpoint_env, "").strip().rstrip("/")
    return (route.endpoint or VENDORS_OWN).rstrip("/")


def scenario_of(definition: CampaignDefinition) -> Scenario:
    """The scenario of a campaign, with its horizon. Raises InputError."""
    path = definition.scenario
    scenario = default_scenario() if path is None else load_scenario(path)
    days = definition.horizon_days
    return scenario if days is None else scenario.with_horizon(days)


def check_package(manifest: CampaignManifest) -> None:
    """Raise InputError, naming what differs, when the manifest binds another package than this."""
    found = differences_from_package(manifest)
    if not found:
        return
    name, decisive = manifest.provenance.campaign, manifest.decisive
    raise InputError(
        f"Campaign {name} was frozen under another package:\n{told(found, 'bound', 'here')}",
        f"Continue it with the package it was started with (ceo-arena {decisive.versions.package}, "
        f"source {decisive.sources.overall}, as `ceo-arena --version` prints both), or launch it "
        "anew under another name.",
    )


def differences_from_package(manifest: CampaignManifest) -> list[Difference]:
    """What this package would bind otherwise, in path order; empty when it is the manifest's own.
    Raises InputError like `rebound`.
    """
    return difference(manifest, rebound(manifest))


def rebound(manifest: CampaignManifest) -> CampaignManifest:
    """The manifest of the same campaign as this package binds it.

    Raises:
        InputError: a policy of the manifest is not registered here, or refuses its parameters.
    """
    decisive = manifest.decisive
    market = catalog(bound_scenario(manifest))
    here = decisive.model_copy(
        update={
            "versions": _versions(),
            "candidates": tuple(_rebound(each, market) for each in decisive.candidates),
            "baselines": tuple(_rebound(each, market) for each in decisive.baselines),
            "harness": _harness((*decisive.candidates, *decisive.baselines)),
            "sources": source_fingerprint(PACKAGES),
            "libraries": library_versions(),
            "random_streams": stream_fingerprint(),
        }
    )
    return freeze(here, manifest.provenance)


def _check_routes(definition: CampaignDefinition) -> None:
    """Raise one InputError that tells all that is wrong with the routes of a campaign."""
    refused: list[InputError] = []
    for candidate in definition.all_candidates():
        if candidate.route is None:
            continue
        try:
            parse_route(candidate.route, f'The route of candidate "{candidate.id}"')
        except InputError as error:
            refused.append(error)
    if refused:
        raise InputError("\n".join(error.message for error in refused), refused[0].remedy)


def _versions() -> Versions:
    return Versions(
        economy=ECONOMY_VERSION,
        decision=DECISION_VERSION,
        runtime=RUNTIME_VERSION,
        campaign_plan=PLAN_VERSION,
        package=package_version(),
    )


def _bound_candidate(candidate: Described, market: Catalog) -> Candidate:
    place = f'candidate "{candidate.id}"'
    if candidate.policy is None:
        route = parse_route(candidate.route or {}, f"The route of {place}")
        return ModelCandidate(
            id=candidate.id,
            seat=candidate.seat,
            route=route.public(),
            route_identity=route.identity_hash,
        )
    return _bound_policy(
        candidate.id, candidate.seat, candidate.policy, candidate.parameters, market
    )


def _bound_policy(
    name: str,
    seat: int | None,
    policy_name: str,
    parameters: dict[str, Any],
    market: Catalog,
) -> PolicyCandidate:
    try:
        policy = make_policy(policy_name, parameters)
        policy.check(market)
        return PolicyCandidate(
            id=name,
            seat=seat,
            policy=policy_name,
            # All of them, defaults included: a default that changes later must not go unnoticed.
            parameters=policy.parameters.model_dump(mode="json"),
            identity=policy.identity,
            code=policy.code_digest,
        )
    except InputError as error:
        raise InputError(f'Candidate "{name}": {error.message}', error.remedy) from error


def _rebound(candidate: Candidate, market: Catalog) -> Candidate:
    if not isinstance(candidate, PolicyCandidate):
        return candidate
    return _bound_policy(
        candidate.id, candidate.seat, candidate.policy, dict(candidate.parameters), market
    )


def _by_role(
    definition: CampaignDefinition, candidates: Iterable[Candidate]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """The candidates that compete, and those that stand ready to replace one."""
    ready = {candidate.id for candidate in definition.candidates if candidate.seat is None}
    by_role: tuple[list[Candidate], list[Candidate]] = ([], [])
    for candidate in candidates:
        by_role[candidate.id in ready].append(candidate)
    return tuple(by_role[False]), tuple(by_role[True])


def _search_winner(planned: CampaignPlan) -> tuple[SearchWinner, ...]:
    search = planned.definition.search
    if search is None or not any(SEARCH_WINNER in run.lineup for run in planned.runs):
        return ()
    among = tuple(profile.candidate for profile in search.chosen())
    return (SearchWinner(id=SEARCH_WINNER, among=among),)


def _bound_run(run: PlannedRun) -> BoundRun:
    return BoundRun(
        id=run.run_id,
        position=run.position,
        seed=run.seed,
        group=run.group,
        repeat=run.repeat,
        lineup=run.lineup_label,
        seats=dict(enumerate(run.lineup, start=1)),
    )


def _deciding_limits(definition: CampaignDefinition) -> dict[str, Any]:
    """The allowances of every candidate that has a model: nobody else can use one up."""
    return {
        "allowances": {
            candidate.id: definition.allowances_of(candidate).model_dump(mode="json")
            for candidate in definition.candidates
            if candidate.route is not None
        }
    }


def _harness(candidates: Iterable[Candidate]) -> Harness | None:
    """What the models among the candidates are told and given; None when there are none."""
    if not any(isinstance(candidate, ModelCandidate) for candidate in candidates):
        return None
    # Imported late: without models, nobody needs the tools.
    from orchestrator.session.briefing import MEMORY_CHARACTERS
    from orchestrator.session.prompt import PROMPT_VERSION, prompt_digest
    from orchestrator.session.tools import tool_hashes, tools_hash

    return Harness(
        interface=DECISION_VERSION,
        prompt=PROMPT_VERSION,
        prompt_digest=prompt_digest(),
        tools=tool_hashes(),
        tools_digest=tools_hash(),
        memory_characters=MEMORY_CHARACTERS,
    )


def _provenance(definition: CampaignDefinition) -> Provenance:
    limits = definition.limits
    return Provenance(
        campaign=definition.name,
        created_at=datetime.now(UTC),
        host=socket.gethostname(),
        interpreter=interpreter(),
        note=definition.notes,
        limits={
            "max_active_runs": limits.max_active_runs,
            "lease_seconds": limits.lease_seconds,
        },
        definition=definition.model_dump(mode="json", exclude_unset=True),
    )
