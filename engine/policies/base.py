"""What a model-free CEO is, and how one is found by name and bound by hash.

A policy is a class with a ``name``, a ``version``, a pydantic model of its parameters, and a pure
``decide``. Other people's policies register in the entry point group ``ceo_arena.policies``::

    [project.entry-points."ceo_arena.policies"]
    my-policy = "my_package.my_module:MyPolicy"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.decision import CompanyDecision
from engine.observation import Catalog, Observation
from manifests.canonical import digest
from manifests.errors import InputError
from manifests.fingerprints import source_fingerprint
from manifests.validation import input_error

ENTRY_POINT_GROUP: Final = "ceo_arena.policies"


class Parameters(BaseModel):
    """Base of every policy's parameters: strict, frozen, no unknown fields. Amounts are daily
    integer cents.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Policy(ABC):
    """A deterministic CEO. Equal observations must give equal decisions, whatever was decided
    before.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    parameters_type: ClassVar[type[Parameters]] = Parameters

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    @property
    def identity(self) -> str:
        """Name, version and the first 12 hex digits of the parameters' digest."""
        parameters_digest = digest(self.parameters.model_dump(mode="json")).removeprefix("sha256:")
        return f"{self.name}-{self.version}-{parameters_digest[:12]}"

    @property
    def code_digest(self) -> str:
        """``sha256:<hex>`` over the source of the top-level package that defines the policy.

        Bound in the manifest. Raises InputError when the package has no plain source files.
        """
        package = type(self).__module__.partition(".")[0]
        return source_fingerprint([package]).overall

    def check(self, catalog: Catalog) -> None:  # noqa: B027 - most policies play any scenario
        """Raise InputError when the policy cannot play this scenario; by default it can.

        Called before a campaign is frozen, so that nothing begins that cannot end.
        """

    @abstractmethod
    def decide(self, observation: Observation) -> CompanyDecision:
        """The decision for the boundary that ``observation`` shows."""

    def hold(self, observation: Observation, **changes: Any) -> CompanyDecision:
        """A decision for this boundary that changes only what ``changes`` names."""
        return CompanyDecision(
            company_id=observation.company_id, world_version=observation.world_version, **changes
        )


@cache
def _registered() -> Mapping[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in sorted(
        entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value)
    ):
        if point.name in found and found[point.name].value != point.value:
            raise InputError(
                f"Two packages register the policy {point.name!r}: "
                f"{found[point.name].value} and {point.value}.",
                remedy="Uninstall one of them, or rename its entry point.",
            )
        found[point.name] = point
    return found


def policy_names() -> list[str]:
    """The names of all registered policies, sorted."""
    return sorted(_registered())


def policy_type(name: str) -> type[Policy]:
    """The registered policy class of that name. Raises InputError for an unknown or unusable
    one.
    """
    point = _registered().get(name)
    if point is None:
        raise InputError(
            f"There is no policy {name!r}.",
            remedy=f"Registered policies: {', '.join(policy_names()) or 'none'}.",
        )
    try:
        loaded = point.load()
    except (
        Exception
    ) as error:  # the code belongs to someone else: whatever it raises is reported, not passed on
        raise InputError(
            f"Policy {name!r} cannot be loaded from {point.value}: {error!r}.",
            remedy="Repair or uninstall it.",
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Policy)):
        raise InputError(
            f"Policy {name!r} ({point.value}) is not a subclass of engine.policies.base.Policy.",
            remedy="Derive it from Policy.",
        )
    if not all(isinstance(getattr(loaded, field, None), str) for field in ("name", "version")):
        raise InputError(
            f"Policy {name!r} ({point.value}) has no name and version.",
            remedy=f'Give the class name = "{name}" and version = "v1".',
        )
    return loaded


def make_policy(name: str, parameters: Mapping[str, Any]) -> Policy:
    """A policy with validated parameters. Raises InputError naming the parameter and what was
    received.
    """
    kind = policy_type(name)
    try:
        return kind(kind.parameters_type.model_validate(dict(parameters)))
    except ValidationError as error:
        known = ", ".join(kind.parameters_type.model_fields) or "none"
        raise input_error(
            f"the parameter set of policy {name!r}",
            error,
            f"Known parameters: {known}.",
            repeat_values=True,
        ) from None
