"""The registered policies as people look them up: identity, parameters, defaults."""

import inspect
import json
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from engine.policies.base import Policy, make_policy, policy_names, policy_type
from manifests.errors import InputError


@dataclass(frozen=True, slots=True)
class PolicyParameter:
    """One parameter; one that is `required` has no default."""

    name: str
    required: bool
    default: Any

    @property
    def shown_default(self) -> str:
        """The default in the notation of JSON, or that there is none."""
        return "(must be given)" if self.required else json.dumps(self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEntry:
    """One registered policy.

    `identity` is that under its defaults, None when a parameter must be given. A policy that cannot
    be loaded has a `problem` and nothing else.
    """

    name: str
    identity: str | None = None
    summary: str = ""
    parameters: tuple[PolicyParameter, ...] = ()
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry as plain JSON; `parameters` maps names to defaults, null without one."""
        return {
            "name": self.name,
            "identity": self.identity,
            "summary": self.summary,
            "parameters": {parameter.name: parameter.default for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters if parameter.required],
            "problem": self.problem,
        }


def policy_entries() -> tuple[PolicyEntry, ...]:
    """Every registered policy by name, those that cannot be loaded with the reason."""
    return tuple(_entry(name) for name in policy_names())


def _entry(name: str) -> PolicyEntry:
    try:
        kind = policy_type(name)
        parameters = tuple(
            _parameter(parameter, field)
            for parameter, field in kind.parameters_type.model_fields.items()
        )
        required = any(parameter.required for parameter in parameters)
        return PolicyEntry(
            name=name,
            identity=None if required else make_policy(name, {}).identity,
            summary=_summary(kind),
            parameters=parameters,
        )
    except InputError as error:
        return PolicyEntry(name=name, problem=error.message)


def _parameter(name: str, field: FieldInfo) -> PolicyParameter:
    default = field.get_default(call_default_factory=True, validated_data={})
    if default is PydanticUndefined:
        return PolicyParameter(name, required=True, default=None)
    return PolicyParameter(name, required=False, default=to_jsonable_python(default))


def _summary(kind: type[Policy]) -> str:
    """The first paragraph of the policy's docstring on one line, empty without one."""
    paragraph = (inspect.getdoc(kind) or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split())
