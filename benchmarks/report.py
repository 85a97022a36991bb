"""How long tables and report of a 27-run campaign of 500 days take, and how soon the page opens.

Plays the rehearsal campaign into a store of its own, and a third of it (one seed, nine runs) into
another. Prints one JSON object: ``analyze_s`` and ``report_s`` are the seconds of the commands,
start included, ``mib`` is the size of the page, ``open_ms`` the time until a browser has loaded it
(null where there is no Chromium), and ``.._9_runs`` the same for the third: linear in runs, the
ratio is at most three. ``peak_mib`` is the largest resident memory of either command.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A file beside this one bears the name of a package: this folder must not be searched first.
sys.path = [
    folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent
]

from campaigns.definition import load_definition
from campaigns.plan import plan
from manifests.model import ModelCandidate
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import Ceo, seated
from orchestrator.owners import own_name
from orchestrator.store import open_store
from orchestrator.world import StopRequest, World

CAMPAIGN = "rehearsal"
LEASE_SECONDS = 600.0
SCRIPT = "from orchestrator.cli.main import main; main()"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(_play(folder / "whole", None))
        asyncio.run(_play(folder / "third", 1))
        whole, third = (_timed(folder, store) for store in ("whole", "third"))
        page = folder / "whole-report" / "report.html"
        figures = {
            **whole,
            "mib": round(page.stat().st_size / 2**20, 2),
            "open_ms": _open_milliseconds(page),
            **{f"{key}_9_runs": value for key, value in third.items()},
            "peak_mib": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
        }
    print(json.dumps(figures))


async def _play(location: Path, seeds: int | None) -> None:
    """Play the campaign, or the first seeds of it, run by run."""
    definition = load_definition(CAMPAIGN)
    kept = (definition.seeds or ())[:seeds]
    planned = plan(definition.model_copy(update={"seeds": kept}))
    with open_store(str(location), create=True) as store:
        manifest = frozen(planned)
        store.catalogue.create_campaign(manifest, planned.runs)
        scenario = bound_scenario(manifest)
        for row in store.catalogue.runs(CAMPAIGN):
            run = store.run(row.key)
            lease = run.acquire(own_name(), LEASE_SECONDS)
            ceos = seated(manifest, row.planned.lineup, _no_model)
            await World(run, lease, row.planned, scenario, ceos, StopRequest()).play()
            run.release(lease)
            run.close()


def _no_model(candidate: ModelCandidate, _seat: int) -> Ceo:
    raise AssertionError(f"the rehearsal seats no model, but {candidate.id} is one")


def _timed(folder: Path, store: str) -> dict[str, float]:
    seconds = {}
    for command in ("analyze", "report"):
        arguments = ["--store", str(folder / store), "--out", str(folder / f"{store}-{command}")]
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", SCRIPT, command, *arguments], check=True, capture_output=True
        )
        seconds[f"{command}_s"] = round(time.perf_counter() - begun, 2)
    return seconds


def _open_milliseconds(page: Path) -> float | None:
    """From the navigation to the end of the page's load event."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page()
        tab.goto(page.as_uri())
        elapsed = tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        browser.close()
    return round(float(elapsed))


if __name__ == "__main__":
    main()
