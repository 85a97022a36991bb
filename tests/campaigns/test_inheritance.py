"""`extends`: a campaign that says only where it differs."""

from pathlib import Path

import pytest

from campaigns.definition import CampaignDefinition, load_definition
from manifests.errors import InputError

BASE = """
name = "base"
release = "spring"
notes = "of the base"
scenario = "calm.json"
seeds = [1, 2]
baseline = "rule"
[limits]
max_active_runs = 3
[limits.allowances]
replies = 9

[[candidates]]
id = "ada"
seat = 1
policy = "growth"
parameters = { step = 1 }

[[candidates]]
id = "bob"
seat = 2
[candidates.route]
protocol = "chat"

[[candidates]]
id = "rule"
policy = "rule"
"""


def derived(tmp_path: Path, changes: str) -> CampaignDefinition:
    (tmp_path / "base.toml").write_text(BASE)
    child = tmp_path / "sub" / "child.toml"
    child.parent.mkdir()
    child.write_text(f'extends = "../base.toml"\n{changes}')
    return load_definition(child)


def refused(tmp_path: Path, changes: str) -> str:
    with pytest.raises(InputError) as caught:
        derived(tmp_path, changes)
    return str(caught.value)


def test_what_is_not_written_is_inherited_except_name_and_notes(tmp_path: Path) -> None:
    child = derived(tmp_path, 'name = "child"\nseeds = [3]\nlimits = { lease_seconds = 5 }\n')

    assert (child.name, child.notes, child.release) == ("child", "", "spring")
    assert child.seeds == (3,)
    assert child.limits.max_active_runs == 3
    assert child.limits.lease_seconds == 5
    assert child.limits.allowances.replies == 9
    assert [candidate.id for candidate in child.candidates] == ["ada", "bob", "rule"]


def test_an_inherited_scenario_stays_relative_to_its_own_file(tmp_path: Path) -> None:
    child = derived(tmp_path, 'name = "child"\n')

    assert child.scenario is not None
    assert child.scenario.resolve() == (tmp_path / "calm.json").resolve()


def test_a_name_of_its_own_is_required(tmp_path: Path) -> None:
    assert "child.toml: name: is missing" in refused(tmp_path, "")


def test_a_candidate_changes_the_fields_it_writes(tmp_path: Path) -> None:
    child = derived(
        tmp_path, 'name = "child"\n[[candidates]]\nid = "ada"\nallowances = { replies = 5 }\n'
    )

    ada = child.candidates[0]
    assert (ada.seat, ada.policy, ada.parameters) == (1, "growth", {"step": 1})
    assert ada.allowances.replies == 5


def test_a_policy_takes_the_place_of_an_inherited_route(tmp_path: Path) -> None:
    child = derived(tmp_path, 'name = "child"\n[[candidates]]\nid = "bob"\npolicy = "harvester"\n')

    assert (child.candidates[1].policy, child.candidates[1].route) == ("harvester", None)


def test_a_route_takes_the_place_of_an_inherited_policy_and_its_parameters(
    tmp_path: Path,
) -> None:
    child = derived(
        tmp_path, 'name = "child"\n[[candidates]]\nid = "ada"\nroute = { protocol = "chat" }\n'
    )

    assert (child.candidates[0].policy, child.candidates[0].parameters) == (None, {})


def test_an_inherited_baseline_that_serves_nobody_is_left_out(tmp_path: Path) -> None:
    child = derived(
        tmp_path,
        'name = "child"\nbaseline = "idle"\n'
        '[[candidates]]\nid = "idle"\npolicy = "no-action"\n'
        '[[candidates]]\nid = "cy"\nseat = 3\npolicy = "growth"\n',
    )

    assert [candidate.id for candidate in child.candidates] == ["ada", "bob", "idle", "cy"]


def test_a_baseline_of_its_own_that_serves_nobody_is_a_mistake(tmp_path: Path) -> None:
    message = refused(tmp_path, 'name = "child"\n[[candidates]]\nid = "idle"\npolicy = "x"\n')

    assert 'child.toml: candidates[0].seat ("idle"): is missing' in message


def test_places_of_inherited_candidates_name_their_file(tmp_path: Path) -> None:
    message = refused(
        tmp_path, 'name = "child"\n[[candidates]]\nid = "cy"\nseat = 2\npolicy = "growth"\n'
    )
    assert 'candidates[0].seat ("cy"): seat 2 is already taken by "bob"' in message


def test_a_second_entry_of_one_id_is_a_duplicate(tmp_path: Path) -> None:
    message = refused(
        tmp_path,
        'name = "child"\n[[candidates]]\nid = "ada"\nlabel = "A"\n'
        '[[candidates]]\nid = "ada"\nlabel = "B"\npolicy = "growth"\n',
    )

    assert 'candidates[1].id ("ada"): "ada" is already taken' in message


def test_a_search_points_at_a_candidate_of_the_other_file(tmp_path: Path) -> None:
    message = refused(
        tmp_path,
        'name = "child"\n[search]\nseat = 1\npolicy = "rule"\naxes = [{ values = [{ a = 1 }] }]\n',
    )

    assert f'candidates[0].seat ("ada") of {tmp_path}' in message
    assert "already taken by the profiles of the search" in message


def test_a_wrong_parent_is_reported_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(BASE.replace("seat = 2", "seat = 3"))
    child = tmp_path / "child.toml"
    child.write_text('extends = "base.toml"\nname = "child"\n')

    with pytest.raises(InputError) as caught:
        load_definition(child)

    assert str(caught.value).startswith(f"{tmp_path / 'base.toml'}: candidates: no candidate has")


def test_a_circle_is_refused(tmp_path: Path) -> None:
    for name, parent in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\nextends = "{parent}.toml"\n')

    with pytest.raises(InputError) as caught:
        load_definition(tmp_path / "a.toml")

    message = str(caught.value)
    assert f'{tmp_path / "b.toml"}: extends: "a.toml" extends this campaign in turn' in message


def test_an_unknown_parent_is_named_with_its_place(tmp_path: Path) -> None:
    child = tmp_path / "child.toml"
    child.write_text('extends = "mian"\n')

    with pytest.raises(InputError, match=f'{child}: extends: There is no campaign "mian"'):
        load_definition(child)


def test_extends_must_be_a_text(tmp_path: Path) -> None:
    child = tmp_path / "child.toml"
    child.write_text("extends = 3\n")

    with pytest.raises(InputError, match=f"{child}: extends: received 3, not a text"):
        load_definition(child)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ("candidates = 3\n", "candidates: received 3"),
        ("candidates = [3]\n", "candidates[0]: received 3"),
        ('candidates = [{ id = ["ada"] }]\n', 'candidates[0].id: received ["ada"]'),
        ("limits = 3\n", "limits: received 3"),
        ("groups = 3\n", "groups: received 3"),
    ],
)
def test_changes_of_a_wrong_type_are_refused(tmp_path: Path, changes: str, place: str) -> None:
    assert place in refused(tmp_path, f'name = "child"\n{changes}')
