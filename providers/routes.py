"""A route: one configured way to one model (providers.md section 1).

A route is data. It names the environment variables that hold its credentials and never a
credential itself; two routes that differ in credentials or endpoint alone are the same model and
have one identity.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from manifests.canonical import canonical_json, digest
from manifests.validation import input_error

# Where a route's requests go and how they are paid for: no part of its identity.
OUTSIDE_IDENTITY: Final = frozenset({"endpoint", "endpoint_env", "credentials"})

_SECRET_OPTION: Final = re.compile(r"(?i)^(x-)?api[-_]?key$|^(proxy-)?authorization$|^cookie$")

ModelId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Tokens = Annotated[int, Field(ge=1)]
DollarsPerMillion = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]


class _RouteData(BaseModel):
    # Rejected input is hidden: a person may have pasted a key where the name of a variable belongs.
    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )


class Prices(_RouteData):
    """US dollars per million tokens, as decimal text so that nothing is rounded.

    `cached_input` is the price of input tokens served from the vendor's cache; without it they
    cost as much as other input.
    """

    input: DollarsPerMillion
    cached_input: DollarsPerMillion | None = None
    output: DollarsPerMillion


class Route(_RouteData):
    """One way to one model.

    `options` are sent with every request as they stand. `native_ceiling` and
    `smallest_useful_ceiling` are output tokens of one reply. `endpoint` is a base URL,
    `endpoint_env` the name of a variable that holds one; with neither, the vendor's own address is
    used. `credentials` names the variables that hold them, or says "no key" for an endpoint that
    asks for none.
    """

    protocol: Literal["responses", "chat", "messages"]
    model: ModelId
    options: dict[str, JsonValue] = Field(default_factory=dict)
    native_ceiling: Tokens
    smallest_useful_ceiling: Tokens = 1_024
    accepted_aliases: tuple[ModelId, ...] = ()
    endpoint: str | None = None
    endpoint_env: EnvironmentName | None = None
    credentials: Annotated[tuple[EnvironmentName, ...], Field(min_length=1)] | Literal["no key"]
    prices: Prices | None = None

    @cached_property
    def identity_hash(self) -> str:
        """The digest of the canonical JSON of `public()`; it enters the plan hash (section 2)."""
        return digest(self.public())

    def public(self) -> dict[str, Any]:
        """The route as plain JSON without credentials and endpoint: what a manifest may show."""
        return self.model_dump(mode="json", exclude=set(OUTSIDE_IDENTITY))

    def accepts(self, returned_model: str) -> bool:
        """Whether a reply that names this model id is a reply of this route (section 2)."""
        return returned_model == self.model or returned_model in self.accepted_aliases

    @field_validator("options")
    @classmethod
    def _no_secret_option(cls, options: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for key in _keys(options):
            if _SECRET_OPTION.match(key):
                raise ValueError(f"{key} is a credential; name its variable in credentials")
        return options

    @field_validator("endpoint")
    @classmethod
    def _plain_url(cls, endpoint: str | None) -> str | None:
        if endpoint is None:
            return None
        url = urlsplit(endpoint)
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise ValueError("the endpoint is not an http or https URL")
        if url.username is not None or url.password is not None or url.query:
            raise ValueError("the endpoint carries a user, a password or a query; use credentials")
        return endpoint

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.endpoint is not None and self.endpoint_env is not None:
            raise ValueError("endpoint and endpoint_env are both given; keep one")
        if self.smallest_useful_ceiling > self.native_ceiling:
            raise ValueError("smallest_useful_ceiling is above native_ceiling")
        if len({self.model, *self.accepted_aliases}) <= len(self.accepted_aliases):
            raise ValueError("accepted_aliases repeats an id or the requested model")
        return self


def parse_route(data: Mapping[str, Any], source: str) -> Route:
    """The route that a campaign file describes; `source` names the place in messages.

    Raises:
        InputError: a missing, unknown or malformed field; the message names it and hides its value.
    """
    try:
        # Through JSON, so that a list of the file may fill a tuple while all else stays strict.
        return Route.model_validate_json(canonical_json(dict(data)))
    except ValidationError as error:
        raise input_error(source, error) from error


def _keys(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
