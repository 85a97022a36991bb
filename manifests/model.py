"""The campaign manifest: everything that decides a campaign's results, frozen before the first run.

A manifest has two parts. `decisive` holds what decides results; its digest is the plan hash, so
that anyone with the same campaign file and the same package arrives at the same hash. `provenance`
holds what is worth knowing and decides nothing. The parts speak plain JSON where the content
belongs to another package: a scenario is bound by value and digest without this module knowing
what a scenario is.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from manifests.canonical import LARGEST_INTEGER, digest, parse_json
from manifests.errors import IntegrityError
from manifests.fingerprints import SourceFingerprint
from manifests.validation import input_error

FORMAT: Final = "ceos-manifest-v1"

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Commitment = Annotated[str, StringConstraints(pattern=r"^hmac-sha256:[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1)]
Seat = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
Ordinal = Annotated[int, Field(ge=0)]
JsonObject = dict[str, JsonValue]


class _Bound(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class Versions(_Bound):
    """The contracts that a campaign is played under, and the package that plays it."""

    economy: Name
    decision: Name
    runtime: Name
    campaign_plan: Name
    package: Name


class PolicyCandidate(_Bound):
    """A CEO without a model: a registered policy with its parameters.

    `identity` is the name the policy gives itself, parameters included; `code` is the digest of
    its source.
    """

    kind: Literal["policy"] = "policy"
    id: Name
    seat: Seat | None = None
    policy: Name
    parameters: JsonObject
    identity: Name
    code: Digest


class ModelCandidate(_Bound):
    """A CEO that is a language model: its route by value, without credentials and endpoint."""

    kind: Literal["model"] = "model"
    id: Name
    seat: Seat | None = None
    route: JsonObject
    route_identity: Digest


class SearchWinner(_Bound):
    """Who wins a search: one of the candidates `among`, by ids in the order that settles ties.

    Runs name it in the seat that waits for the winner.
    """

    kind: Literal["search-winner"] = "search-winner"
    id: Name
    seat: None = None
    among: Annotated[tuple[Name, ...], Field(min_length=1)]


Candidate = Annotated[PolicyCandidate | ModelCandidate | SearchWinner, Field(discriminator="kind")]


class Harness(_Bound):
    """What every language model is told and given, the same on all routes.

    `interface` is the version of the contract between a company and its CEO. `tools` has the digest
    of every tool's definition by its name, `tools_digest` is over all of them in their order.
    `memory_characters` is how much of a company's own notes a new window begins with.
    """

    interface: Name
    prompt: Name
    prompt_digest: Digest
    tools: dict[Name, Digest]
    tools_digest: Digest
    memory_characters: Annotated[int, Field(ge=0)]


class PlannedRun(_Bound):
    """One run of the matrix: `seats` maps each seat, 1..n without a gap, to a candidate's id."""

    id: Name
    position: Ordinal
    seed: Seed
    group: Name
    repeat: Ordinal
    lineup: Name
    seats: dict[Seat, Name]


class Decisive(_Bound):
    """Everything that decides results. Seeds and runs stand in the order of the plan.

    `random_streams` is a fingerprint of a few draws of each distribution; `limits` holds only
    limits that can change a result. Candidates sit in the panel by `seat`; baselines have none of
    their own. A campaign has a `harness` exactly when it has a candidate that is a model.
    """

    versions: Versions
    release: Name
    scenario: JsonObject
    scenario_digest: Digest
    horizon_days: Annotated[int, Field(ge=1)]
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    candidates: tuple[Candidate, ...]
    baselines: tuple[Candidate, ...]
    runs: tuple[PlannedRun, ...]
    recovery_policy: Name
    limits: JsonObject
    harness: Harness | None = None
    sources: SourceFingerprint
    libraries: dict[str, str]
    random_streams: Digest

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if digest(self.scenario) != self.scenario_digest:
            raise ValueError("scenario_digest is not the digest of the scenario")
        if digest(self.sources.files) != self.sources.overall:
            raise ValueError("sources.overall is not the digest of sources.files")
        known = [candidate.id for candidate in (*self.candidates, *self.baselines)]
        _once("candidate", known)
        _once("seat", (candidate.seat for candidate in self.candidates if candidate.seat))
        _once("seed", self.seeds)
        _once("run", (run.id for run in self.runs))
        for candidate in (*self.candidates, *self.baselines):
            _check_search(candidate, known)
        for position, run in enumerate(self.runs):
            _check_run(run, position, self.seeds, known)
        _check_harness(self.harness, (*self.candidates, *self.baselines))
        return self

    @model_serializer(mode="wrap")
    def _without_absent(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What no model needs is not there, so that such a plan keeps the hash it always had."""
        data: dict[str, Any] = serialize(self)
        if data.get("harness") is None:
            data.pop("harness", None)
        return data


class Provenance(_Bound):
    """What is recorded beside the plan: who wrote the manifest when and where; none of it decides.

    `limits` holds the limits that change no result, such as how many runs are active at once;
    `definition` is the campaign file as it was understood, with its labels and notes. `endpoints`
    has the commitment to each model's endpoint (`manifests.commitments`), by candidate.
    """

    campaign: Name
    created_at: AwareDatetime
    host: str
    interpreter: dict[str, str]
    note: str = ""
    limits: JsonObject = Field(default_factory=dict)
    definition: JsonObject = Field(default_factory=dict)
    endpoints: dict[Name, Commitment] = Field(default_factory=dict)


class CampaignManifest(_Bound):
    """A frozen manifest; one whose `plan_hash` is not that of its content cannot be made.

    Raises:
        IntegrityError: the plan hash does not fit.
    """

    format: Literal["ceos-manifest-v1"] = FORMAT
    plan_hash: Digest
    decisive: Decisive
    provenance: Provenance

    @model_validator(mode="after")
    def _own_hash(self) -> Self:
        actual = plan_hash(self.decisive)
        if actual != self.plan_hash:
            raise IntegrityError(
                f"The manifest says plan hash {self.plan_hash}, but its content has {actual}.",
                "It was changed after it was frozen; use the original.",
            )
        return self

    def to_json(self) -> str:
        """The manifest as a JSON document: sorted keys, two spaces, a newline at the end."""
        value = self.model_dump(mode="json")
        return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "The manifest") -> Self:
        """The manifest of a JSON document, checked against its own plan hash.

        Raises:
            InputError: not JSON, another format, a missing, unknown or malformed field.
            IntegrityError: the plan hash in it is not that of its content.
        """
        parse_json(text, source)
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise input_error(source, error) from error


def models_of(manifest: CampaignManifest) -> tuple[str, ...]:
    """The ids of the candidates that are language models, in the manifest's order."""
    decisive = manifest.decisive
    return tuple(
        candidate.id
        for candidate in (*decisive.candidates, *decisive.baselines)
        if isinstance(candidate, ModelCandidate)
    )


def unlisted(manifest: CampaignManifest, listed: Collection[str]) -> Iterator[tuple[str, bool]]:
    """The runs in which a list of ids differs from a manifest, each with whether the manifest binds
    it; those that the list lacks come first.
    """
    bound = [run.id for run in manifest.decisive.runs]
    yield from ((run_id, True) for run_id in bound if run_id not in listed)
    yield from ((run_id, False) for run_id in listed if run_id not in bound)


def plan_hash(decisive: Decisive) -> str:
    """The digest of the canonical JSON of everything that decides results."""
    return digest(decisive.model_dump(mode="json"))


def run_inputs(decisive: Decisive, run_id: str) -> dict[str, Any]:
    """Everything that decides one run, whatever else the campaign holds: two plans with equal
    inputs of a run play the same run. Its place in the matrix, its group and the other runs decide
    nothing of it.

    Raises:
        KeyError: no such run.
    """
    data = decisive.model_dump(mode="json")
    (run,) = [run for run in data.pop("runs") if run["id"] == run_id] or [None]
    if run is None:
        raise KeyError(run_id)
    seated = set(run["seats"].values())
    candidates = [*data.pop("candidates"), *data.pop("baselines")]
    limits = data.pop("limits")
    allowances = limits.pop("allowances", {})
    del data["seeds"]
    return {
        **data,
        **{name: run[name] for name in ("seed", "repeat", "lineup", "seats")},
        "candidates": [each for each in candidates if each["id"] in seated],
        "limits": limits,
        "allowances": {name: allowances[name] for name in allowances if name in seated},
    }


def freeze(decisive: Decisive, provenance: Provenance) -> CampaignManifest:
    """The manifest of these parts, with the plan hash they have now."""
    return CampaignManifest(plan_hash=plan_hash(decisive), decisive=decisive, provenance=provenance)


def _once(what: str, values: Iterable[Any]) -> None:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise ValueError(f"{what} {twice[0]} stands more than once")


def _check_search(candidate: Candidate, known: list[str]) -> None:
    for name in candidate.among if isinstance(candidate, SearchWinner) else ():
        if name not in known or name == candidate.id:
            raise ValueError(f"{candidate.id} is to be chosen among {name}, which is no candidate")


def _check_harness(harness: Harness | None, candidates: Iterable[Candidate]) -> None:
    models = [candidate.id for candidate in candidates if isinstance(candidate, ModelCandidate)]
    if models and harness is None:
        raise ValueError(f"{models[0]} is a model, but no harness is bound")
    if harness is not None and not models:
        raise ValueError("a harness is bound, but no candidate is a model")


def _check_run(run: PlannedRun, position: int, seeds: Iterable[int], known: list[str]) -> None:
    if run.position != position:
        raise ValueError(f"run {run.id} has position {run.position}, but stands at {position}")
    if run.seed not in seeds:
        raise ValueError(f"run {run.id} has seed {run.seed}, which the campaign does not have")
    if sorted(run.seats) != list(range(1, len(run.seats) + 1)):
        raise ValueError(f"the seats of run {run.id} are not 1 to {len(run.seats)}")
    for seat, candidate in run.seats.items():
        if candidate not in known:
            raise ValueError(f"run {run.id} seats {candidate} at {seat}, which is no candidate")
