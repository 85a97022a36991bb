"""How long analysis, report and trajectory explorer of a 27-run campaign of 500 days take, and how
soon a browser has the pages open.

Plays the library's campaign of eight models into a store of its own, and a third of it (one seed,
nine runs) into another; with ``--days`` all of them are shorter. Policies decide in the place of
the models, and every company-window of a model gets a journal as a model leaves it: a briefing,
queries of its books with their results, staged changes, a note, 37 events in all. Takes some
minutes.

Prints one JSON object. ``analyze_s`` and ``report_s`` are the seconds of the commands, start
included (``.._cpu_s`` those of the processor), ``mib`` is the size of the page, ``open_ms`` the
time until a browser has loaded it (null where there is no Chromium). ``explorer_mib`` in
``explorer_files`` is what `report` writes beside the page; ``explorer_open_ms`` is the time from
the navigation until a company's window is on the screen, which loads ``explorer_opening_kib`` in
``explorer_opening_files``; ``explorer_step_ms`` is the time to the next window of the same company,
``explorer_company_ms`` to another company, whose script is loaded then. ``.._peak_mib`` is the
largest resident memory of a command, and ``.._per_run_27_to_9`` its processor time per run over
that of the third: up to one means that the cost is at most linear in runs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from sqlalchemy import insert

from benchmarks.playing import LEASE_SECONDS, chosen_form, create, play
from campaigns.definition import CampaignDefinition, load_definition
from engine.policies.base import make_policy
from manifests.model import ModelCandidate
from orchestrator.ceos import PolicyCeo
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.owners import own_name
from orchestrator.session.allowance import Allowance
from orchestrator.session.draft import ProductChange
from orchestrator.session.events import (
    Answered,
    Asked,
    Closed,
    Event,
    ToolReceipt,
    WindowOpened,
    encode_event,
    kind_of,
)
from orchestrator.session.files import FileChange
from orchestrator.store import AttemptKey, CommitPoint, RunStore, open_store
from orchestrator.store.blobs import Blob
from orchestrator.store.schema import blobs, session_events
from providers.contract import Reply, ToolCall, Usage

CAMPAIGN, POLICIES = "rehearsal-llm", "rehearsal"
RUNS, RUNS_OF_A_THIRD = 27, 9
SCRIPT = "from orchestrator.cli.main import main; main()"

POLL_MILLISECONDS = 5.0
QUERIES, CHANGES = 6, 4
BRIEFING_WORDS, RESULT_ROWS, NOTE_LINES = 1_500, 40, 60
DIGEST = "sha256:" + 64 * "0"
ALLOWANCE = Allowance(
    replies=32,
    output_tokens=131_072,
    seconds=3_600,
    native_ceiling=65_536,
    smallest_ceiling=1_024,
)


class Cost(NamedTuple):
    """What a command took."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def main() -> None:
    definition = chosen_form(CAMPAIGN, __doc__)
    one_seed = definition.model_copy(update={"seeds": (definition.seeds or ())[:1]})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        play_all(folder / "whole", definition)
        play_all(folder / "third", one_seed)
        figures: dict[str, Any] = {}
        for command in ("analyze", "report"):
            whole, third = (cost(folder, store, command) for store in ("whole", "third"))
            figures[f"{command}_s"] = round(whole.seconds, 2)
            figures[f"{command}_cpu_s"] = round(whole.cpu_seconds, 2)
            figures[f"{command}_peak_mib"] = round(whole.peak_mib)
            per_run = whole.cpu_seconds / RUNS, third.cpu_seconds / RUNS_OF_A_THIRD
            figures[f"{command}_per_run_27_to_9"] = round(per_run[0] / per_run[1], 2)
        written = folder / "whole-report"
        figures["mib"] = mebibytes([written / "report.html"])
        scripts = list((written / "explorer").iterdir())
        figures["explorer_mib"] = mebibytes([written / "explorer.html", *scripts])
        figures["explorer_files"] = 1 + len(scripts)
        figures |= opened(written)
    print(json.dumps(figures))


def play_all(location: Path, definition: CampaignDefinition) -> None:
    """Play a campaign run by run, and add the journals."""
    stand_ins = {
        candidate.seat: candidate.policy for candidate in load_definition(POLICIES).candidates
    }

    def seat_model(candidate: ModelCandidate, seat: int) -> PolicyCeo:
        ceo = PolicyCeo(make_policy(str(stand_ins[seat]), {}))
        ceo.identity = candidate.route_identity
        return ceo

    with open_store(str(location), create=True) as store:
        create(store, definition)
        for row in store.catalogue.runs(CAMPAIGN):
            play(store, row.key, seat_model)
            models = {seat for seat, name in enumerate(row.planned.lineup, 1) if name in MODELS}
            write_journals(store.run(row.key), models, random.Random(row.planned.run_id))


MODELS = {candidate.id for candidate in load_definition(CAMPAIGN).candidates}


def write_journals(run: RunStore, models: set[int], chance: random.Random) -> None:
    """A journal for every window of a model. All at once: one commit an event would take hours."""
    lease = run.acquire(own_name(), LEASE_SECONDS)
    keys = [
        AttemptKey(window.version, window.seat, 0)
        for window in run.company_windows()
        if window.seat in models
    ]
    kept: set[bytes] = set()
    for key in keys:
        with run.fenced(lease, CommitPoint.APPEND_EVENT) as (connection, held):
            contents, rows = {}, []
            for ordinal, event in enumerate(session(key, chance)):
                blob = Blob.of(encode_event(event))
                contents[blob.digest] = blob.packed
                place = {"run": held.run, **key._asdict(), "ordinal": ordinal}
                stamps = {"kind": kind_of(event), "epoch": lease.epoch, "committed_at": 0}
                rows.append({**place, **stamps, "blob": blob.digest})
            new = {digest: content for digest, content in contents.items() if digest not in kept}
            kept |= new.keys()
            stored = [{"run": held.run, "digest": d, "content": c} for d, c in new.items()]
            connection.execute(insert(blobs), stored)
            connection.execute(insert(session_events), rows)
    run.release(lease)
    run.close()


def session(key: AttemptKey, chance: random.Random) -> Iterator[Event]:
    """The events of a window that a model asks about, decides, writes about and seals."""

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    number = 0

    def reply(*calls: ToolCall) -> Iterator[Event]:
        nonlocal number
        number += 1
        yield Asked(float(number), number, DIGEST, 65_536)
        usage = Usage(9_000 + 900 * number, 8_000, 400, 200)
        yield Answered(float(number), number, replied(text(60), calls, usage))

    yield WindowOpened(
        0.0, DIGEST, DIGEST, f"day {7 * key.version} {text(BRIEFING_WORDS)}", ALLOWANCE
    )
    for query in range(QUERIES):
        sql = f"SELECT day, sku, units FROM sales WHERE day > {query} -- {text(12)}"
        call = ToolCall(f"q{query}", "query_company", json.dumps({"sql": sql}))
        yield from reply(call)
        rows = [
            [chance.randrange(500), text(1), chance.randrange(10**6)] for _ in range(RESULT_ROWS)
        ]
        result = json.dumps({"columns": ["day", "sku", "units"], "rows": rows})
        yield ToolReceipt(float(number), call.call_id, call.name, result, ok=True)
    for product in range(CHANGES):
        price = chance.randrange(1_000, 9_000)
        arguments = json.dumps({"product_id": f"P{product}", "price_cents": price})
        call = ToolCall(f"p{product}", "set_product", arguments)
        yield from reply(call)
        change = ProductChange(f"P{product}", price_cents=price)
        staged = json.dumps({"status": "staged", "quote": text(40)})
        yield ToolReceipt(
            float(number), call.call_id, call.name, staged, ok=True, draft_change=change
        )
    note = "\n".join(f"- {text(9)}" for _ in range(NOTE_LINES))
    call = ToolCall("n", "write_file", json.dumps({"path": "MEMORY.md", "content": note}))
    seal = ToolCall("s", "seal_decision", "{}")
    yield from reply(call, seal)
    change_of_file = FileChange("MEMORY.md", key.version + 1, note)
    written = json.dumps({"status": "written", "path": "MEMORY.md", "version": key.version + 1})
    yield ToolReceipt(
        float(number), call.call_id, call.name, written, ok=True, file_change=change_of_file
    )
    yield ToolReceipt(float(number), "s", seal.name, '{"status":"sealed"}', ok=True, seals=True)
    yield Closed(float(number), CompanyWindowStatus.SEALED, "sealed")


def replied(text: str, calls: tuple[ToolCall, ...], usage: Usage) -> Reply:
    return Reply(
        native=json.dumps({"role": "assistant", "content": text}),
        text=text,
        tool_calls=calls,
        stop="tool_calls",
        stop_reason="tool_calls",
        usage=usage,
        requested_model="m",
        returned_model="m",
        request_id="r",
        fingerprint=None,
        latency_seconds=1.0,
        first_token_seconds=0.5,
        has_reasoning=False,
        is_only_reasoning=False,
    )


WORDS = [
    "".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=3 + number % 7))
    for number in range(4_000)
]


def cost(folder: Path, store: str, command: str) -> Cost:
    """What one command takes in a process of its own."""
    arguments = ["--store", str(folder / store), "--out", str(folder / f"{store}-{command}")]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, command, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def mebibytes(files: list[Path]) -> float:
    return round(sum(file.stat().st_size for file in files) / 2**20, 2)


# Notes when a window of a company is on the screen, and which one.
WATCH = """
addEventListener("DOMContentLoaded", () => {
  const story = document.getElementById("story");
  if (story) new MutationObserver(() => {
    window.shownAt = performance.now();
    window.shownTimes = (window.shownTimes ?? 0) + 1;
  }).observe(story, { childList: true });
});
"""


def opened(written: Path) -> dict[str, float | None]:
    """Milliseconds in a browser, and what the explorer asks for when it is opened."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    keys = (
        *("open_ms", "explorer_open_ms", "explorer_opening_kib", "explorer_opening_files"),
        *("explorer_step_ms", "explorer_company_ms"),
    )
    if chromium is None:
        return dict.fromkeys(keys)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page()
        tab.goto((written / "report.html").as_uri())
        whole = tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        tab = browser.new_page()
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.add_init_script(WATCH)
        tab.goto((written / "explorer.html").as_uri())
        tab.locator("#story h2").first.wait_for()
        explorer = tab.evaluate("window.shownAt")
        files = [Path(unquote(urlsplit(url).path)) for url in asked if url.startswith("file:")]
        after = []
        for key in ("ArrowRight", "j"):
            times = tab.evaluate("window.shownTimes")
            begun = tab.evaluate("performance.now()")
            tab.keyboard.press(key)
            while tab.evaluate("window.shownTimes") == times:
                tab.wait_for_timeout(POLL_MILLISECONDS)
            after.append(tab.evaluate("window.shownAt") - begun)
        browser.close()
    opening = sum(file.stat().st_size for file in files)
    values = (whole, explorer, opening / 1024, len(files), *after)
    return {key: round(value) for key, value in zip(keys, values, strict=True)}


if __name__ == "__main__":
    main()
