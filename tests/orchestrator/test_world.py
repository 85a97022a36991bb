"""One run: window, barrier, settlement, and whatever may come between (runtime.md section 1)."""

import asyncio
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from campaigns.records import CompanyOutcome
from engine.decision import CompanyDecision, ProductSettings
from engine.observation import Observation
from engine.scenario import default_scenario
from manifests.errors import StoreError
from orchestrator.ceos import Ceo, Closed, Window
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.store import LeaseLost, RunStore, WindowCommit
from orchestrator.world import StopKind, StopRequest, put_to_rest
from tests.engine.worlds import altered
from tests.orchestrator.trial import DAYS, WINDOWS, Trial

Decide = Callable[[Observation], Closed | CompanyDecision]


class Scripted:
    """A CEO that a test writes."""

    identity = "scripted"

    def __init__(self, decide: Decide, pause: Callable[[], float] = lambda: 0.0) -> None:
        self._decide = decide
        self._pause = pause

    async def decide(self, window: Window) -> Closed:
        await asyncio.sleep(self._pause())
        closed = self._decide(window.observation)
        if isinstance(closed, Closed):
            return closed
        return Closed(CompanyWindowStatus.SEALED, closed)


class Spying:
    """The CEO that the campaign has in a seat, with a spy who is told every observation."""

    def __init__(self, trial: Trial, seat: int, told: Callable[[Observation], None]) -> None:
        self._ceo = trial.ceos()[seat]
        self._told = told
        self.identity = self._ceo.identity

    async def decide(self, window: Window) -> Closed:
        self._told(window.observation)
        return await self._ceo.decide(window)


def hold(observation: Observation) -> CompanyDecision:
    return CompanyDecision(
        company_id=observation.company_id, world_version=observation.world_version
    )


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = Trial.new(tmp_path / "store")
    with made.store:
        yield made


@pytest.fixture
def undisturbed(tmp_path: Path) -> Iterator[Trial]:
    """A reference run that was played in one go."""
    made = Trial.new(tmp_path / "undisturbed")
    with made.store:
        assert made.play() is RunState.COMPLETED
        yield made


def recorded(trial: Trial) -> tuple[list[str], list[bytes | None], list[CompanyOutcome]]:
    run = trial.run()
    decisions = [window.decision_json for window in run.company_windows()]
    return trial.digests(), decisions, run.outcomes()


def test_a_run_is_played_to_its_end_and_leaves_everything(trial: Trial) -> None:
    assert trial.play() is RunState.COMPLETED
    run, status = trial.run(), trial.run().status()
    assert (status.status, status.world_version, status.day) == (
        RunState.COMPLETED,
        WINDOWS,
        DAYS,
    )
    assert [day.day for day in run.days()] == list(range(1, DAYS + 1))
    assert [checkpoint.day for checkpoint in run.checkpoints()] == [0, 7, 14, 17]
    windows = list(run.company_windows())
    assert [(window.version, window.seat) for window in windows] == [
        (version, seat) for version in range(WINDOWS) for seat in (1, 2, 3)
    ]
    assert {window.status for window in windows} == {CompanyWindowStatus.SEALED}
    assert [outcome.candidate for outcome in run.outcomes()] == ["ada", "bob", "cy"]


def test_a_completed_run_is_not_touched_again(undisturbed: Trial) -> None:
    before = recorded(undisturbed)
    assert undisturbed.play() is RunState.COMPLETED
    assert recorded(undisturbed) == before


@pytest.mark.parametrize("seed", range(4))
def test_the_order_in_which_decisions_arrive_leaves_no_trace(
    seed: int, tmp_path: Path, undisturbed: Trial
) -> None:
    chance = random.Random(seed)

    class Late:
        """A CEO of the campaign that takes its time."""

        def __init__(self, ceo: Ceo) -> None:
            self._ceo = ceo
            self.identity = ceo.identity

        async def decide(self, window: Window) -> Closed:
            await asyncio.sleep(chance.random() / 500)
            closed = await self._ceo.decide(window)
            await asyncio.sleep(chance.random() / 500)
            return closed

    late = Trial.new(tmp_path / "late")
    with late.store:
        slowed: dict[int, Ceo] = {seat: Late(ceo) for seat, ceo in late.ceos().items()}
        assert late.play(ceos=slowed) is RunState.COMPLETED
        assert recorded(late) == recorded(undisturbed)


def test_all_companies_of_a_window_decide_at_once(trial: Trial) -> None:
    deciding: list[int] = []
    most = 0

    async def meet(window: Window) -> Closed:
        nonlocal most
        observation = window.observation
        deciding.append(observation.seat)
        most = max(most, len(deciding))
        await asyncio.sleep(0.002)
        deciding.remove(observation.seat)
        return Closed(CompanyWindowStatus.SEALED, hold(observation))

    class Meeting:
        identity = "meeting"
        decide = staticmethod(meet)

    assert trial.play(ceos=dict.fromkeys((1, 2, 3), Meeting())) is RunState.COMPLETED
    assert most == 3


def test_nothing_is_settled_before_the_last_company_has_closed(trial: Trial) -> None:
    seen: list[int] = []

    def look(observation: Observation) -> CompanyDecision:
        seen.append(trial.run().status().world_version)
        return hold(observation)

    late = Scripted(look, pause=lambda: 0.005)
    assert trial.play(ceos={2: late}) is RunState.COMPLETED
    assert seen == [0, 1, 2]


def test_a_company_that_left_the_market_is_asked_no_more(tmp_path: Path) -> None:
    trial = Trial.new(tmp_path / "store", horizon_days=120)
    with trial.store:
        assert trial.play() is RunState.COMPLETED
        exits = trial.run().status().exits
        assert list(exits) == [3]
        asked = [window.version for window in trial.run().company_windows() if window.seat == 3]
        last = (exits[3] - 1) // 7
        assert asked == list(range(last + 1))
        assert trial.run().outcomes()[2].exit_day == exits[3]


@pytest.mark.parametrize("windows", [0, 1, 2])
def test_a_pause_takes_effect_at_the_next_boundary_and_going_on_changes_nothing(
    windows: int, trial: Trial, undisturbed: Trial
) -> None:
    stop = StopRequest()

    def decide(observation: Observation) -> None:
        if observation.world_version == windows - 1:
            stop.ask(StopKind.PAUSE, "lunch")

    if windows == 0:
        stop.ask(StopKind.PAUSE, "lunch")
    assert trial.play(ceos={1: Spying(trial, 1, decide)}, stop=stop) is RunState.PAUSED
    status = trial.run().status()
    assert (status.status, status.reason) == (RunState.PAUSED, "lunch")
    assert (status.world_version, status.day) == (windows, 7 * windows)
    # It waits for a person: playing it does nothing.
    assert trial.play() is RunState.PAUSED
    requeue(trial.run())
    assert trial.play() is RunState.COMPLETED
    assert recorded(trial) == recorded(undisturbed)


def test_leaving_keeps_the_run_where_it_is_for_whoever_comes_next(
    trial: Trial, undisturbed: Trial
) -> None:
    stop = StopRequest()
    leaver = Spying(trial, 2, lambda _observation: stop.ask(StopKind.LEAVE, ""))
    assert trial.play(ceos={2: leaver}, stop=stop) is RunState.RUNNING
    assert trial.run().status().world_version == 1
    assert trial.play(owner="the next one") is RunState.COMPLETED
    assert recorded(trial) == recorded(undisturbed)


def test_leaving_does_not_take_a_pause_back() -> None:
    stop = StopRequest()
    stop.ask(StopKind.PAUSE, "lunch")
    stop.ask(StopKind.LEAVE, "")
    assert (stop.kind, stop.reason) == (StopKind.PAUSE, "lunch")
    stop = StopRequest()
    stop.ask(StopKind.LEAVE, "")
    stop.ask(StopKind.PAUSE, "lunch")
    assert stop.kind is StopKind.PAUSE


def raises(_observation: Observation) -> CompanyDecision:
    raise KeyError("no such product")


def overdraws(observation: Observation) -> CompanyDecision:
    return CompanyDecision(
        company_id=observation.company_id,
        world_version=observation.world_version,
        products={"A": ProductSettings(price_cents=1, promotion_cents=2)},
        bids={"tender-999": 5},
    )


def speaks_for_another(observation: Observation) -> CompanyDecision:
    return hold(observation).model_copy(update={"company_id": "company-1"})


def comes_late(observation: Observation) -> CompanyDecision:
    return hold(observation).model_copy(update={"world_version": 0})


@pytest.mark.parametrize(
    ("decide", "told"),
    [
        (raises, "KeyError: 'no such product' (test_world.py, line"),
        (overdraws, "products.A.promotion_cents: must be 0..1"),
        (overdraws, "'tender-999' is not open"),
        (speaks_for_another, "company_id: must be 'company-2', received 'company-1'"),
        (comes_late, "world_version: must be 1, received 0"),
        (lambda _: Closed(CompanyWindowStatus.PROVIDER_ERROR), "closed as provider_error"),
        (lambda _: Closed(CompanyWindowStatus.OPEN), "closed as open"),
        (lambda _: Closed(CompanyWindowStatus.SEALED), "closed as sealed without a decision"),
        (
            lambda seen: Closed(CompanyWindowStatus.TIMEOUT, hold(seen)),
            "closed as timeout with a decision",
        ),
    ],
)
def test_a_ceo_that_fails_stops_its_run_at_the_last_boundary_and_says_why(
    decide: Decide, told: str, trial: Trial, undisturbed: Trial
) -> None:
    bad = Scripted(lambda seen: decide(seen) if seen.world_version == 1 else hold(seen))
    assert trial.play(ceos={2: bad}) is RunState.STOPPED
    status = trial.run().status()
    assert status.status is RunState.STOPPED
    assert status.reason.startswith("company-2 (bob) at world version 1, day 7: ")
    assert told in status.reason
    assert status.world_version == 1
    assert len(trial.digests()) == 7
    # Repaired and put back into the queue by a person, it goes on from there.
    requeue(trial.run())
    assert trial.play(ceos={2: Scripted(hold)}) is RunState.COMPLETED
    assert len(trial.digests()) == DAYS
    assert trial.digests()[:7] != undisturbed.digests()[:7]


def test_a_market_whose_money_overflows_stops_the_run_and_says_what_to_change(
    tmp_path: Path,
) -> None:
    """Customers who do not mind prices pay whatever somebody asks."""
    generous = {
        f"segments.{segment}.{name}": value
        for segment in range(3)
        for name, value in (("price_weight", 1e-300), ("outside_utility", -1000.0))
    }
    market = tmp_path / "generous.json"
    market.write_text(altered(default_scenario(), generous).to_json(), encoding="utf-8")

    def asks_for_all(observation: Observation) -> CompanyDecision:
        every = dict.fromkeys("ABC", ProductSettings(price_cents=2**53 - 1))
        change = every if observation.world_version == 1 else {}
        return hold(observation).model_copy(update={"products": change})

    trial = Trial.new(tmp_path / "store", scenario=str(market))
    with trial.store:
        assert trial.play(ceos={2: Scripted(asks_for_all)}) is RunState.STOPPED
        status = trial.run().status()
        assert status.world_version == 1
        assert len(trial.digests()) == 7
        assert re.fullmatch(
            r"On day 8 company-2 took in [\d,]{23,} cents; the books of 17 days carry "
            r"135,637,824,071,393,761 a day\. Let the scenario's customers mind prices: .*",
            status.reason,
        )


def test_peers_of_a_failing_company_go_on_to_their_own_close(trial: Trial) -> None:
    closed: list[int] = []

    def slow(observation: Observation) -> CompanyDecision:
        closed.append(observation.seat)
        return hold(observation)

    ceos = {1: Scripted(raises), 2: Scripted(slow, lambda: 0.01), 3: Scripted(raises)}
    assert trial.play(ceos=ceos) is RunState.STOPPED
    assert closed == [2]
    reason = trial.run().status().reason
    assert "company-1 (ada)" in reason
    assert "company-3 (cy)" in reason


@pytest.mark.parametrize(
    "status",
    [
        CompanyWindowStatus.BUDGET_EXHAUSTED,
        CompanyWindowStatus.TIMEOUT,
        CompanyWindowStatus.PROTOCOL_ERROR,
    ],
)
def test_a_window_without_a_draft_settles_and_standing_policies_go_on(
    status: CompanyWindowStatus, trial: Trial
) -> None:
    silent = Scripted(lambda _observation: Closed(status))
    assert trial.play(ceos={2: silent}) is RunState.COMPLETED
    windows = [window for window in trial.run().company_windows() if window.seat == 2]
    assert {window.status for window in windows} == {status}
    assert {window.decision_json for window in windows} == {None}


def test_a_stale_owner_writes_nothing(trial: Trial, undisturbed: Trial) -> None:
    def taken_over(observation: Observation) -> None:
        if observation.world_version == 1:
            stolen = trial.run().acquire("a test", 60)
            assert stolen.epoch == 2

    with pytest.raises(LeaseLost):
        trial.play(ceos={1: Spying(trial, 1, taken_over)})
    assert trial.run().status().world_version == 1
    assert trial.play() is RunState.COMPLETED
    assert recorded(trial) == recorded(undisturbed)


def test_a_commit_whose_answer_was_lost_is_read_back(
    trial: Trial, undisturbed: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = RunStore.commit_window

    def unanswered(run: RunStore, lease: object, window: WindowCommit) -> None:
        commit(run, lease, window)  # type: ignore[arg-type]
        raise StoreError("the connection was lost")

    monkeypatch.setattr(RunStore, "commit_window", unanswered)
    assert trial.play() is RunState.COMPLETED
    assert recorded(trial) == recorded(undisturbed)


def test_a_commit_that_was_not_done_ends_the_play_with_the_trouble(
    trial: Trial, undisturbed: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:

        def refused(_run: RunStore, _lease: object, _window: WindowCommit) -> None:
            raise StoreError("the disk is full")

        patch.setattr(RunStore, "commit_window", refused)
        with pytest.raises(StoreError, match="the disk is full"):
            trial.play()
    assert trial.run().status().world_version == 0
    assert trial.play() is RunState.COMPLETED
    assert recorded(trial) == recorded(undisturbed)


def test_taking_a_run_over_reads_no_more_than_its_last_window(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = StopRequest()
    leaver = Spying(trial, 2, lambda _observation: stop.ask(StopKind.LEAVE, ""))
    trial.play(ceos={2: leaver}, stop=stop)
    with monkeypatch.context() as patch:

        def refuse(_run: RunStore) -> object:
            raise AssertionError("the whole history was read")

        patch.setattr(RunStore, "day_records", refuse)
        stop = StopRequest()
        leaver = Spying(trial, 2, lambda _observation: stop.ask(StopKind.LEAVE, ""))
        assert trial.play(ceos={2: leaver}, stop=stop) is RunState.RUNNING
    assert trial.run().status().world_version == 2


@pytest.mark.parametrize("state", [RunState.PAUSED, RunState.STOPPED])
def test_a_run_can_be_put_to_rest_before_it_began(state: RunState, trial: Trial) -> None:
    run = trial.run()
    lease = run.acquire("a test", 60)
    put_to_rest(run, lease, state, "trouble")
    assert (run.status().status, run.status().reason) == (state, "trouble")


def test_seats_without_change_have_equal_streams_whoever_sits_elsewhere(trial: Trial) -> None:
    """With all decisions equal, equal days are bit-equal, whatever the lineups are called."""
    same: dict[int, Ceo] = {seat: Scripted(hold) for seat in (1, 2, 3)}
    trial.play(ceos=same)
    trial.play("trial-s11-without-bob", ceos=same)
    trial.play("trial-s29-reference", ceos=same)
    assert trial.digests() == trial.digests("trial-s11-without-bob")
    assert trial.digests() != trial.digests("trial-s29-reference")


def requeue(run: RunStore) -> None:
    lease = run.acquire("a person", 60)
    run.set_status(lease, RunState.QUEUED, "")
    run.release(lease)
