"""A gateway for a campaign that rehearses, for as long as a command carries the campaign out."""

import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from manifests.errors import InputError
from orchestrator.cli.output import notice
from providers.access import missing_variables
from providers.routes import Route

URL_VARIABLE: Final = "CEO_ARENA_REHEARSAL_URL"
KEY_VARIABLE: Final = "CEO_ARENA_REHEARSAL_KEY"

_KEY_BYTES: Final = 32


@contextmanager
def rehearsal_gateway(
    routes: Collection[Route], address: str | None, faults: Path | None = None
) -> Iterator[None]:
    """Run a gateway, if all routes of a campaign lead to one and none is named.

    Its address and a fresh key stand in the environment meanwhile, where hosts that are started
    below find them. One that dies is started again. A gateway that the environment names already is
    left to whoever runs it. `faults` is a fault plan for the gateway.

    Raises:
        InputError: the hosts are those of a cluster at `address`, which do not see this
            environment; the gateway cannot start; or there is a fault plan, and no gateway of this
            command to follow it.
        StoreError: the gateway's process cannot be started.
    """
    if not _gets_gateway(routes):
        if faults is not None:
            raise _nobody_to_fail(os.environ.get(URL_VARIABLE, "").strip())
        yield
        return
    if address is not None:
        raise InputError(
            f"{URL_VARIABLE} is not set, and the hosts of the cluster at {address} would not see "
            "a gateway that this command starts.",
            f"Start one with `ceo-arena gateway`, and set {URL_VARIABLE} and {KEY_VARIABLE} as it "
            "says, both here and where the cluster is started.",
        )
    from providers.rehearsal import GatewayOptions, keep_gateway
    from providers.rehearsal.faults import load_fault_plan

    key = secrets.token_hex(_KEY_BYTES)
    plan = None if faults is None else load_fault_plan(faults)
    with keep_gateway(GatewayOptions.model_validate({"api_key": key, "faults": plan})) as base_url:
        notice("A rehearsal gateway was started for this campaign: scripted agents, no model.")
        keys = {route.credentials[0]: key for route in routes if route.credentials != "no key"}
        with _environment({URL_VARIABLE: base_url, **keys}):
            yield


def check_variables(campaign: str, routes: Collection[Route], address: str | None) -> None:
    """Raise InputError, naming all of them, when variables that a campaign's routes need are not
    set: here, unless the hosts are those of a cluster at `address`, which has an environment of its
    own, or a gateway is to be started that sets them.
    """
    if address is not None or _gets_gateway(routes):
        return
    missing = missing_variables(routes, os.environ)
    if missing:
        raise InputError(
            f"Campaign {campaign} needs variables that are not set: {', '.join(missing)}.",
            "Set them; a key may also stand in a file that the variable with _FILE after its name "
            "names. Then give the command again.",
        )


def _gets_gateway(routes: Collection[Route]) -> bool:
    """Whether this command is to start a gateway for these routes."""
    named = os.environ.get(URL_VARIABLE, "").strip()
    return bool(routes) and not named and all(_is_rehearsal(route) for route in routes)


def _is_rehearsal(route: Route) -> bool:
    return route.endpoint_env == URL_VARIABLE


def _nobody_to_fail(named: str) -> InputError:
    if named:
        return InputError(
            f"A fault plan is for the gateway of this command, and {URL_VARIABLE} names another.",
            "Give the plan to that gateway: ceo-arena gateway --faults FILE",
        )
    return InputError(
        "A fault plan is for the rehearsal gateway, and this campaign has none: not all of its "
        "candidates are scripted agents.",
        "Leave --faults out, or launch rehearsal-llm.",
    )


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables of this process and of those that it starts, for the time of a `with` block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
