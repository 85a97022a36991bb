"""Stock and orders: what is there, what is coming, and who waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.observation import Observation
from engine.tables.form import Row, Table, cents, count, day, name_of, units

_GROUP: Final = "stock and orders"


def _inventory(observation: Observation) -> Iterator[Row]:
    for product in observation.products.values():
        yield (
            product.product_id,
            product.on_hand,
            product.reserved,
            product.on_hand - product.reserved,
            product.inbound,
        )


def _inbound(observation: Observation) -> Iterator[Row]:
    for shipment in observation.inbound:
        yield shipment.product_id, shipment.due_day, shipment.units


def _backlog(observation: Observation) -> Iterator[Row]:
    for position, order in enumerate(observation.backlog, start=1):
        yield (
            position,
            order.entered_day,
            observation.day - order.entered_day,
            order.segment_id,
            order.product_id,
            order.units,
            order.price_cents,
        )


def _contracts(observation: Observation) -> Iterator[Row]:
    for contract in observation.contracts:
        yield (
            contract.tender_id,
            contract.product_id,
            contract.units,
            contract.price_cents,
            contract.awarded_day,
            contract.due_day,
        )


STOCK: Final = (
    Table(
        "inventory",
        _GROUP,
        "Your units of each product line.",
        (
            name_of("product_id", "Product line."),
            units("on_hand_units", "In stock, reserved ones included."),
            units("reserved_units", "Reserved for enterprise contracts."),
            units("available_units", "In stock and not reserved."),
            units("inbound_units", "Paid and on their way."),
        ),
        key=("product_id",),
        present=_inventory,
    ),
    Table(
        "inbound_shipments",
        _GROUP,
        "Your paid units on their way.",
        (
            name_of("product_id", "Product line."),
            day("arrival_day", "Day on which they can be sold."),
            units("units", "Units."),
        ),
        key=("product_id", "arrival_day"),
        present=_inbound,
    ),
    Table(
        "backlog",
        _GROUP,
        "Consumer orders that wait with you, in the order in which they are served.",
        (
            count("position", "rank", "Place among the waiting consumer orders, first is 1."),
            day("entered_day", "Day of the order."),
            count("age_days", "days", "Days waited so far."),
            name_of("segment_id", "Segment of the customer."),
            name_of("product_id", "Product line."),
            units("units", "Units still owed."),
            cents("price_cents", "Agreed price of a unit, paid when it is fulfilled."),
        ),
        key=("position",),
        present=_backlog,
    ),
    Table(
        "enterprise_contracts",
        _GROUP,
        "Tenders you have won and not yet delivered in full.",
        (
            name_of("tender_id", "Tender."),
            name_of("product_id", "Product line."),
            units("remaining_units", "Units still owed; as many are reserved in stock."),
            cents("unit_price_cents", "Your bid, paid for each unit when it is fulfilled."),
            day("awarded_day", "Day of the award."),
            day("due_day", "Last day of delivery; what is left then pays the penalty."),
        ),
        key=("tender_id",),
        present=_contracts,
    ),
)
