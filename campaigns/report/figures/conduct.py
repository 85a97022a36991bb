"""Figures of deciding: behaviour, decision health, workload."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from campaigns.report.drawing import Bars, Figure, bar_columns, finished, style
from campaigns.report.figures.setting import Setting

_KINDS: Final = {
    "price_settings": "Price, promotion",
    "stock_settings": "Stock targets",
    "marketing_settings": "Marketing",
    "development_settings": "Product, R&D",
    "service_settings": "Service",
    "capacity_settings": "Capacity",
    "bid_settings": "Bids",
    "research_settings": "Market research",
}
_STATUSES: Final = {
    "sealed": "Sealed",
    "budget_exhausted": "Budget exhausted",
    "timeout": "Timeout",
    "protocol_error": "Protocol error",
}


def conduct_figures(setting: Setting) -> Iterator[Figure]:
    """The figures of the main group's campaign, as far as it has windows."""
    if not setting.of_main("behaviour").is_empty():
        yield _behaviour(setting)
        yield _health(setting)
    if not setting.of_main("workload").is_empty():
        yield _workload(setting)


def _columns(setting: Setting, found: Sequence[dict[str, Any]], columns: Sequence[Bars]) -> Any:
    looks = [setting.looks[each["candidate"]] for each in found]
    labels, colours = [look.label for look in looks], [look.colour for look in looks]
    return bar_columns(labels, colours, columns, setting.room)


def _behaviour(setting: Setting) -> Figure:
    found = setting.of_main("behaviour").to_dicts()
    columns = [
        Bars(title, [each[f"{kind}_per_window"] for each in found], _decimal)
        for kind, title in _KINDS.items()
    ]
    if setting.evidence.models:
        columns += _of_models(found)
    columns.append(
        Bars(
            "Unsealed windows",
            [_share(each["unsealed"], each["windows"]) for each in found],
            _percent,
        )
    )
    with style():
        figure = _columns(setting, found, columns)
    return finished(
        "behaviour",
        "Behaviour per window",
        "Means per settled window: fields present in sealed decisions by kind, SQL queries, and "
        "notes (a file as one write or edit left it); if-then statements are per note; unsealed "
        f"windows are a share. All runs of {setting.main.campaign} as far as they are settled. "
        "Every column has its own scale.",
        "behaviour",
        figure,
    )


def _of_models(found: Sequence[dict[str, Any]]) -> list[Bars]:
    """What only a model does: query and write."""
    return [
        Bars("SQL queries", [each["queries_per_window"] for each in found], _decimal),
        Bars("Notes", [_per_window(each, "notes") for each in found], _decimal),
        Bars("If-then per note", [each["if_then_statements_per_note"] for each in found], _decimal),
    ]


def _health(setting: Setting) -> Figure:
    found = setting.of_main("decision_health").filter(pl.col("candidate").is_not_null()).to_dicts()
    columns = [
        Bars(title, [_share(each[status], each["active"]) for each in found], _percent)
        for status, title in _STATUSES.items()
    ]
    with style():
        figure = _columns(setting, found, columns)
    fresh = sum(each["fresh_attempts"] for each in found)
    failed = int(setting.of_main("failures")["requests"].sum())
    active = sum(each["active"] for each in found)
    return finished(
        "decision_health",
        "Decision health",
        f"How the {active:,} settled company-windows closed, as a share of each candidate's. Apart "
        f"from them: {fresh:,} fresh attempts after failed ones, and {failed:,} requests that "
        f"ended "
        "without a reply.",
        "decision_health",
        figure,
    )


def _workload(setting: Setting) -> Figure:
    found = setting.of_main("workload").filter(pl.col("candidate").is_not_null()).to_dicts()
    columns = [
        Bars(
            "Replies per run",
            [each["replies_per_trajectory_mean"] for each in found],
            _count,
            [each["replies_per_trajectory_sd"] for each in found],
        ),
        Bars("Tool calls", _by_window(found, "tool_calls"), _decimal),
        Bars("Input tokens", _by_window(found, "input_tokens"), _count),
        Bars("Output tokens", _by_window(found, "output_tokens"), _count),
    ]
    with style():
        figure = _columns(setting, found, columns)
    windows = sum(each["counted_windows"] for each in found)
    replies = sum(each["replies"] for each in found)
    return finished(
        "workload",
        "Workload",
        f"Sealed windows with complete usage only: {windows:,} windows, {replies:,} replies. "
        "Replies of one company over one run, mean with the sample SD as a line; tool calls and "
        "tokens are means per counted window. All other work stands apart in the table.",
        "workload",
        figure,
    )


def _by_window(found: Sequence[dict[str, Any]], name: str) -> list[float | None]:
    return [
        each[name] / each["counted_windows"] if each["counted_windows"] else None for each in found
    ]


def _per_window(each: dict[str, Any], name: str) -> float | None:
    return each[name] / each["windows"] if each["windows"] else None


def _share(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _decimal(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".") if value < 100 else f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.1f}%".replace(".0%", "%")


def _count(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.2f}M"
    return f"{value / 1e3:.1f}k" if value >= 1e4 else f"{value:,.0f}"
