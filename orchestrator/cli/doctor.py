"""The command that looks whether a campaign would run here."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import (
    DEFAULT_STORE,
    AddressOption,
    JsonOption,
    StoreOption,
    print_json,
)
from orchestrator.cli.tables import print_table

if TYPE_CHECKING:
    from orchestrator.doctor import Finding
    from providers.routes import Route

app = typer.Typer()

SICK = 1
"""The exit code when something would keep the campaign from running."""


@app.command()
def doctor(
    campaign: Annotated[
        str,
        typer.Argument(
            metavar="CAMPAIGN", help="A campaign of the library, or the path of a campaign file."
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    address: AddressOption = None,
    skip_calls: Annotated[
        bool, typer.Option("--skip-calls", help="Send no request to any service.")
    ] = False,
    skip_ray: Annotated[bool, typer.Option("--skip-ray", help="Do not start or join Ray.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look whether a campaign would run here: keys, models, tools, store, disk, clock, Ray.

    Every route is asked twice, for a call of a tool and for what follows its
    result; that costs next to nothing. A campaign that rehearses gets a
    gateway for it. Ends with 1 when something has failed.

    JSON: campaign, ok, checks: each with check, subject (a candidate, or
    empty), health (ok, warning, failed, skipped), found, remedy.
    """
    from campaigns.definition import load_definition
    from campaigns.plan import plan
    from orchestrator.binding import frozen
    from orchestrator.cli.rehearsing import rehearsal_gateway
    from orchestrator.doctor import check_store
    from orchestrator.money import routes_of

    planned = plan(load_definition(campaign))
    routes = routes_of(planned.definition)
    with rehearsal_gateway(frozen(planned), address):
        found = [*check_store(store), *_routes(routes, skip_calls), *_ray(address, skip_ray)]
    healthy = all(finding.health != "failed" for finding in found)
    if as_json:
        checks = [finding.to_json() for finding in found]
        print_json({"campaign": campaign, "ok": healthy, "checks": checks})
    else:
        _show(campaign, found, healthy=healthy)
    if not healthy:
        raise typer.Exit(SICK)


def _routes(routes: Mapping[str, "Route"], skip_calls: bool) -> Iterator["Finding"]:
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
