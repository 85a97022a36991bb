"""The catalogue: campaigns, their runs, and what the operator wants."""

from dataclasses import replace

import pytest

from campaigns.consistency import SEARCH_WINNER
from manifests.errors import InputError
from orchestrator.store import (
    DesiredState,
    LeaseHeld,
    LeaseLost,
    RunKey,
    Store,
    open_store,
)
from tests.orchestrator.store import samples


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.catalogue.campaigns() == []


def test_a_campaign_is_there_for_every_process(store: Store, campaign: str) -> None:
    with open_store(store.location) as other:
        (row,) = other.catalogue.campaigns()
        assert other.catalogue.campaign(campaign).created_at == row.created_at
        assert (row.name, row.runs, row.desired) == (campaign, 2, DesiredState.RUNNING)
        assert row.plan_hash == samples.manifest_of().plan_hash
        assert other.catalogue.manifest(campaign) == samples.manifest_of()
        assert [run.planned for run in other.catalogue.runs(campaign)] == list(samples.RUNS)
        assert [run.key for run in other.catalogue.runs(campaign)] == [
            samples.KEY,
            samples.OTHER_KEY,
        ]


def test_the_same_campaign_can_be_created_again(store: Store, campaign: str) -> None:
    store.catalogue.set_desired(campaign, DesiredState.PAUSED, "lunch")
    before = store.catalogue.campaign(campaign)
    again = store.catalogue.create_campaign(samples.manifest_of(), samples.RUNS)
    assert replace(again, lease=before.lease) == before
    assert len(store.catalogue.runs(campaign)) == 2


def test_another_plan_under_the_name_is_refused_by_field(store: Store, campaign: str) -> None:
    other = samples.manifest_of(release="autumn")
    with pytest.raises(InputError) as caught:
        store.catalogue.create_campaign(other, samples.RUNS)
    assert f"a campaign {campaign} with another plan" in str(caught.value)
    assert "decisive.release: spring there, autumn now" in str(caught.value)
    assert store.catalogue.manifest(campaign) == samples.manifest_of()


def test_long_differences_are_cut(store: Store, campaign: str) -> None:  # noqa: ARG001
    other = samples.manifest_of(samples.RUNS[:1])
    with pytest.raises(InputError) as caught:
        store.catalogue.create_campaign(other, samples.RUNS[:1])
    assert "decisive.runs[trial-s11-without-talker]" in str(caught.value)
    assert max(map(len, str(caught.value).splitlines())) < 200


def test_runs_must_be_those_of_the_manifest(store: Store) -> None:
    with pytest.raises(InputError, match="not those of its manifest"):
        store.catalogue.create_campaign(samples.manifest_of(), samples.RUNS[:1])
    assert store.catalogue.campaigns() == []


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "Upper", "x" * 241, "dot."])
def test_a_name_must_be_the_name_of_a_file(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a file"):
        store.catalogue.create_campaign(samples.manifest_of(campaign=name), samples.RUNS)


def test_two_campaigns_may_have_runs_of_one_name(store: Store, campaign: str) -> None:
    samples.create_campaign(store, "second")
    assert [row.name for row in store.catalogue.campaigns()] == [campaign, "second"]
    first, second = (store.run(RunKey(name, samples.KEY.run_id)) for name in (campaign, "second"))
    samples.start(first)
    assert (first.status().status, second.status().status) == ("running", "planned")


def test_unknown_names_are_refused_with_the_known_ones(store: Store, campaign: str) -> None:
    with pytest.raises(InputError, match=r"no campaign nope.\n  Its campaigns: trial"):
        store.catalogue.campaign("nope")
    with pytest.raises(InputError, match="no campaign nope"):
        store.catalogue.manifest("nope")
    with pytest.raises(InputError, match="no campaign nope"):
        store.catalogue.runs("nope")
    with pytest.raises(InputError, match="no campaign nope"):
        store.catalogue.acts("nope")
    with pytest.raises(InputError, match="no campaign nope"):
        store.catalogue.set_desired("nope", DesiredState.PAUSED, "")
    with pytest.raises(InputError, match="no campaign nope"):
        store.catalogue.acquire_campaign("nope", "me", 1)
    with pytest.raises(InputError, match="no campaign nope"):
        store.run(RunKey("nope", "run"))
    with pytest.raises(InputError, match=r"no run nope.\n  Its runs: trial-s11-reference, "):
        store.run(RunKey(campaign, "nope"))


def test_acts_are_recorded_in_order_with_time_and_reason(store: Store, campaign: str) -> None:
    store.catalogue.set_desired(campaign, DesiredState.PAUSED, "lunch")
    store.catalogue.set_desired(campaign, DesiredState.PAUSED, "still lunch")
    store.catalogue.set_desired(campaign, DesiredState.RUNNING, "back")
    row = store.catalogue.campaign(campaign)
    assert (row.desired, row.reason) == (DesiredState.RUNNING, "back")
    acts = store.catalogue.acts(campaign)
    assert [(act.act, act.target, act.reason) for act in acts] == [
        ("create", "campaign trial", ""),
        ("pause", "campaign trial", "lunch"),
        ("pause", "campaign trial", "still lunch"),
        ("resume", "campaign trial", "back"),
    ]
    assert [act.at for act in acts] == sorted(act.at for act in acts)
    assert row.created_at <= acts[0].at <= row.changed_at


def test_one_process_schedules_a_campaign(store: Store, campaign: str) -> None:
    catalogue = store.catalogue
    lease = catalogue.acquire_campaign(campaign, "driver-1", 60)
    with pytest.raises(LeaseHeld, match="campaign trial belongs to driver-1"):
        catalogue.acquire_campaign(campaign, "driver-2", 60)
    held = catalogue.campaign(campaign).lease
    assert (held.owner, held.epoch) == ("driver-1", 1)
    assert 0 < held.expires_in_seconds <= 60
    catalogue.renew(lease)
    catalogue.release(lease)
    catalogue.release(lease)
    assert catalogue.acquire_campaign(campaign, "driver-2", 60).epoch == 2
    with pytest.raises(LeaseLost):
        catalogue.renew(lease)


class TestWinnerOfASearch:
    waiting = replace(samples.RUNS[1], lineup=("grower", SEARCH_WINNER), depends_on=("a",))
    resolved = replace(waiting, lineup=samples.LINEUP)

    def create(self, store: Store) -> None:
        planned = (samples.RUNS[0], self.waiting)
        store.catalogue.create_campaign(samples.manifest_of(), planned)

    def test_it_takes_its_seat(self, store: Store) -> None:
        self.create(store)
        store.catalogue.resolve_run(samples.CAMPAIGN, self.resolved)
        store.catalogue.resolve_run(samples.CAMPAIGN, self.resolved)
        assert store.catalogue.run(samples.OTHER_KEY).planned == self.resolved
        samples.start(store.run(samples.OTHER_KEY))

    def test_a_run_that_waits_for_it_cannot_be_taken(self, store: Store) -> None:
        self.create(store)
        with pytest.raises(InputError, match="waits for the winner"):
            store.run(samples.OTHER_KEY).acquire("host-1", 60)
        assert store.run(samples.OTHER_KEY).status().status == "planned"

    def test_a_lineup_is_resolved_once(self, store: Store) -> None:
        self.create(store)
        store.catalogue.resolve_run(samples.CAMPAIGN, self.resolved)
        other = replace(self.waiting, lineup=("talker", "grower"))
        with pytest.raises(InputError, match="has its lineup already: grower, talker"):
            store.catalogue.resolve_run(samples.CAMPAIGN, other)
        with pytest.raises(InputError, match="has no run nope"):
            store.catalogue.resolve_run(samples.CAMPAIGN, replace(other, run_id="nope"))


def test_the_key_of_the_endpoints_stays_that_of_the_first_creation(store: Store) -> None:
    manifest = samples.manifest_of()
    store.catalogue.create_campaign(manifest, samples.RUNS, b"first")
    store.catalogue.create_campaign(manifest, samples.RUNS, b"second")
    assert store.catalogue.endpoint_key(samples.CAMPAIGN) == b"first"
    with pytest.raises(InputError, match="no campaign absent"):
        store.catalogue.endpoint_key("absent")


def test_a_campaign_without_models_has_no_key(store: Store, campaign: str) -> None:
    assert store.catalogue.endpoint_key(campaign) is None
