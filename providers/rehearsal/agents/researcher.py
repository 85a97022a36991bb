"""The researcher: pays to know, and to become better, while there is time for either to pay off."""

from providers.rehearsal.agents.reading import Table
from providers.rehearsal.agents.script import Act, Desk, Script, Step, act
from providers.rehearsal.agents.trade import (
    BELIEFS,
    CHANNELS,
    SEGMENTS,
    Books,
    campaign,
    dollars,
    survey,
    upkeep,
)

DOUBT = 0.05
RESERVE_CENTS = 25_000_000
MARKETING_CENTS = 8_000
# (tier, least days remaining, least cash in cents)
PROJECTS = ((2, 260, 42_000_000), (1, 140, 30_000_000))


def researcher(_: Desk) -> Script:
    """Reads beliefs, buys a report where doubt is largest, starts projects, develops products."""
    books, (beliefs, reports, projects, prices, segments, channels) = yield from survey(
        "What do I believe about the segments, and how firmly? Beliefs, reports under way and "
        "projects under way, next to the books that have to pay for all of it.",
        BELIEFS,
        "SELECT * FROM research_reports",
        "SELECT * FROM innovation_projects",
        "SELECT * FROM research_catalog",
        SEGMENTS,
        CHANNELS,
    )
    segment, doubt = _doubt(beliefs)
    acts = [*_report(books, segment, doubt, reports), *_project(books, projects)]
    if acts:
        results = yield Step(
            f"The widest doubt is about {segment or 'no segment'} (squared coefficient of "
            f"variation {doubt:.2f}); {len(reports.rows)} reports and {len(projects.rows)} "
            f"projects are on the books, {len(prices.rows)} levels of research are offered. With "
            f"{dollars(books.cash)} and {books.days_remaining} days left I can still use what I "
            "would learn, so I order.",
            tuple(acts),
            "Knowledge first.",
        )
        refused = [result.reason for result in results if result.refused]
        if refused:
            yield Step(
                f"Refused: {refused[0][:160]} I take back what I staged and see to the products.",
                (act("reset_decision"),),
            )
    budget = 3_500 if books.cash > RESERVE_CENTS and books.days_remaining > 90 else 0
    yield Step(
        f"Daily development of {dollars(budget)} for each line matures after a week and lifts "
        "quality slowly; below the reserve, or near the end, it stops. Better goods bear a "
        "slightly better price, and stock follows sales.",
        (
            *(
                act(
                    "set_product",
                    product_id=line.product_id,
                    price_cents=line.price_at(101 if books.version % 3 == 0 else 100),
                    promotion_cents=0,
                    reorder_target=line.wanted_target(books.days_remaining),
                    daily_development_budget_cents=budget,
                )
                for line in books.lines
            ),
            *campaign(segments, channels, MARKETING_CENTS),
            upkeep(5_000, 7_000),
        ),
    )
    (preview,) = yield Step(
        "Research is paid at once. I check what the draft charges and what stays in cash.",
        (act("preview_decision"),),
    )
    if preview.flag("afford") is False:
        yield Step(
            "It cannot be paid. Knowledge that ruins the company is worth nothing: I drop it.",
            (act("reset_decision"),),
        )


def _doubt(beliefs: Table) -> tuple[str, float]:
    """(segment, largest squared coefficient of variation of a belief), from either form of table:
    a row for each quantity, or a column for each.
    """
    found: dict[str, float] = {}
    for row in beliefs.rows:
        for variance_name in (name for name in beliefs.names if name.endswith("variance")):
            mean = row.get(variance_name.removesuffix("variance") + "mean")
            variance = row.get(variance_name)
            if isinstance(mean, float) and isinstance(variance, float) and mean > 0:
                segment = beliefs.text(row, "segment_id")
                found[segment] = max(found.get(segment, 0.0), variance / (mean * mean))
    return max(found.items(), key=lambda item: (item[1], item[0]), default=("", 0.0))


def _report(books: Books, segment: str, doubt: float, reports: Table) -> list[Act]:
    """One report about a segment in doubt, unless one is under way."""
    has_ordered = any(
        reports.text(row, "segment_id") == segment and reports.number(row, "delivery") > books.day
        for row in reports.rows
    )
    if not segment or doubt < DOUBT or has_ordered or books.cash < RESERVE_CENTS:
        return []
    return [act("request_market_research", segment_id=segment, level=3 if doubt > 0.4 else 2)]


def _is_pending(projects: Table, row: dict[str, object]) -> bool:
    return "complete" not in projects.text(row, "status")


def _project(books: Books, projects: Table) -> list[Act]:
    """The largest project that time and cash allow, one at a time."""
    if any(_is_pending(projects, row) for row in projects.rows):
        return []
    for tier, days, cash in PROJECTS:
        if books.days_remaining >= days and books.cash >= cash:
            return [act("start_research_project", tier=tier)]
    return []
