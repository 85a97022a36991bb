"""A small company behind the tools, enough for an agent to work with: an in-memory database, a
draft, files. It checks arguments by the table of the interface (interface.md section 2), strictly.
"""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any, Final

# Argument -> (type, required), for each of the 18 tools.
TOOLS: Final[Mapping[str, Mapping[str, tuple[type | tuple[type, ...], bool]]]] = {
    "query_company": {
        "sql": (str, True),
        "parameters": ((list, dict), False),
        "row_limit": (int, False),
    },
    "set_product": {
        "product_id": (str, True),
        "price_cents": (int, False),
        "promotion_cents": (int, False),
        "reorder_target": (int, False),
        "daily_development_budget_cents": (int, False),
    },
    "set_marketing": {
        "segment_id": (str, True),
        "channel": (str, True),
        "daily_budget_cents": (int, True),
    },
    "set_operations": {
        "reliability_budget_cents": (int, False),
        "support_budget_cents": (int, False),
    },
    "start_research_project": {"tier": (int, True)},
    "expand_capacity": {"target_tier": (int, True)},
    "downsize_capacity": {"target_tier": (int, True)},
    "cancel_capacity_project": {"project_id": (str, True)},
    "submit_enterprise_bid": {"tender_id": (str, True), "unit_price_cents": (int, True)},
    "request_market_research": {"segment_id": (str, True), "level": (int, True)},
    "read_file": {"path": (str, True), "offset": (int, False), "limit": (int, False)},
    "write_file": {"path": (str, True), "content": (str, True)},
    "edit_file": {"path": (str, True), "old_string": (str, True), "new_string": (str, True)},
    "search_files": {"pattern": (str, True), "path": (str, False), "glob": (str, False)},
    "glob_files": {"pattern": (str, True)},
    "preview_decision": {},
    "reset_decision": {},
    "seal_decision": {},
}

_JSON_TYPES: Final = {str: "string", int: "integer", list: "array", dict: "object"}

_SCHEMA: Final = """
CREATE TABLE scenario (horizon_days, window_days, day, days_remaining);
CREATE TABLE company (company_id, status, world_version, day, cash_cents);
CREATE TABLE segments (segment_id, label);
CREATE TABLE channels (channel, label);
CREATE TABLE product_catalog (product_id, initial_price_cents, purchase_cost_cents,
    procurement_days);
CREATE TABLE products (product_id, price_cents, promotion_cents, reorder_target,
    daily_development_budget_cents, realized_quality);
CREATE TABLE capacity_policy (tier, units_per_day, overhead_cents);
CREATE TABLE inventory (product_id, on_hand_units, reserved_units);
CREATE TABLE backlog (position, product_id, units);
CREATE TABLE enterprise_contracts (tender_id, product_id, remaining_units);
CREATE TABLE capacity_action_quotes (action, target_tier, project_id, charge_cents, refund_cents,
    effective_day);
CREATE TABLE innovation_projects (project_id, tier, started_day, status);
CREATE TABLE research_catalog (level, cost_cents, delay_days);
CREATE TABLE research_reports (report_id, segment_id, level, sample_day, delivery_day, status);
CREATE TABLE beliefs (segment_id, quantity, mean, variance);
CREATE TABLE public_prices (company_id, product_id, list_price_cents, promotion_cents,
    effective_price_cents, status);
CREATE TABLE open_tenders (tender_id, product_id, units, minimum_quality, reservation_price_cents,
    close_day);
CREATE TABLE tender_history (tender_id, product_id, units, reservation_price_cents,
    winner_company_id, unit_price_cents);
CREATE TABLE market_signal (sample_day, macro_value, demand_index, quality_index);
CREATE TABLE daily_cashflow (day, opening_cash_cents, revenue_cents, closing_cash_cents);
CREATE TABLE daily_product_sales (day, product_id, orders, fulfilled_units, revenue_cents,
    cogs_cents, stockouts);
CREATE TABLE daily_segment_service (day, segment_id, fulfilled_units, failures, satisfaction);
"""

PRODUCTS: Final = {"A": (4_000, 2_600, 5), "B": (7_500, 4_800, 7), "C": (13_500, 8_500, 10)}
SEGMENTS: Final = ("mainstream", "premium", "value")
CHANNELS: Final = ("affiliate", "display", "search")


class Company:
    """One company-window. `cash` and what the seal refuses can be set; `sealed` is its end."""

    def __init__(
        self,
        *,
        day: int = 70,
        cash: int = 50_000_000,
        units_per_day: int = 55,
        memory: str | None = None,
        refuse_seals: int = 0,
    ) -> None:
        self.day = day
        self.cash = cash
        self.files = {} if memory is None else {"MEMORY.md": memory}
        self.draft: list[tuple[str, dict[str, Any]]] = []
        self.sealed: list[tuple[str, dict[str, Any]]] | None = None
        self.refused: list[tuple[str, str]] = []
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.finalizing = False
        self._refuse_seals = refuse_seals
        self._database = sqlite3.connect(":memory:")
        self._database.executescript(_SCHEMA)
        self._fill(units_per_day)

    def close(self) -> None:
        self._database.close()

    def reply(self, calls: list[tuple[str, str]]) -> list[str]:
        """The results of all calls of one reply, by the seal rule."""
        if len(calls) > 1 and any(name == "seal_decision" for name, _ in calls):
            return [
                self._refusal(name, "seal_decision must be the only call of its reply; none ran")
                for name, _ in calls
            ]
        return [self.call(name, arguments) for name, arguments in calls]

    def call(self, name: str, arguments: str) -> str:
        """The result of one call, as JSON text."""
        if name not in TOOLS:
            return self._refusal(name, f"unknown tool {name}; the tools are {', '.join(TOOLS)}")
        try:
            given = json.loads(arguments)
        except ValueError as error:
            return self._refusal(name, f"arguments are not JSON: {error}")
        problem = _problem(name, given)
        if problem:
            return self._refusal(name, problem)
        self.called.append((name, given))
        handler = getattr(self, f"_{name}", None)
        if handler is not None:
            result: str = handler(given)
            return result
        self.draft.append((name, given))
        return json.dumps({"status": "staged", "changed": given})

    def _refusal(self, name: str, reason: str) -> str:
        self.refused.append((name, reason))
        return json.dumps({"status": "rejected", "tool": name, "problems": [reason]})

    def _query_company(self, given: dict[str, Any]) -> str:
        if self.finalizing:
            return self._refusal("query_company", "refused during finalization")
        try:
            cursor = self._database.execute(given["sql"], given.get("parameters", []))
        except sqlite3.Error as error:
            names = [row[0] for row in self._database.execute("SELECT name FROM sqlite_schema")]
            return self._refusal("query_company", f"{error}; tables: {', '.join(names)}")
        columns = [item[0] for item in cursor.description]
        return json.dumps({"columns": columns, "rows": cursor.fetchall(), "cut": False})

    def _set_product(self, given: dict[str, Any]) -> str:
        price = given.get("price_cents", PRODUCTS[given["product_id"]][0])
        if given.get("promotion_cents", 0) > price:
            return self._refusal("set_product", f"promotion_cents: must be 0..{price}")
        self.draft.append(("set_product", given))
        return json.dumps({"status": "staged"})

    def _read_file(self, given: dict[str, Any]) -> str:
        text = self.files.get(given["path"])
        if text is None:
            return self._refusal("read_file", f"path: there is no file {given['path']!r}")
        numbered = [f"{number}\t{line}" for number, line in enumerate(text.splitlines(), 1)]
        return json.dumps({"content": "\n".join(numbered)})

    def _write_file(self, given: dict[str, Any]) -> str:
        self.files[given["path"]] = given["content"]
        return json.dumps({"status": "written"})

    def _edit_file(self, given: dict[str, Any]) -> str:
        text = self.files.get(given["path"], "")
        if text.count(given["old_string"]) != 1:
            return self._refusal("edit_file", "old_string: must occur exactly once")
        self.files[given["path"]] = text.replace(given["old_string"], given["new_string"])
        return json.dumps({"status": "written"})

    def _search_files(self, given: dict[str, Any]) -> str:
        lines = [line for text in self.files.values() for line in text.splitlines()]
        return json.dumps({"matches": [line for line in lines if given["pattern"] in line]})

    def _glob_files(self, _: dict[str, Any]) -> str:
        return json.dumps({"paths": sorted(self.files)})

    def _preview_decision(self, _: dict[str, Any]) -> str:
        charge = self._charges()
        return json.dumps(
            {
                "charges_cents": charge,
                "cash_after_cents": self.cash - charge,
                "affordable": charge <= self.cash,
            }
        )

    def _reset_decision(self, _: dict[str, Any]) -> str:
        self.draft.clear()
        return json.dumps({"status": "reset"})

    def _seal_decision(self, _: dict[str, Any]) -> str:
        if self._refuse_seals or self._charges() > self.cash:
            self._refuse_seals -= bool(self._refuse_seals)
            return self._refusal("seal_decision", "not affordable: 1 cents short")
        self.sealed = list(self.draft)
        return json.dumps({"status": "sealed"})

    def _charges(self) -> int:
        costs = {"start_research_project": 3_000_000, "request_market_research": 250_000}
        tiers = [given["target_tier"] for name, given in self.draft if name == "expand_capacity"]
        return sum(costs.get(name, 0) for name, _ in self.draft) + 1_500_000 * max(tiers, default=0)

    def _fill(self, units_per_day: int) -> None:
        day = self.day
        put = self._database.executemany
        put("INSERT INTO scenario VALUES (?, ?, ?, ?)", [(500, 7, day, 500 - day)])
        put(
            "INSERT INTO company VALUES (?, ?, ?, ?, ?)",
            [("company-3", "active", day // 7, day, self.cash)],
        )
        put("INSERT INTO segments VALUES (?, ?)", [(name, name.title()) for name in SEGMENTS])
        put("INSERT INTO channels VALUES (?, ?)", [(name, name.title()) for name in CHANNELS])
        put("INSERT INTO capacity_policy VALUES (?, ?, ?)", [(1, 60, 40_000)])
        quotes = [
            ("expand", 2, None, 1_800_000, 0, day + 35),
            ("expand", 3, None, 4_800_000, 0, day + 49),
            ("downsize", 0, None, 100_000, 0, day + 7),
            ("cancel", None, "capacity-1", 0, 700_000, day),
        ]
        put("INSERT INTO capacity_action_quotes VALUES (?, ?, ?, ?, ?, ?)", quotes)
        put("INSERT INTO research_catalog VALUES (?, ?, ?)", [(1, 100_000, 2), (2, 250_000, 4)])
        for segment in SEGMENTS:
            put(
                "INSERT INTO beliefs VALUES (?, ?, ?, ?)",
                [(segment, "demand", 200.0, 25_600.0), (segment, "price_weight", 4.0, 10.0)],
            )
        put(
            "INSERT INTO open_tenders VALUES (?, ?, ?, ?, ?, ?)",
            [("tender-6", "B", 150, 0.70, 9_375, day + 7)],
        )
        put(
            "INSERT INTO tender_history VALUES (?, ?, ?, ?, ?, ?)",
            [("tender-5", "B", 200, 9_375, "company-2", 8_900)],
        )
        put("INSERT INTO market_signal VALUES (?, ?, ?, ?)", [(max(0, day - 7), 1.0, 1.0, 1.01)])
        for product, (price, cost, lead) in PRODUCTS.items():
            put("INSERT INTO product_catalog VALUES (?, ?, ?, ?)", [(product, price, cost, lead)])
            put(
                "INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)", [(product, price, 0, 200, 0, 0.7)]
            )
            put("INSERT INTO inventory VALUES (?, ?, ?)", [(product, 300, 20)])
            put(
                "INSERT INTO public_prices VALUES (?, ?, ?, ?, ?, ?)",
                [
                    ("company-1", product, price + 100, 0, price + 100, "active"),
                    ("company-2", product, price - 100, 50, price - 150, "active"),
                    ("company-4", product, 1, 0, 1, "exited"),
                ],
            )
        for past in range(max(1, day - 13), day + 1):
            put("INSERT INTO daily_cashflow VALUES (?, ?, ?, ?)", [(past, 1, 300_000, 1)])
            for product, (price, cost, _) in PRODUCTS.items():
                sold = units_per_day // 3
                put(
                    "INSERT INTO daily_product_sales VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [(past, product, sold, sold, sold * price, sold * cost, 0)],
                )
            for segment in SEGMENTS:
                put(
                    "INSERT INTO daily_segment_service VALUES (?, ?, ?, ?, ?)",
                    [(past, segment, units_per_day // 3, 1, 0.1)],
                )


def definitions() -> list[dict[str, Any]]:
    """The tools as Chat Completions offers them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"The tool {name}.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        argument: {"type": _json_type(kind)}
                        for argument, (kind, _) in arguments.items()
                    },
                    "required": [name for name, (_, required) in arguments.items() if required],
                    "additionalProperties": False,
                },
            },
        }
        for name, arguments in TOOLS.items()
    ]


def _json_type(kind: type | tuple[type, ...]) -> str | list[str]:
    if isinstance(kind, tuple):
        return [_JSON_TYPES[one] for one in kind]
    return _JSON_TYPES[kind]


def _problem(name: str, given: Any) -> str:
    """What is wrong with the arguments of a call, or nothing."""
    if not isinstance(given, dict):
        return f"arguments: must be an object, received {given!r}"
    for argument, value in given.items():
        if argument not in TOOLS[name]:
            return f"{argument}: unknown field; allowed are {', '.join(TOOLS[name])}"
        kind, _ = TOOLS[name][argument]
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"{argument}: must be {_json_type(kind)}, received {value!r}"
        if isinstance(value, int) and value < 0:
            return f"{argument}: must not be negative, received {value}"
    missing = [one for one, (_, required) in TOOLS[name].items() if required and one not in given]
    return f"{missing[0]}: is required" if missing else ""
