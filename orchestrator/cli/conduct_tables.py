"""Decision health and workload of models as tables for people."""

from campaigns.analysis.builds import ServedBuilds
from campaigns.analysis.conduct import Work
from campaigns.analysis.health import Health
from campaigns.analysis.workload import Workload
from orchestrator.cli.output import Column
from orchestrator.cli.tables import print_table
from orchestrator.results import ModelConduct


def show_conduct(found: ModelConduct) -> None:
    """Print how the windows of models closed, and what their decisions took."""
    _show_health(found.health)
    _show_workload(found.workload, _changes(found.builds))


def _show_health(rows: tuple[Health, ...]) -> None:
    notes = [f"{rows[-1].open:,} more are not settled yet."] if rows[-1].open else []
    if rows[-1].fresh_attempts:
        notes.append(f"{rows[-1].fresh_attempts:,} attempts failed before another one closed.")
    print_table(
        "Decision health: settled company-windows",
        [
            "candidate",
            Column("active", number=True),
            Column("sealed", number=True),
            Column("budget exhausted", number=True),
            Column("timeout", number=True),
            Column("protocol error", number=True),
            Column("unsealed", number=True),
        ],
        (
            (
                row.candidate or "all",
                row.active,
                row.sealed,
                row.budget_exhausted,
                row.timeout,
                row.protocol_error,
                _percent(row.unsealed_rate),
            )
            for row in rows
        ),
        notes,
    )


def _show_workload(rows: tuple[Workload, ...], notes: list[str]) -> None:
    print_table(
        "Workload: sealed windows with complete usage",
        [
            "candidate",
            Column("runs", number=True),
            Column("windows", number=True),
            Column("replies", number=True),
            Column("calls", number=True),
            Column("input", number=True),
            Column("cached", number=True),
            Column("output", number=True),
            Column("reasoning", number=True),
            Column("mean", number=True),
            Column("SD", number=True),
        ],
        (
            (
                row.candidate or "all",
                row.trajectories,
                *_taken(row.counted),
                _rounded(row.replies_per_trajectory_mean),
                _rounded(row.replies_per_trajectory_sd),
            )
            for row in rows
        ),
        [*_notes(rows[-1]), *notes],
    )


def _taken(work: Work) -> tuple[int, ...]:
    return (
        work.windows,
        work.replies,
        work.tool_calls,
        work.input_tokens,
        work.cached_input_tokens,
        work.output_tokens,
        work.reasoning_tokens,
    )


def _notes(total: Workload) -> list[str]:
    """What the table leaves out, and what nobody knows."""
    apart = total.apart
    notes = ["mean, SD: replies over a run"]
    if apart.replies or apart.windows:
        notes.append(
            f"Apart: {apart.windows:,} other windows and failed attempts took {apart.replies:,} "
            f"replies, {apart.tool_calls:,} calls, {apart.input_tokens:,} input and "
            f"{apart.output_tokens:,} output tokens."
        )
    unknown = total.counted.possibly_billed + apart.possibly_billed
    late = total.late
    if late.replies:
        notes.append(
            f"Late, paid and in no conversation: {late.replies:,} replies, {late.input_tokens:,} "
            f"input and {late.output_tokens:,} output tokens."
        )
    if apart.replies_without_usage or unknown:
        notes.append(
            f"Not counted: {apart.replies_without_usage:,} replies without usage, and {unknown:,} "
            "requests without a reply that may have been billed."
        )
    return notes


def _changes(builds: tuple[ServedBuilds, ...]) -> list[str]:
    """Whose model its vendor changed on the way."""
    return [
        f"The model of {row.candidate} changed during the campaign: served as "
        + ", then ".join(f"{build} ({count:,} replies)" for build, count in row.replies.items())
        + "."
        for row in builds
        if row.changed
    ]


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}%"


def _rounded(value: float | None) -> str | None:
    return None if value is None else f"{value:,.1f}"
