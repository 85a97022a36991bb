"""Golden digests: two scripted worlds that use every action, as they must come out everywhere.

    python -m tests.engine.golden          compare this interpreter's worlds with the file
    python -m tests.engine.golden write    make the file anew, after the rules were meant to change

It needs what the engine needs (NumPy, Pydantic, msgspec, rfc8785) and no test tool, so that any
interpreter can be asked.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from engine.records import DayRecord
from engine.scenario import Scenario, default_scenario
from engine.score import score_cents
from engine.settle import initial_state
from engine.state import WorldState, state_digest
from engine.streams import Streams, stream_fingerprint
from tests.engine.script import scripted_world

GOLDEN: Final = Path(__file__).parent.parent / "data" / "golden_digests.json"
WORLDS: Final = ((11, 8), (47, 3))
"""(seed, companies) of each world; the second is a market with few, short-stocked companies."""

SHOWN_DAYS: Final = (1, 2, 7, 8, 14, 21, 50, 100, 200, 300, 400, 499, 500)


def chain(records: list[DayRecord]) -> str:
    """One digest over the digests of all days."""
    text = "\n".join(record.state_digest for record in records)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def golden_world(scenario: Scenario, seed: int, firms: int) -> dict[str, Any]:
    """The digests of some days, of all days together, and the Scores of one scripted world."""
    state: WorldState
    state, records = scripted_world(scenario, seed, firms)
    return {
        "seed": seed,
        "companies": firms,
        "day 0": state_digest(initial_state(scenario, Streams(seed), firms)),
        "days": {str(day): records[day - 1].state_digest for day in SHOWN_DAYS},
        "all days": chain(records),
        "scores_cents": [score_cents(scenario, firm) for firm in state.firms],
        "exits": {
            str(seat): firm.exit_day
            for seat, firm in enumerate(state.firms, start=1)
            if firm.exit_day is not None
        },
    }


def golden_digests() -> dict[str, Any]:
    """Everything that the file holds."""
    scenario = default_scenario()
    return {
        "scenario": scenario.digest,
        "streams": stream_fingerprint(),
        "worlds": [golden_world(scenario, seed, firms) for seed, firms in WORLDS],
    }


def main(arguments: list[str]) -> int:
    found = json.dumps(golden_digests(), indent=2) + "\n"
    if arguments == ["write"]:
        GOLDEN.write_text(found, encoding="utf-8")
    elif arguments:
        sys.stderr.write(__doc__ or "")
        return 2
    same = GOLDEN.read_text(encoding="utf-8") == found
    sys.stdout.write(f"Python {sys.version.split()[0]}: {'equal' if same else 'DIFFERENT'}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
