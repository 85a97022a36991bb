from typing import Any

import pytest

from manifests.canonical import digest
from manifests.comparison import ABSENT, Difference, difference, told
from manifests.model import freeze
from tests.manifests.samples import SCENARIO, decisive, manifest, policy, provenance, run


def with_scenario(scenario: dict[str, Any]) -> dict[str, Any]:
    return {"scenario": scenario, "scenario_digest": digest(scenario)}


def test_equal_manifests_do_not_differ() -> None:
    assert difference(manifest(), manifest()) == []


def test_a_changed_number_is_named_by_its_path_with_both_values() -> None:
    segments = {"premium": {"price_weight": 1.1}, "value": {"price_weight": 3.1}}
    changed = {**SCENARIO, "segments": segments}
    assert difference(manifest(), manifest(**with_scenario(changed))) == [
        Difference("decisive.scenario.segments.premium.price_weight", 0.9, 1.1),
        Difference("decisive.scenario_digest", digest(SCENARIO), digest(changed)),
    ]


def test_a_field_of_one_side_alone_is_told_from_null() -> None:
    found = difference(manifest(limits={"a": None}), manifest(limits={"b": None}))
    assert found == [
        Difference("decisive.limits.a", None, ABSENT),
        Difference("decisive.limits.b", ABSENT, None),
    ]
    assert str(found[0].right) == "(absent)"


def test_true_is_not_one_but_a_float_may_equal_an_integer() -> None:
    left, right = manifest(limits={"a": True, "b": 1}), manifest(limits={"a": 1, "b": 1.0})
    assert left.plan_hash != right.plan_hash
    assert difference(left, right) == [Difference("decisive.limits.a", True, 1)]


def test_an_element_without_an_id_is_named_by_its_index() -> None:
    found = difference(manifest(), manifest(seeds=(11, 29, 47)))
    assert found == [Difference("decisive.seeds[2]", ABSENT, 47)]


def test_seed_order_is_named() -> None:
    found = difference(manifest(), manifest(seeds=(29, 11)))
    assert [item.path for item in found] == ["decisive.seeds[0]", "decisive.seeds[1]"]


def test_elements_with_an_id_are_matched_by_it() -> None:
    fewer = decisive().candidates[1:]
    runs = (run("reference-11", 0, 11, {1: "rule", 2: "talker"}),)
    found = difference(manifest(runs=runs), manifest(runs=runs, candidates=fewer))
    assert [item.path for item in found] == ["decisive.candidates[grower]"]
    assert found[0].right is ABSENT
    assert found[0].left["parameters"] == {"floor_cents": 5_000_000}


def test_a_seat_of_one_run_is_named() -> None:
    runs = decisive().runs
    moved = (*runs[:2], run("without-talker-11", 2, 11, {1: "rule", 2: "rule"}))
    found = difference(manifest(), manifest(runs=moved))
    assert found == [Difference("decisive.runs[without-talker-11].seats[1]", "grower", "rule")]


def test_order_alone_is_a_difference_of_its_own() -> None:
    found = difference(manifest(), manifest(candidates=decisive().candidates[::-1]))
    expected = Difference("decisive.candidates (order)", ["grower", "talker"], ["talker", "grower"])
    assert found == [expected]


def test_a_source_file_is_named() -> None:
    found = difference(manifest(), manifest(baselines=(policy("rule", None, targets=151),)))
    assert found == [Difference("decisive.baselines[rule].parameters.targets", 150, 151)]


def test_decisive_fields_come_before_provenance() -> None:
    other = freeze(decisive(horizon_days=70), provenance(note="again"))
    assert difference(manifest(), other) == [
        Difference("decisive.horizon_days", 500, 70),
        Difference("provenance.note", "first try", "again"),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"limits": {}},
        {"limits": {"replies": [1, {"id": "a"}, {"id": "a"}]}},
        {"limits": {"replies": {"a": 1}}},
        {"libraries": {}},
        {"release": "x"},
        {"baselines": (policy("rule", 3),)},
    ],
)
def test_different_plan_hashes_always_have_a_named_difference(changes: dict[str, Any]) -> None:
    left, right = manifest(), manifest(**changes)
    assert left.plan_hash != right.plan_hash
    assert all(item.path.startswith("decisive.") for item in difference(left, right))
    assert difference(left, right) != []
    assert len(difference(right, left)) == len(difference(left, right))


def test_a_message_tells_causes_first_and_not_too_much() -> None:
    found = [
        Difference(f"decisive.runs[run-{number}].seed", number, number + 1) for number in range(9)
    ]
    lines = told([*found, Difference("decisive.seeds[0]", "a" * 70, 5)], "there", "here")
    first, second, *rest = lines.splitlines()
    assert first == f"  decisive.seeds[0]: {'a' * 57}... there, 5 here"
    assert second == "  decisive.runs[run-0].seed: 0 there, 1 here"
    assert len(rest) == 7
    assert rest[-1] == "  and 2 more"
    assert told(found[:1], "there", "here") == "  decisive.runs[run-0].seed: 0 there, 1 here"


def test_a_version_is_told_before_the_many_files_of_the_source() -> None:
    files = [
        Difference(f"decisive.sources.files[engine/{number}.py]", "a", "b") for number in range(9)
    ]
    lines = told([*files, Difference("decisive.versions.economy", "v2", "v3")], "there", "here")
    assert lines.splitlines()[0] == "  decisive.versions.economy: v2 there, v3 here"
    assert lines.splitlines()[-1] == "  and 2 more"
