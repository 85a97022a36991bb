"""What it takes to hand on a whole campaign: 27 worlds of 500 days with eight companies.

Each step runs in a process of its own, on a directory. Prints one JSON object: the seconds that an
export, a verification and a replay take (the replay in one process for each processor), the size of
the bundle in ``mib``, and the largest memory of any of these processes for 3 runs and for 27, which
must be about the same: runs are written and read one at a time. With ``--days`` the worlds are
shorter.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.playing import chosen_form, create, play
from campaigns.definition import CampaignDefinition
from manifests.bundle import Bundle, faults
from manifests.keys import generate, public_path, read_private, read_public
from orchestrator.bundle.export import export
from orchestrator.bundle.replay import replay_bundle
from orchestrator.store import RunKey, open_store

CAMPAIGN = "rehearsal"
MIB = 1024 * 1024


def main() -> None:
    definition = chosen_form(CAMPAIGN, __doc__)
    one_lineup = definition.model_copy(update={"lineups": ("reference",)})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "key.pem", None)
        small = _measured(folder, "small", one_lineup)
        whole = _measured(folder, "whole", definition)
    print(
        json.dumps(
            {
                "export_s": round(whole["export"][0], 2),
                "verify_s": round(whole["verify"][0], 2),
                "replay_s": round(whole["replay"][0], 2),
                "mib": round(whole["mib"][0], 1),
                "peak_mib_3_runs": round(max(peak for _, peak in small.values())),
                "peak_mib_27_runs": round(max(peak for _, peak in whole.values())),
            }
        )
    )


def _measured(
    folder: Path, name: str, definition: CampaignDefinition
) -> dict[str, tuple[float, float]]:
    """Seconds and MiB of memory by step."""
    _play_all(folder / f"{name}-store", definition)
    found = {
        step.__name__.lstrip("_"): _alone(step, folder, name)
        for step in (_export, _verify, _replay)
    }
    bundle = folder / f"{name}-bundle"
    size = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
    return {**found, "mib": (size / MIB, 0.0)}


def _alone(step: Callable[[Path, str], None], folder: Path, name: str) -> tuple[float, float]:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_timed, step, folder, name).result()


def _timed(step: Callable[[Path, str], None], folder: Path, name: str) -> tuple[float, float]:
    begin = time.perf_counter()
    step(folder, name)
    seconds = time.perf_counter() - begin
    peaks = (
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return seconds, max(peaks) / 1024


def _export(folder: Path, name: str) -> None:
    key = read_private(folder / "key.pem", lambda: b"")
    with open_store(str(folder / f"{name}-store")) as store:
        bundle = folder / f"{name}-bundle"
        export(store, CAMPAIGN, bundle, [key], {}, with_conversations=False)


def _verify(folder: Path, name: str) -> None:
    key = read_public(public_path(folder / "key.pem"))
    assert not faults(Bundle.open(folder / f"{name}-bundle"), [key])


def _replay(folder: Path, name: str) -> None:
    bundle = folder / f"{name}-bundle"
    report = replay_bundle(bundle, [], os.cpu_count() or 1, lambda _report: None)
    assert not report.differences


def _play_all(place: Path, definition: CampaignDefinition) -> None:
    with open_store(str(place), create=True) as store:
        create(store, definition)
        keys = [row.key for row in store.catalogue.runs(CAMPAIGN)]
    with ProcessPoolExecutor(os.cpu_count() or 1, get_context("spawn")) as pool:
        for done in [pool.submit(_play, place, key) for key in keys]:
            done.result()


def _play(place: Path, key: RunKey) -> None:
    with open_store(str(place)) as store:
        play(store, key)


if __name__ == "__main__":
    main()
