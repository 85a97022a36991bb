"""What `ceo-arena --help` shows: every command under a heading, in the order of the work."""

from typing import Any, Final

from typer.core import TyperGroup

HEADINGS: Final = {
    "One world, and the market": ("run", "policies", "scenario"),
    "Campaigns": ("campaigns", "plan", "doctor", "launch", "status", "watch", "resume", "results"),
    "Steering": ("pause", "stop", "retry", "why", "failures", "spending"),
    "Models": ("windows", "show", "prompt", "tables", "gateway"),
    "Findings": ("analyze", "report", "replay", "search-rule"),
    "Evidence for others": ("export", "verify", "sign", "keys", "manifest", "schemas"),
    "Stores": ("audit", "backup", "copy", "upgrade"),
}

EXIT_CODES: Final = (
    "Exit codes: 0 done; 1 the answer is no: something differs, failed or is missing; 2 bad input "
    "or usage; 3 the store or the system refuses; 70 a defect of the program; 130 interrupted, and "
    "nothing is lost; 141 nobody reads the output any more."
)


class Contents(TyperGroup):
    """All commands under `HEADINGS`; one that stands under none comes last."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        unplaced = dict(self.commands)
        self.commands = {}
        for heading, names in HEADINGS.items():
            for name in names:
                self.commands[name] = unplaced.pop(name)
                self.commands[name].rich_help_panel = heading  # type: ignore[attr-defined]
        self.commands |= unplaced
