"""Commands about what CEOs are told, and what they did in their windows."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import (
    DEFAULT_STORE,
    Column,
    JsonOption,
    NameArgument,
    RunOption,
    SeatOption,
    StatusOption,
    StoreOption,
    chosen_campaign,
    print_json,
)
from orchestrator.cli.tables import print_table, print_text

if TYPE_CHECKING:
    from engine.tables import Table
    from orchestrator.session.windows import WindowRecord

app = typer.Typer()


@app.command()
def windows(
    name: NameArgument = None,
    run: RunOption = None,
    seat: SeatOption = None,
    day: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Only windows that open on this day.", show_default="all"
        ),
    ] = None,
    status: StatusOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """List company-windows, settled and open ones, with what they took.

    A window is named by the day on which it opens: 0, 7, 14 and so on.
    Policies take no replies; their windows are listed once they are settled.

    JSON: campaign, windows: each with run, world_version, day, seat,
    candidate, status, reason, settled, attempts, replies, finalization_replies,
    input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
    cache_written_tokens,
    tool_calls, replies_without_usage, possibly_billed, faults, late_replies,
    active_seconds, wall_seconds (from the opening to the seal).
    """
    from orchestrator.session.reading import WindowReader
    from orchestrator.store import open_store

    with open_store(store) as opened:
        campaign = chosen_campaign(opened, name)
        found = [
            record
            for record in WindowReader(opened, campaign).records(run, day, seat)
            if status in (None, record.status)
        ]
    if as_json:
        print_json({"campaign": campaign, "windows": [record.to_json() for record in found]})
    else:
        _show_windows(campaign, found)


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="The run's id, as `windows` lists it.")],
    day: Annotated[int, typer.Argument(help="The day on which the window opened.")],
    seat: Annotated[int, typer.Argument(help="The company's seat.")],
    name: NameArgument = None,
    store: StoreOption = DEFAULT_STORE,
    full: Annotated[
        bool, typer.Option("--full", help="Cut no text, and show replies as they were received.")
    ] = False,
    attempt: Annotated[
        int | None,
        typer.Option(
            "--attempt",
            min=0,
            help="Show this attempt: 0 is the original, 1 to 3 are fresh ones.",
            show_default="the last",
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print the audit trace, one JSON object a line.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one company-window: briefing, replies, calls and results, files, seal, usage, timing.

    Works while the window is open, too. The time at the left is the active
    time of the attempt.

    In a trace an event is cut at 64 KiB and the whole at 16 MiB; what is cut
    is marked. The journal has it whole: see --json.

    JSON: as a window of `windows`, and campaign, attempt, identity, last_day,
    allowance, events (all of them, each with its kind), late (replies that
    came too late: attempt, request, owner, epoch, reply), decision, receipts.
    """
    from orchestrator.cli.window_text import window_lines
    from orchestrator.session.reading import WindowReader
    from orchestrator.session.trace import trace_lines
    from orchestrator.store import open_store

    with open_store(store) as opened:
        reader = WindowReader(opened, chosen_campaign(opened, name))
        view = reader.view(run, day, seat, attempt)
    if trace:
        for line in trace_lines(view.events):
            sys.stdout.buffer.write(line)
        sys.stdout.flush()
    elif as_json:
        print_json(view.to_json())
    else:
        print_text(*window_lines(view, full=full))


@app.command()
def tables(as_json: JsonOption = False) -> None:
    """Describe the private tables that a CEO can query: every column, its unit and meaning.

    JSON: tables, each with name, group, description, key (columns that name
    a row), rows (replaced: those of today; kept: added window by window),
    columns (name, type, unit, nullable, description).
    """
    from engine.tables import TABLES

    if as_json:
        print_json({"tables": [_table_json(table) for table in TABLES]})
        return
    for number, table in enumerate(TABLES):
        if number:
            print_text("")
        _show_private_table(table)


@app.command()
def prompt(as_json: JsonOption = False) -> None:
    """Print what every model is told: the system prompt and the tools, with their hashes.

    JSON: interface, prompt_version, prompt_digest, prompt, tools_digest,
    tools (name, description, parameters). The digests are those that the
    manifest of a campaign binds.
    """
    import msgspec

    from engine import DECISION_VERSION
    from orchestrator.session.prompt import PROMPT_VERSION, prompt_digest, system_prompt
    from orchestrator.session.tools import tool_definitions, tools_hash

    if as_json:
        print_json(
            {
                "interface": DECISION_VERSION,
                "prompt_version": PROMPT_VERSION,
                "prompt_digest": prompt_digest(),
                "prompt": system_prompt(),
                "tools_digest": tools_hash(),
                "tools": [msgspec.to_builtins(tool) for tool in tool_definitions()],
            }
        )
        return
    print_text(system_prompt(), "")
    for tool in tool_definitions():
        schema = json.dumps(tool.parameters, indent=2, ensure_ascii=False)
        print_text(f"## {tool.name}", "", tool.description, "", schema, "")
    print_text(
        f"Interface       {DECISION_VERSION}",
        f"Prompt          {PROMPT_VERSION}, {prompt_digest()}",
        f"Tools           {len(tool_definitions())}, {tools_hash()}",
    )


def _show_windows(campaign: str, found: Sequence["WindowRecord"]) -> None:
    print_table(
        f"Company-windows of {campaign}: {len(found):,}",
        [
            "run",
            Column("day", number=True),
            Column("seat", number=True),
            "candidate",
            "status",
            Column("replies", number=True),
            Column("calls", number=True),
            Column("tokens in", number=True),
            Column("out", number=True),
            Column("seconds", number=True),
            Column("wall", number=True),
        ],
        (
            (
                record.run_id,
                record.day,
                record.seat,
                record.candidate,
                record.status.value if record.settled else f"{record.status.value}*",
                *_taken(record),
                None if record.wall_seconds is None else f"{record.wall_seconds:,.1f}",
            )
            for record in found
        ),
        ["* not settled yet"] if not all(record.settled for record in found) else [],
    )


def _taken(record: "WindowRecord") -> tuple[object, ...]:
    if not record.attempts:
        return (None,) * 5
    use, counts = record.use, record.counts
    return (
        use.replies,
        counts.tool_calls,
        counts.input_tokens,
        counts.output_tokens,
        f"{use.seconds:,.1f}",
    )


def _rows_of(table: "Table") -> str:
    kinds = {"replaced": table.present is not None, "kept": table.added is not None}
    return " and ".join(kind for kind, there in kinds.items() if there)


def _table_json(table: "Table") -> dict[str, object]:
    return {
        "name": table.name,
        "group": table.group,
        "description": table.description,
        "key": list(table.key),
        "rows": _rows_of(table),
        "columns": [
            {
                "name": column.name,
                "type": column.type,
                "unit": column.unit,
                "nullable": column.nullable,
                "description": column.description,
            }
            for column in table.columns
        ],
    }


def _show_private_table(table: "Table") -> None:
    key = f"key {', '.join(table.key)}" if table.key else "no key"
    print_text(f"{table.name}  ({table.group}; {key}; rows {_rows_of(table)})")
    print_text(f"  {table.description}")
    width = max(len(column.name) for column in table.columns)
    for column in table.columns:
        unit = f"{column.type} {column.unit}".strip()
        null = " or null" if column.nullable else ""
        print_text(f"    {column.name:{width}}  {unit}{null}: {column.description}")
