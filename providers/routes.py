"""A route: one configured way to one model (providers.md section 1).

A route is data. It names the environment variables that hold its credentials and never a
credential itself; two routes that differ in credentials or endpoint alone are the same model and
have one identity.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from pydantic_core import ErrorDetails

from manifests.canonical import LARGEST_INTEGER, canonical_json, digest
from manifests.errors import InputError

# Where a route's requests go, how fast, and at whose expense: no part of its identity.
OUTSIDE_IDENTITY: Final = frozenset(
    {"endpoint", "endpoint_env", "credentials", "limits", "spending_cap_cents"}
)

# The fields that describe dialects, each named like its protocol.
_DIALECTS: Final = ("chat", "responses", "messages")

_SECRET_OPTION: Final = re.compile(r"(?i)^(x-)?api[-_]?key$|^(proxy-)?authorization$|^cookie$")

ModelId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Tokens = Annotated[int, Field(ge=1)]
DollarsPerMillion = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]
WireName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]


_NUMBER: Final = "a whole number, 1 or more"
_TRUTH: Final = "true or false"
_PRICE: Final = 'dollars per million tokens as a text, such as "3" or "0.30"'
_WIRE_NAME: Final = "the name of a field, of letters, digits and underscores"

WHAT_TO_WRITE: Final[Mapping[str, str]] = {
    "protocol": '"responses", "chat" or "messages"',
    "model": "the id that the service knows, of 1 to 200 characters",
    "options": "a table of what is sent with every request",
    "native_ceiling": f"{_NUMBER}: the most output tokens of one reply",
    "smallest_useful_ceiling": f"{_NUMBER}: output tokens",
    "accepted_aliases": "a list of model ids",
    "endpoint": "a base URL that begins with http:// or https://, without user, password or query",
    "endpoint_env": "the name of an environment variable",
    "credentials": (
        'a list with the name of the environment variable that holds the key, or "no key"; '
        "never the key itself"
    ),
    "prices": "a table with input and output, and cached_input and cache_write if they differ",
    "prices.input": _PRICE,
    "prices.cached_input": _PRICE,
    "prices.cache_write": _PRICE,
    "prices.output": _PRICE,
    "spending_cap_cents": f"{_NUMBER}: US cents",
    "limits": "a table of limits",
    "limits.concurrent_requests": _NUMBER,
    "limits.requests_per_minute": _NUMBER,
    "limits.tokens_per_minute": _NUMBER,
    "chat": "a table that describes a dialect",
    "chat.output_limit_field": _WIRE_NAME,
    "chat.ask_usage": _TRUTH,
    "chat.reasoning_fields": f"a list, each {_WIRE_NAME}",
    "chat.return_reasoning": '"always", "with tool calls" or "never"',
    "chat.withheld_fields": f"a list, each {_WIRE_NAME}",
    "chat.cache_breakpoints": _TRUTH,
    "chat.return_bad_arguments": '"as received" or "as empty object"',
    "chat.reasoning_tokens": '"in completion" or "in total only"',
    "responses": "a table that describes a dialect",
    "responses.encrypted_reasoning": _TRUTH,
    "messages": "a table that describes a dialect",
    "messages.cache_breakpoints": '"none", "5m" or "1h"',
}
"""What every field of a route takes, for whoever wrote something else there."""


class _RouteData(BaseModel):
    # Rejected input is hidden: a person may have pasted a key where the name of a variable belongs.
    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )


class Prices(_RouteData):
    """US dollars per million tokens, as decimal text so that nothing is rounded.

    `cached_input` is the price of input tokens served from the vendor's cache; without it they
    cost as much as other input. `cache_write` is the price of input tokens that are put into that
    cache; without it they, too, cost as much as other input.
    """

    input: DollarsPerMillion
    cached_input: DollarsPerMillion | None = None
    cache_write: DollarsPerMillion | None = None
    output: DollarsPerMillion


class RateLimits(_RouteData):
    """What the requests of all campaigns of a machine or cluster to one service may be together.

    `tokens_per_minute` counts input and output. None is no limit.
    """

    concurrent_requests: Annotated[int, Field(ge=1)] | None = None
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None


class ChatDialect(_RouteData):
    """How one vendor's Chat Completions differ from the rest (providers.md section 1).

    `output_limit_field` carries the bound of a reply, reasoning included. `ask_usage` asks for
    usage in the stream; off only for a service that sends it unasked and refuses the question.
    `reasoning_fields` of an assistant message hold its reasoning. `return_reasoning` says with
    which messages they are sent back; every other field goes back as it came, except
    `withheld_fields`, which the service sends but does not take. `cache_breakpoints` marks where
    the repeated part ends, for a service that caches what is marked. `return_bad_arguments` is for
    services that refuse a whole conversation over a past call whose arguments are not a JSON
    object. `reasoning_tokens` tells whether the vendor's count of completion tokens has the
    reasoning in it or only the count of all tokens has.
    """

    output_limit_field: WireName = "max_tokens"
    ask_usage: bool = True
    reasoning_fields: tuple[WireName, ...] = ("reasoning_content", "reasoning", "reasoning_details")
    return_reasoning: Literal["always", "with tool calls", "never"] = "always"
    withheld_fields: tuple[WireName, ...] = ()
    cache_breakpoints: bool = False
    return_bad_arguments: Literal["as received", "as empty object"] = "as received"
    reasoning_tokens: Literal["in completion", "in total only"] = "in completion"

    @property
    def returns_everything(self) -> bool:
        """Whether every assistant message goes back as it came."""
        return (
            self.return_reasoning == "always"
            and not self.withheld_fields
            and self.return_bad_arguments == "as received"
        )


class ResponsesDialect(_RouteData):
    """How one service's Responses differ from the rest.

    `encrypted_reasoning` asks for the reasoning items' encrypted content, without which a
    conversation that is not stored loses its reasoning; off only for a model that has none.
    """

    encrypted_reasoning: bool = True


class MessagesDialect(_RouteData):
    """How one service's Messages differ from the rest.

    `cache_breakpoints` says for how long the marked part of a request, which the next one repeats,
    is to be cached; "none" marks nothing.
    """

    cache_breakpoints: Literal["none", "5m", "1h"] = "5m"


class Route(_RouteData):
    """One way to one model.

    `options` are sent with every request as they stand. `native_ceiling` and
    `smallest_useful_ceiling` are output tokens of one reply. `endpoint` is a base URL,
    `endpoint_env` the name of a variable that holds one; with neither, the vendor's own address is
    used. `credentials` names the variables that hold them, or says "no key" for an endpoint that
    asks for none. `spending_cap_cents` is what the route may cost a campaign, which takes prices to
    tell. `chat`, `responses` and `messages` are for the protocols of these names; without them the
    plain dialect is spoken.
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
    spending_cap_cents: Annotated[int, Field(ge=1, le=LARGEST_INTEGER)] | None = None
    limits: RateLimits | None = None
    chat: ChatDialect | None = None
    responses: ResponsesDialect | None = None
    messages: MessagesDialect | None = None

    @cached_property
    def identity_hash(self) -> str:
        """The digest of the canonical JSON of `public()`; it enters the plan hash (section 2)."""
        return digest(self.public())

    def public(self) -> dict[str, Any]:
        """The route as plain JSON without credentials and endpoint: what a manifest may show."""
        data = self.model_dump(mode="json", exclude=set(OUTSIDE_IDENTITY))
        for dialect in _DIALECTS:
            # A route that says nothing of a dialect is what it was before there were dialects.
            if data[dialect] is None:
                del data[dialect]
        return data

    @property
    def key_variable(self) -> str | None:
        """The variable that holds the key, or the path of its file with `_FILE` after its name."""
        return None if self.credentials == "no key" else self.credentials[0]

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
        return None if endpoint is None else plain_url(endpoint)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.endpoint is not None and self.endpoint_env is not None:
            raise ValueError("endpoint and endpoint_env are both given; keep one")
        if self.smallest_useful_ceiling > self.native_ceiling:
            raise ValueError("smallest_useful_ceiling is above native_ceiling")
        if len({self.model, *self.accepted_aliases}) <= len(self.accepted_aliases):
            raise ValueError("accepted_aliases repeats an id or the requested model")
        if self.spending_cap_cents is not None and self.prices is None:
            raise ValueError("spending_cap_cents takes prices to tell what was spent")
        for dialect in _DIALECTS:
            if getattr(self, dialect) is not None and dialect != self.protocol:
                raise ValueError(f"{dialect} describes another protocol than the route's")
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
        raise _refused(source, error) from error


def plain_url(endpoint: str) -> str:
    """The endpoint, when it is an http or https URL that carries no secret.

    Raises:
        ValueError: it is not; the message does not repeat it.
    """
    url = urlsplit(endpoint)
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise ValueError("the endpoint is not an http or https URL")
    if url.username is not None or url.password is not None or url.query:
        raise ValueError("the endpoint carries a user, a password or a query; use credentials")
    return endpoint


def _refused(source: str, error: ValidationError) -> InputError:
    """All wrong places of a route, a line for each, and what to write there; no value is shown."""
    told = [_told(finding) for finding in error.errors(include_url=False, include_input=False)]
    lines = [f"  {line}" for line in dict.fromkeys(told)]
    return InputError(
        "\n".join([f"{source} is not valid:", *lines]),
        "Correct every place listed; docs/routes.md describes them.",
    )


def _told(finding: ErrorDetails) -> str:
    location = finding["loc"]
    if location[:1] == ("options",) and finding["type"] != "value_error":
        location = location[:1]
    names = [part for part in location if isinstance(part, str)]
    field = next(
        (".".join(names[:end]) for end in (2, 1) if ".".join(names[:end]) in WHAT_TO_WRITE), ""
    )
    match finding["type"]:
        case "value_error":
            # One of our own, which says what is wrong.
            said = finding["msg"].removeprefix("Value error, ")
            return f"{field}: {said}" if field else said
        case "extra_forbidden":
            return f"{'.'.join(names)}: this field is not known. {_known(names[:-1])}"
        case "missing":
            return f"{'.'.join(names)}: is missing. Write {WHAT_TO_WRITE['.'.join(names)]}"
    return f"{field or 'the route'}: write {WHAT_TO_WRITE.get(field, 'a table')}"


def _known(table: Sequence[str]) -> str:
    """The fields of the route, or of a table in it."""
    head = "".join(f"{name}." for name in table)
    known = [name.removeprefix(head) for name in WHAT_TO_WRITE if name.startswith(head)]
    return f"Known here: {', '.join(name for name in known if '.' not in name)}"


def _keys(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
