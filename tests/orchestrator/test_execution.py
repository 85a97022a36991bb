"""What of a campaign's execution may change after it was frozen, and what may not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigns.plan import plan
from manifests.errors import InputError
from manifests.model import CampaignManifest
from orchestrator import tenure
from orchestrator.binding import frozen
from orchestrator.bound import bound_plan, execution_limits
from orchestrator.execution import execution_differences, take_execution
from orchestrator.extension import extend
from orchestrator.status.progress import ProgressReader
from orchestrator.store import LeaseHeld, Store, open_store
from tests.orchestrator.trial import NAME, definition

ROUTE: dict[str, Any] = {
    "protocol": "chat",
    "model": "m",
    "native_ceiling": 9_000,
    "credentials": ["FIRST_KEY"],
    "endpoint": "https://one.example/v1",
    "limits": {"requests_per_minute": 60},
}


def manifest(route: dict[str, Any] | None = None, **changes: Any) -> CampaignManifest:
    """The trial with a model in its second seat."""
    candidates = [
        {"id": "ada", "seat": 1, "policy": "price-follower"},
        {"id": "mia", "seat": 2, "route": ROUTE | (route or {})},
        {"id": "rule", "policy": "rule"},
    ]
    return frozen(plan(definition(candidates=candidates, **changes)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "store"), create=True) as made:
        first = manifest()
        made.catalogue.create_campaign(first, bound_plan(first).runs)
        yield made


def test_what_a_file_says_anew_is_in_force_and_the_manifest_stays(store: Store) -> None:
    kept = store.catalogue.manifest_json(NAME)
    wanted = manifest(
        {
            "limits": {"requests_per_minute": 10},
            "credentials": ["SECOND_KEY"],
            "endpoint": "https://two.example/v1",
        },
        limits={"max_active_runs": 2, "lease_seconds": 5},
    )
    changes = take_execution(store, wanted)
    assert [(each.path, each.left, each.right) for each in changes] == [
        ("limits.lease_seconds", 30, 5),
        ("limits.max_active_runs", 30, 2),
        ("routes.mia.credentials[0]", "FIRST_KEY", "SECOND_KEY"),
        ("routes.mia.endpoint", "one", "another"),
        ("routes.mia.limits.requests_per_minute", 60, 10),
    ]
    in_force = store.catalogue.manifest_in_force(NAME)
    assert execution_limits(in_force).max_active_runs == 2
    assert bound_plan(in_force).definition == bound_plan(wanted).definition
    assert in_force.decisive == store.catalogue.manifest(NAME).decisive
    assert store.catalogue.manifest_json(NAME) == kept
    assert ProgressReader(store, NAME).read().slots == 2
    told = [str(each) for each in store.catalogue.definitions(NAME)]
    assert [endpoint in told[0] for endpoint in ("one.example", "two.example")] == [True, False]
    assert [endpoint in told[1] for endpoint in ("one.example", "two.example")] == [False, True]
    act = store.catalogue.acts(NAME)[-1]
    assert (act.act, act.target) == ("launch", f"campaign {NAME}")
    assert "routes.mia.endpoint" in act.reason
    assert "example" not in act.reason


def test_the_same_again_changes_nothing_and_is_no_act(store: Store) -> None:
    assert take_execution(store, manifest()) == []
    wanted = manifest(limits={"max_active_runs": 2})
    assert take_execution(store, wanted)
    acts = store.catalogue.acts(NAME)
    assert take_execution(store, wanted) == []
    assert store.catalogue.acts(NAME) == acts


def test_what_was_frozen_can_be_put_in_force_again(store: Store) -> None:
    take_execution(store, manifest(limits={"max_active_runs": 2}))
    assert [each.right for each in take_execution(store, manifest())] == [30]
    assert execution_limits(store.catalogue.manifest_in_force(NAME)).max_active_runs == 30


def test_nothing_changes_under_who_carries_the_campaign_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenure, "is_alive", lambda _owner: True)
    store.catalogue.acquire_campaign(NAME, "somebody else", 600)
    with pytest.raises(LeaseHeld):
        take_execution(store, manifest(limits={"max_active_runs": 2}))
    assert execution_limits(store.catalogue.manifest_in_force(NAME)).max_active_runs == 30


def test_what_decides_results_is_never_put_in_force(store: Store) -> None:
    with pytest.raises(InputError, match="was given another plan"):
        store.catalogue.put_in_force(manifest(seeds=[11]), "by mistake")
    dearer = manifest(limits={"allowances": {"replies": 9}})
    with pytest.raises(InputError, match="was given another plan"):
        store.catalogue.put_in_force(dearer, "by mistake")
    assert execution_differences(manifest(), dearer) == []


def test_an_extension_is_carried_out_as_its_own_file_says(store: Store) -> None:
    take_execution(store, manifest(limits={"max_active_runs": 2}))
    more = bound_plan(manifest(seeds=[11, 29, 47], limits={"max_active_runs": 7}))
    extend(store, more, {})
    assert execution_limits(store.catalogue.manifest_in_force(NAME)).max_active_runs == 7
