"""The command that shows what a campaign spends, and sets what it may."""

import re
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from manifests.canonical import LARGEST_INTEGER
from manifests.errors import InputError
from orchestrator.cli.output import (
    DEFAULT_STORE,
    Column,
    JsonOption,
    NameArgument,
    ReasonOption,
    StoreOption,
    chosen_campaign,
    dollars,
    notice,
    print_json,
)
from orchestrator.cli.tables import print_table

if TYPE_CHECKING:
    from orchestrator.store import Store

app = typer.Typer()

# A comma stands before three digits or is none: half of Europe would write 99,50.
_AMOUNT: Final = re.compile(r"\$?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.([0-9]{1,2}))?")


@app.command()
def spending(
    name: NameArgument = None,
    cap: Annotated[
        str | None,
        typer.Option("--cap", metavar="DOLLARS", help="Set the cap, such as 2500 or 99.50."),
    ] = None,
    candidate: Annotated[
        str | None,
        typer.Option(
            "--candidate",
            metavar="ID",
            help="The cap is for the route of this candidate.",
            show_default="the whole campaign",
        ),
    ] = None,
    reason: ReasonOption = "",
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Show what the routes of a campaign have cost, and set or raise a cap.

    Only routes with prices are counted. A cap that is reached pauses the
    runs that ask; `resume` goes on after it was raised. Before a request is
    sent, the most that it may cost is set aside, so that no cap is exceeded.

    JSON: campaign, cap_cents (null: none), routes: each with candidate,
    known_microdollars, uncertain_microdollars (possibly billed, or without
    usage, at most), set_aside_microdollars (under way, at most), cap_cents.
    """
    from orchestrator.store import WHOLE_CAMPAIGN, open_store

    with open_store(store) as opened:
        name = chosen_campaign(opened, name)
        if candidate is not None and cap is None:
            raise InputError("--candidate says whose cap is set.", "Give --cap as well.")
        if cap is not None:
            amount = _cents(cap)
            _check_priced(opened, name, candidate)
            opened.controls.set_cap(name, candidate or WHOLE_CAMPAIGN, amount, reason)
            notice(f"The cap is {dollars(amount)}. Runs that it paused: ceo-arena resume")
        found = _spending(opened, name)
    if as_json:
        print_json(found)
    else:
        _show(found)


def _spending(store: "Store", campaign: str) -> dict[str, Any]:
    from orchestrator.bound import bound_plan
    from orchestrator.money import routes_of
    from orchestrator.store import WHOLE_CAMPAIGN

    definition = bound_plan(store.catalogue.manifest_in_force(campaign)).definition
    caps = store.controls.caps(campaign)
    spent = {each.candidate: each for each in store.controls.spent(campaign)}
    return {
        "campaign": campaign,
        "cap_cents": caps.get(WHOLE_CAMPAIGN, definition.limits.spending_cap_cents),
        "routes": [
            {
                "candidate": candidate,
                "known_microdollars": spent[candidate].known if candidate in spent else 0,
                "uncertain_microdollars": spent[candidate].uncertain if candidate in spent else 0,
                "set_aside_microdollars": spent[candidate].set_aside if candidate in spent else 0,
                "cap_cents": caps.get(candidate, route.spending_cap_cents),
            }
            for candidate, route in routes_of(definition).items()
            if route.prices is not None
        ],
    }


def _show(found: dict[str, Any]) -> None:
    from providers.pricing import cents

    amounts = ("known_microdollars", "uncertain_microdollars", "set_aside_microdollars")
    total = [sum(route[name] for route in found["routes"]) for name in amounts]
    rows = [
        *(
            (each["candidate"], *(each[name] for name in amounts), each["cap_cents"])
            for each in found["routes"]
        ),
        ("all", *total, found["cap_cents"]),
    ]
    print_table(
        f"Spending of {found['campaign']}",
        [
            "candidate",
            Column("known", number=True),
            Column("unknown, at most", number=True),
            Column("under way, at most", number=True),
            Column("cap", number=True),
        ],
        (
            (row[0], *(dollars(cents(amount)) for amount in row[1:4]), dollars(row[4]))
            for row in rows
        ),
        [] if found["routes"] else ["No route of this campaign has prices: nothing is counted."],
    )


def _check_priced(store: "Store", campaign: str, candidate: str | None) -> None:
    from orchestrator.bound import bound_plan
    from orchestrator.money import check_cap, routes_of

    routes = routes_of(bound_plan(store.catalogue.manifest_in_force(campaign)).definition)
    if candidate is None:
        check_cap(campaign, routes)
        return
    priced = [name for name, route in routes.items() if route.prices is not None]
    if candidate not in priced:
        raise InputError(
            f'Campaign {campaign} has no candidate "{candidate}" whose route has prices.',
            f"There are: {', '.join(priced) or 'none'}.",
        )


def _cents(text: str) -> int:
    match = _AMOUNT.fullmatch(text)
    dollars, cents = ("", "") if match is None else match.groups(default="")
    # So many digits are no amount, and are not worth being read as a number.
    most = len(str(LARGEST_INTEGER))
    amount = int(f"0{dollars.replace(',', '')}{cents:0<2}") if len(dollars) <= most else 0
    if not 1 <= amount <= LARGEST_INTEGER:
        raise InputError(
            f"{text} is no amount for a cap.", "Write dollars and cents, such as 2500 or 99.50."
        )
    return amount
