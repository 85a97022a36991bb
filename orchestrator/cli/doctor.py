"""The command that looks whether a campaign would run here."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    AddressOption,
    CampaignArgument,
    DaysOption,
    JsonOption,
    StoreOption,
    print_json,
)
from orchestrator.cli.tables import print_table

if TYPE_CHECKING:
    from campaigns.definition import CampaignDefinition
    from orchestrator.doctor import Finding
    from providers.routes import Route

app = typer.Typer()


@app.command()
def doctor(
    campaign: CampaignArgument,
    days: DaysOption = None,
    store: StoreOption = DEFAULT_STORE,
    address: AddressOption = None,
    skip_calls: Annotated[
        bool, typer.Option("--skip-calls", help="Send no request to any service.")
    ] = False,
    skip_ray: Annotated[bool, typer.Option("--skip-ray", help="Do not start or join Ray.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look whether a campaign would run here: plan, keys, models, tools, store, disk, clock, Ray.

    All for which `plan` or `launch` would refuse it is told at once. Every
    route is asked twice, for a call of a tool and for what follows its
    result; that costs next to nothing. A campaign that rehearses gets a
    gateway for it. Ends with 1 when something has failed.

    JSON: campaign, ok, checks: each with check, subject (a candidate, or
    empty), health (ok, warning, failed, skipped), found, remedy.
    """
    from campaigns.definition import load_definition
    from campaigns.plan import plan
    from orchestrator.doctor import check_campaign, check_store

    planned = plan(load_definition(campaign).short_form(days))
    found = [
        *check_campaign(planned, store),
        *_lost_caps(planned.definition.name, store),
        *check_store(store),
        *_routes(planned.definition, address, skip_calls),
        *_ray(address, skip_ray),
    ]
    healthy = all(finding.health != "failed" for finding in found)
    if as_json:
        checks = [finding.to_json() for finding in found]
        print_json({"campaign": campaign, "ok": healthy, "checks": checks})
    else:
        _show(campaign, found, healthy=healthy)
    if not healthy:
        raise typer.Exit(ANSWER_IS_NO)


def _lost_caps(campaign: str, location: str) -> Iterator["Finding"]:
    from manifests.errors import InputError, StoreError
    from orchestrator.cli.carrying import check_caps_known
    from orchestrator.doctor.findings import failed
    from orchestrator.store import open_store

    # The check of the store says why it cannot be opened.
    with suppress(StoreError), open_store(location) as store:
        try:
            check_caps_known(store, campaign)
        except InputError as error:
            yield failed("cap", "", error.message, error.remedy)


def _routes(
    definition: "CampaignDefinition", address: str | None, skip_calls: bool
) -> list["Finding"]:
    """The checks of all routes, at a gateway that is started for it if the campaign rehearses."""
    from manifests.errors import InputError
    from orchestrator.cli.rehearsing import rehearsal_gateway
    from orchestrator.doctor.findings import failed, skipped
    from orchestrator.money import routes_of

    try:
        routes = routes_of(definition)
    except InputError:
        return [skipped("call", "", "the plan cannot be frozen")]
    try:
        with rehearsal_gateway(routes.values(), address):
            return [*_asked(routes, skip_calls)]
    except InputError as error:
        return [failed("call", "", error.message, error.remedy)]


def _asked(routes: Mapping[str, "Route"], skip_calls: bool) -> Iterator["Finding"]:
    from orchestrator.doctor import check_clock, check_routes, check_variables
    from orchestrator.doctor.findings import skipped

    if skip_calls:
        for candidate, route in routes.items():
            yield check_variables(candidate, route, os.environ)
        yield skipped("call", "", "no service was asked, as you wanted")
        return
    yield from asyncio.run(check_routes(routes))
    urls = [
        url
        for route in routes.values()
        if (url := route.endpoint or os.environ.get(route.endpoint_env or "", ""))
    ]
    yield check_clock(urls)


def _ray(address: str | None, skip_ray: bool) -> Iterator["Finding"]:
    from manifests.errors import ArenaError
    from orchestrator.actors.cluster import ray_options
    from orchestrator.doctor.findings import failed, ok, skipped

    if skip_ray:
        yield skipped("ray", "", "not started, as you wanted")
        return
    try:
        with ray_options(address) as options:
            from orchestrator.actors.probe import probe

            yield ok("ray", "", probe(options))
    except ArenaError as error:
        yield failed("ray", "", error.message, error.remedy)


def _show(campaign: str, found: Iterable["Finding"], *, healthy: bool) -> None:
    findings = list(found)
    print_table(
        f"Checks of {campaign}",
        ["check", "of", "health", "found"],
        ((each.check, each.subject, each.health.value, each.found) for each in findings),
        [
            *_remedies(findings),
            "Nothing keeps it from running." if healthy else "It would not run as it is.",
        ],
    )


def _remedies(findings: "Iterable[Finding]") -> Iterator[str]:
    """What to do, once for all candidates of which it is the same."""
    subjects: dict[tuple[str, str], list[str]] = {}
    for each in findings:
        if each.remedy:
            subjects.setdefault((each.check, each.remedy), []).append(each.subject)
    for (check, remedy), of in subjects.items():
        named = ", ".join(filter(None, of))
        yield f"{check}{f' of {named}' if named else ''}: {remedy}"
