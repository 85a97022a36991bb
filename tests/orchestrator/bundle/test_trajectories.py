"""A bundle is followed window by window as the store that it was exported from."""

import json
from pathlib import Path
from typing import Any

import pytest

from campaigns.records.trajectories import Step, WindowStory
from manifests.bundle import Bundle
from orchestrator.bundle import layout
from orchestrator.bundle.reading import BundledRun, BundleSource
from orchestrator.records import StoreSource
from orchestrator.store import open_store
from tests.orchestrator.bundle.exported import replayed, signed_again, write
from tests.orchestrator.cli.rehearsed import NAME, OPEN, PLAYED, make_store

pytestmark = pytest.mark.xdist_group("bundles")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("followed"))


@pytest.fixture(scope="module")
def told(store: Path) -> Path:
    return write(store, store.parent / "told.bundle", with_conversations=True)


@pytest.fixture(scope="module")
def untold(store: Path) -> Path:
    return write(store, store.parent / "untold.bundle")


def bundled(path: Path, run_id: str) -> BundledRun:
    runs = BundleSource(Bundle.open(path)).runs()
    return next(run for run in runs if run.planned.run_id == run_id)


def plain(story: WindowStory) -> dict[str, Any]:
    """A story without its steps, and without why it closed, which a bundle knows of failures."""
    told = (name for name in WindowStory.__struct_fields__ if name not in {"steps", "reason"})
    return {name: getattr(story, name) for name in told}


def test_market_decisions_and_receipts_are_those_of_the_store(
    store: Path, told: Path, untold: Path
) -> None:
    with open_store(str(store)) as opened:
        for run in StoreSource(opened, NAME).runs():
            of_store = run.trajectory
            for path in (told, untold):
                of_bundle = bundled(path, run.run.run_id).trajectory
                assert list(of_bundle.offers()) == list(of_store.offers())
                assert list(of_bundle.events()) == list(of_store.events())
                assert [(seat, plain(story)) for seat, story in of_bundle.windows()] == [
                    (seat, plain(story)) for seat, story in of_store.windows()
                ]


def test_what_was_said_done_and_written_is_told_in_its_order(store: Path, told: Path) -> None:
    steps = []
    with open_store(str(store)) as opened:
        for run in StoreSource(opened, NAME).runs():
            if run.run.run_id == PLAYED:
                steps = [story.steps for _, story in run.trajectory.windows()]
    found = [story.steps for _, story in bundled(told, PLAYED).trajectory.windows()]
    assert found == steps
    kinds = {step.kind for own in found for step in own}
    assert kinds >= {"briefing", "reply", "call", "file", "closed"}
    assert any(step.tool == "query_company" and '"rows"' in step.text for step in found[0])


def test_faults_stand_where_they_came_and_say_their_kind(told: Path) -> None:
    (open_window, stopped) = (story for _, story in bundled(told, OPEN).trajectory.windows())
    assert [step.kind for step in open_window.steps] == [
        *("briefing", "fault", "fault", "reply", "correction", "notice", "reply"),
        *("call", "file", "call"),
    ]
    assert open_window.steps[1].text == "transient 503 overloaded"
    assert (open_window.status, open_window.settled) == ("open", False)
    assert stopped.status == "provider_error"


def test_without_conversations_there_are_numbers_and_no_texts(told: Path, untold: Path) -> None:
    def counted(path: Path, kind: str, tool: str = "") -> list[int]:
        return [
            sum(step.kind == kind and (not tool or step.tool == tool) for step in story.steps)
            for _, story in bundled(path, PLAYED).trajectory.windows()
        ]

    for kind, tool in (("reply", ""), ("file", ""), ("call", "query_company")):
        assert counted(untold, kind, tool) == counted(told, kind, tool)
        assert sum(counted(untold, kind, tool))
    silent = Step(kind="reply")
    for _, story in bundled(untold, PLAYED).trajectory.windows():
        for step in story.steps:
            assert (step.arguments, step.content) == (silent.arguments, silent.content)
            assert step.kind == "closed" or step.text == silent.text


def test_a_replay_names_a_public_record_that_was_changed(untold: Path, tmp_path: Path) -> None:
    name = f"runs/{PLAYED}/{layout.DAYS}"

    def brighter(content: bytes) -> bytes:
        first, *others = content.splitlines()
        day = json.loads(first)
        day["public"]["signal"]["macro"] += 0.5
        return b"\n".join([json.dumps(day).encode(), *others]) + b"\n"

    forged = signed_again(untold, tmp_path / "forged", {name: brighter})
    (difference,) = replayed(forged, PLAYED).differences
    assert (difference.day, difference.what) == (1, "what is public of the day")
    assert difference.field == "signal.macro"
    assert difference.recorded == difference.recomputed + 0.5
