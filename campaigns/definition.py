"""The campaign file: who sits where, on which seeds, in which lineups, under which limits.

A campaign is a TOML file, or a name of the library. `plan.plan` turns the definition into ordered
runs.
"""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from campaigns.consistency import PROFILE_PREFIX, inconsistencies
from campaigns.inheritance import extend, written_here
from campaigns.problems import RawCampaign, dotted, refusal, shown
from campaigns.sources import campaign_path, read_toml, source_name
from campaigns.structure import foreign_values, structural_problems
from manifests.canonical import LARGEST_INTEGER
from manifests.errors import InputError
from manifests.paths import refuse_url

UNLIMITED: Final = "unlimited"

# Ids enter the names of files and runs.
ID_PATTERN: Final = r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"
ID_TEXT: Final = (
    "1 to 64 characters of a-z, 0-9, '.', '_' and '-', with a letter or digit at both ends"
)
SEEDS_TEXT: Final = f"a list of different whole numbers from 0 to {LARGEST_INTEGER}"

LineupKind = Literal["reference", "replacements"]
RecoveryPolicy = Literal["fresh-allowance", "cumulative-usage"]
JsonObject = dict[str, JsonValue]


def _token_limit(value: object) -> object:
    if value is None or value == UNLIMITED or (type(value) is int and value >= 1):
        return value
    raise PydanticCustomError(
        "token_limit", 'input should be a whole number of at least 1, or "unlimited"'
    )


Id = Annotated[str, Field(pattern=ID_PATTERN, max_length=64)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1)]
Lineups = Annotated[tuple[LineupKind, ...], Field(min_length=1)]
TokenLimit = Annotated[int | Literal["unlimited"], BeforeValidator(_token_limit)]


class _CampaignData(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class Allowances(_CampaignData):
    """What one attempt at a company-window may use (interface.md section 6): the hard limits."""

    replies: Count = Field(32, description="a whole number of model replies, at least 1")
    output_tokens: TokenLimit = Field(
        131_072, description='a whole number of generated tokens, at least 1, or "unlimited"'
    )
    seconds: Count = Field(3_600, description="a whole number of active seconds, at least 1")


class AllowanceOverrides(_CampaignData):
    """The allowances in which one candidate differs from the campaign; None is no difference."""

    replies: Count | None = Field(None, description="a whole number of model replies, at least 1")
    output_tokens: TokenLimit | None = Field(
        None, description='a whole number of generated tokens, at least 1, or "unlimited"'
    )
    seconds: Count | None = Field(None, description="a whole number of active seconds, at least 1")


class Limits(_CampaignData):
    """`max_active_runs`, `lease_seconds` and `spending_cap_cents` steer the execution; the
    allowances decide results. The cap counts routes that have prices.
    """

    max_active_runs: Count = Field(
        30, le=10_000, description="a whole number of runs, from 1 to 10,000"
    )
    lease_seconds: Count = Field(30, description="a whole number of seconds, at least 1")
    spending_cap_cents: Count | None = Field(
        None, description="a whole number of cents, at least 1, that the campaign may cost"
    )
    allowances: Allowances = Field(
        Allowances(), description="a table with replies, output_tokens and seconds"
    )


class Candidate(_CampaignData):
    """A CEO that may sit in a company: a policy with parameters, or a model route.

    A candidate without a seat stands ready as a baseline. The route and the parameters are plain
    JSON here; providers and engine know what they mean.
    """

    id: Id = Field(description=ID_TEXT)
    seat: Count | None = Field(None, description="a whole number from 1, none given twice")
    label: str = Field("", description="a text for tables and figures")
    policy: str | None = Field(None, min_length=1, description="the name of a registered policy")
    parameters: JsonObject = Field(default_factory=dict, description="a table for the policy")
    route: JsonObject | None = Field(None, description="a table that describes a model route")
    allowances: AllowanceOverrides = Field(
        AllowanceOverrides(), description="a table with replies, output_tokens or seconds"
    )


class Group(_CampaignData):
    """Runs that are analysed together; None takes the value of the whole campaign."""

    name: Id = Field(description=ID_TEXT)
    baseline: str | None = Field(None, description="the id of a candidate without a seat")
    lineups: Lineups | None = Field(
        None, description='a list of "reference" and "replacements", one or both'
    )
    seeds: Seeds | None = Field(None, description=SEEDS_TEXT)
    repeats: Count | None = Field(None, description="a whole number, at least 1")


class Axis(_CampaignData):
    """One dimension of a search: the parameter settings among which it chooses."""

    name: str = Field("", description="a text that says what varies")
    values: Annotated[tuple[JsonObject, ...], Field(min_length=1)] = Field(
        description="a list of tables, each setting policy parameters"
    )


class Profile(_CampaignData):
    """One point of a search grid, numbered from 1, the last axis fastest."""

    number: Count
    candidate: Id
    parameters: JsonObject


class Search(_CampaignData):
    """A grid of policy profiles that take one seat in turn against the seated candidates.

    The best on the campaign's seeds is run on `validation_seeds`, which cannot change the choice.
    """

    seat: Count = Field(1, description="the whole number of the seat that the profiles take")
    policy: str = Field(min_length=1, description="the name of a registered policy")
    parameters: JsonObject = Field(
        default_factory=dict, description="a table of parameters that all profiles share"
    )
    axes: Annotated[tuple[Axis, ...], Field(min_length=1)] = Field(
        description="a list of tables, the axis that varies slowest first"
    )
    profiles: Annotated[tuple[Count, ...], Field(min_length=1)] | None = Field(
        None, description="a list of different profile numbers; without it all are run"
    )
    validation_seeds: tuple[Seed, ...] = Field((), description=SEEDS_TEXT)

    def grid(self) -> tuple[Profile, ...]:
        """All profiles, in grid order."""
        points = list(itertools.product(*(axis.values for axis in self.axes)))
        width = len(str(len(points)))
        return tuple(
            Profile(
                number=number,
                candidate=f"{PROFILE_PREFIX}{number:0{width}}",
                parameters=_united(self.parameters, *settings),
            )
            for number, settings in enumerate(points, start=1)
        )

    def chosen(self) -> tuple[Profile, ...]:
        """The profiles that are run, in grid order."""
        grid = self.grid()
        if self.profiles is None:
            return grid
        return tuple(profile for profile in grid if profile.number in self.profiles)


class CampaignDefinition(_CampaignData):
    """A valid campaign: every baseline exists, seats are 1 to n, nothing is named twice.

    `scenario` is an absolute path when the campaign came from a file, None for the default
    scenario; `horizon_days` None takes the scenario's own. `notes`, labels and `Limits` other than
    allowances decide no result. Whether policies of such names are registered is not checked here.
    """

    name: Id = Field(description=ID_TEXT)
    release: str = Field(
        "unreleased",
        min_length=1,
        max_length=200,
        description="the name under which the results are released",
    )
    notes: str = Field("", description="a text for readers")
    scenario: Path | None = Field(
        None, description="the path of a scenario file, relative to the campaign file"
    )
    horizon_days: Count | None = Field(None, description="a whole number of days, at least 1")
    seeds: Seeds | None = Field(None, description=SEEDS_TEXT)
    repeats: Count = Field(1, description="a whole number, at least 1")
    baseline: str | None = Field(None, description="the id of a candidate without a seat")
    lineups: Lineups | None = Field(
        None, description='a list of "reference" and "replacements", one or both'
    )
    recovery: RecoveryPolicy = Field(
        "fresh-allowance", description='"fresh-allowance" or "cumulative-usage"'
    )
    limits: Limits = Field(
        Limits(),
        description="a table with max_active_runs, lease_seconds, spending_cap_cents and "
        "allowances",
    )
    candidates: Annotated[tuple[Candidate, ...], Field(min_length=1)] = Field(
        description="one [[candidates]] table for each candidate"
    )
    groups: tuple[Group, ...] = Field((), description="one [[groups]] table for each group")
    search: Search | None = Field(None, description="a table that describes a search")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = inconsistencies(self.model_dump(mode="json", exclude_unset=True))
        if problems:
            raise ValueError(
                "; ".join(f"{dotted(found.location)}: {found.fault}" for found in problems)
            )
        return self

    def panel(self) -> tuple[Candidate, ...]:
        """The seated candidates, by seat."""
        seated = [candidate for candidate in self.candidates if candidate.seat is not None]
        return tuple(sorted(seated, key=lambda candidate: candidate.seat or 0))

    def short_form(self, days: int | None) -> Self:
        """The campaign over its first so many days, a plan of its own; None leaves it whole."""
        return self if days is None else self.model_copy(update={"horizon_days": days})

    def all_candidates(self) -> tuple[Candidate, ...]:
        """The candidates of the file in its order, then those that a search makes."""
        if self.search is None:
            return self.candidates
        policy = self.search.policy
        contenders = (
            Candidate(id=profile.candidate, policy=policy, parameters=profile.parameters)
            for profile in self.search.chosen()
        )
        return (*self.candidates, *contenders)

    def allowances_of(self, candidate: Candidate) -> Allowances:
        """The allowances of a candidate: those of the campaign with its own differences."""
        own = candidate.allowances.model_dump(exclude_none=True)
        return self.limits.allowances.model_copy(update=own)


def load_definition(reference: str | Path) -> CampaignDefinition:
    """The campaign of a TOML file or of the library; `sources.campaign_path` tells them apart.

    Raises:
        InputError: the file cannot be read, is not TOML, or describes no valid campaign; the
            message lists every wrong place with what was received and what to do.
    """
    return _validated(_read(campaign_path(reference), ()))


def parse_definition(data: Mapping[str, Any], source: str) -> CampaignDefinition:
    """The campaign described by plain data, as a campaign file would hold it, without `extends`.

    `source` names the origin in messages; errors as `load_definition`.
    """
    return _validated(written_here(source, data))


def _read(path: Path, chain: tuple[Path, ...]) -> RawCampaign:
    source = source_name(path)
    data = read_toml(path)
    scenario, reference = data.get("scenario"), data.pop("extends", None)
    if isinstance(scenario, str):
        refuse_url(scenario, f"{source}: scenario: ")
        data["scenario"] = str((path.parent / scenario).absolute())
    if reference is None:
        return written_here(source, data)
    if not isinstance(reference, str):
        raise InputError(
            f"{source}: extends: received {shown(reference)}, not a text.",
            "Write the name of a library campaign or the path of a campaign file.",
        )
    parent_path = campaign_path(reference, path.parent, f"{source}: extends: ")
    seen = (*chain, path.resolve())
    if parent_path.resolve() in seen:
        raise InputError(
            f'{source}: extends: "{reference}" extends this campaign in turn.',
            "Break the circle: one of the files must stand on its own.",
        )
    parent = _read(parent_path, seen)
    # A wrong parent is reported under its own name, before anything is built on it.
    _validated(parent)
    return extend(parent, source, data)


def _validated(raw: RawCampaign) -> CampaignDefinition:
    foreign = list(foreign_values((), raw.data))
    disagreements = inconsistencies(raw.data)
    try:
        # Through JSON, so that a list of the file may fill a tuple while all else stays strict.
        definition = CampaignDefinition.model_validate_json(json.dumps(raw.data, default=str))
    except ValidationError as error:
        known = {problem.location for problem in foreign}
        problems = [
            *foreign,
            *(
                problem
                for problem in structural_problems(CampaignDefinition, error)
                if problem.location not in known
            ),
            *disagreements,
        ]
        raise refusal(raw, problems) from error
    if foreign:
        raise refusal(raw, foreign)
    return definition


def _united(*tables: JsonObject) -> JsonObject:
    united: JsonObject = {}
    for table in tables:
        united |= table
    return united
