import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from manifests.canonical import digest
from manifests.errors import InputError
from providers.routes import WHAT_TO_WRITE, Route, parse_route

# A seat of the evaluated panel (providers.md section 1), as a campaign file would say it.
FLASH: dict[str, Any] = {
    "protocol": "chat",
    "model": "deepseek-v4-flash",
    "options": {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
    "native_ceiling": 393_216,
    "accepted_aliases": ["deepseek-flash"],
    "endpoint_env": "DEEPSEEK_BASE_URL",
    "credentials": ["DEEPSEEK_API_KEY"],
}


def route(**changes: Any) -> Route:
    return parse_route({**FLASH, **changes}, "routes.flash")


def test_a_route_is_read_with_its_defaults() -> None:
    flash = route()
    assert flash.smallest_useful_ceiling == 1_024
    assert flash.accepted_aliases == ("deepseek-flash",)
    assert flash.credentials == ("DEEPSEEK_API_KEY",)
    assert flash.endpoint is None
    assert flash.prices is None


def test_a_local_endpoint_may_ask_for_no_key() -> None:
    local = route(endpoint_env=None, endpoint="http://127.0.0.1:8080/v1", credentials="no key")
    assert local.credentials == "no key"


def test_identity_is_the_digest_of_the_public_route() -> None:
    expected = {
        "protocol": "chat",
        "model": "deepseek-v4-flash",
        "options": {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        "native_ceiling": 393_216,
        "smallest_useful_ceiling": 1_024,
        "accepted_aliases": ["deepseek-flash"],
        "prices": None,
    }
    assert route().public() == expected
    assert route().identity_hash == digest(expected)


@pytest.mark.parametrize(
    "changes",
    [
        {"credentials": ["OTHER_KEY"]},
        {"credentials": "no key"},
        {"endpoint_env": "OTHER_URL"},
        {"endpoint_env": None, "endpoint": "https://models.example/v1"},
        {"endpoint_env": None},
    ],
)
def test_credentials_and_endpoint_are_no_part_of_the_identity(changes: dict[str, Any]) -> None:
    assert route(**changes).identity_hash == route().identity_hash


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": "responses"},
        {"model": "deepseek-v4-pro"},
        {"options": {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}},
        {"options": {}},
        {"native_ceiling": 393_215},
        {"smallest_useful_ceiling": 2_048},
        {"accepted_aliases": []},
        {"prices": {"input": "0.28", "output": "0.42"}},
    ],
)
def test_everything_else_is_part_of_the_identity(changes: dict[str, Any]) -> None:
    assert route(**changes).identity_hash != route().identity_hash


def test_only_the_requested_id_and_its_aliases_are_accepted() -> None:
    flash = route()
    assert flash.accepts("deepseek-v4-flash")
    assert flash.accepts("deepseek-flash")
    assert not flash.accepts("deepseek-v4-pro")
    assert not flash.accepts("DeepSeek-v4-flash")
    assert not flash.accepts("")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"protocol": "grpc"}, 'protocol: write "responses", "chat" or "messages"'),
        ({"model": ""}, "model:"),
        ({"fallback": "gpt"}, "fallback: this field is not known. Known here: protocol, model"),
        ({"native_ceiling": 0}, "native_ceiling:"),
        ({"native_ceiling": "128000"}, "native_ceiling: write a whole number"),
        ({"native_ceiling": 512}, "smallest_useful_ceiling is above native_ceiling"),
        ({"accepted_aliases": ["a", "a"]}, "accepted_aliases repeats"),
        ({"accepted_aliases": ["deepseek-v4-flash"]}, "accepted_aliases repeats"),
        ({"endpoint": "https://models.example"}, "endpoint and endpoint_env are both given"),
        ({"endpoint_env": None, "endpoint": "models.example"}, "not an http or https URL"),
        ({"endpoint_env": None, "endpoint": "file:///etc/passwd"}, "not an http or https URL"),
        ({"credentials": []}, "credentials"),
        ({"prices": {"input": "free", "output": "1"}}, "prices.input"),
        (
            {"prices": {"input": "1"}},
            'prices.output: is missing. Write dollars per million tokens as a text, such as "3"',
        ),
    ],
)
def test_a_wrong_route_is_refused_by_field(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        route(**changes)
    assert str(caught.value).startswith("routes.flash is not valid:")
    assert reason in str(caught.value)


def test_all_wrong_places_are_told_in_words_of_the_file() -> None:
    with pytest.raises(InputError) as caught:
        route(
            protocol="message",
            credentials=["no such name", ""],
            prices={"input": 3, "output": "1", "outptu": "1"},
            chat={"ask_usage": "yes"},
            limits=7,
        )
    message = caught.value.message
    places = [line.split(":")[0].strip() for line in message.splitlines()[1:]]
    assert sorted(places) == [
        "chat.ask_usage",
        "credentials",
        "limits",
        "prices.input",
        "prices.outptu",
        "protocol",
    ]
    assert not re.search(r"(?i)tuple|literal|pattern|constrained|input should", message)
    assert "Known here: input, cached_input, cache_write, output" in message


def test_every_field_says_what_it_takes() -> None:
    def fields(model: type[BaseModel], head: str = "") -> Iterator[str]:
        for name, info in model.model_fields.items():
            yield f"{head}{name}"
            for inner in (info.annotation, *get_args(info.annotation)):
                if isinstance(inner, type) and issubclass(inner, BaseModel):
                    yield from fields(inner, f"{name}.")

    assert set(fields(Route)) == set(WHAT_TO_WRITE)


SECRET = "sk-live-4f9a0c"


@pytest.mark.parametrize(
    "changes",
    [
        {"credentials": [SECRET]},
        {"credentials": SECRET},
        {"options": {"api_key": SECRET}},
        {"options": {"extra_headers": {"Authorization": f"Bearer {SECRET}"}}},
        {"options": {"extra": [{"X-API-Key": SECRET}]}},
        {"endpoint_env": None, "endpoint": f"https://user:{SECRET}@models.example/v1"},
        {"endpoint_env": None, "endpoint": f"https://models.example/v1?key={SECRET}"},
        {"endpoint_env": SECRET},
        {"token": SECRET},
    ],
)
def test_a_secret_in_a_route_is_refused_and_not_repeated(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        route(**changes)
    assert SECRET not in str(caught.value)
    with pytest.raises(ValidationError) as direct:
        Route(**{**FLASH, "accepted_aliases": (), **changes})
    assert SECRET not in str(direct.value)


def test_a_route_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        route().model = "other"  # type: ignore[misc]


def test_a_value_that_json_lacks_is_refused() -> None:
    with pytest.raises(InputError, match=r"\$\.options\.temperature: nan"):
        route(options={"temperature": float("nan")})
