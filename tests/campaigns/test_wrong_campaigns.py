"""Every wrong campaign gets one message with the file, the place, what was received, the remedy."""

from collections.abc import Callable
from typing import Any

import pytest

from campaigns.definition import parse_definition
from manifests.errors import InputError
from tests.campaigns.builders import campaign_data

Edit = Callable[[dict[str, Any]], object]


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        parse_definition(data, "trial.toml")
    assert caught.value.remedy
    return str(caught.value)


SEARCH = {"policy": "rule", "axes": [{"values": [{"x": 1}, {"x": 2}]}]}


def _search(**changes: Any) -> Edit:
    def edit(data: dict[str, Any]) -> None:
        data["search"] = {**SEARCH, "seat": 4, **changes}
        del data["baseline"], data["candidates"][3]

    return edit


WRONG: dict[str, tuple[Edit, list[str]]] = {
    "unknown field": (
        lambda data: data.update(sedes=[1]),
        ["trial.toml: sedes: this field is not known.", 'Did you mean "seeds"?'],
    ),
    "unknown field of a candidate": (
        lambda data: data["candidates"][1].update(sat=2),
        ['candidates[1].sat ("bob"): this field is not known', 'Did you mean "seat"?'],
    ),
    "unknown field of the allowances": (
        lambda data: data.update(limits={"allowances": {"reply": 3}}),
        ["limits.allowances.reply: this field is not known", 'Did you mean "replies"?'],
    ),
    "top-level field below a table": (
        lambda data: data["candidates"][3].update(repeats=2),
        ['candidates[3].repeats ("rule")', "write it above the first [table]"],
    ),
    "missing name": (
        lambda data: data.pop("name"),
        ["trial.toml: name: is missing", "Write name as 1 to 64 characters"],
    ),
    "missing candidates": (
        lambda data: data.pop("candidates"),
        ["candidates: is missing", "Write candidates as one [[candidates]] table"],
    ),
    "missing id": (
        lambda data: data["candidates"][0].pop("id"),
        ["candidates[0].id: is missing", "Write id as"],
    ),
    "more repeats than anybody can run": (
        lambda data: data.update(repeats=2**53 - 1),
        ["repeats: makes", "a campaign may have 100,000"],
    ),
    "more seeds than anybody can run": (
        lambda data: data.update(seeds=list(range(100_001))),
        ["seeds: makes 400,004 runs, and a campaign may have 100,000"],
    ),
    "a panel whose lineups nobody can run": (
        lambda data: data.update(
            candidates=[
                *({"id": f"c{n}", "seat": n, "policy": "growth"} for n in range(1, 10_001)),
                {"id": "rule", "policy": "rule"},
            ]
        ),
        ["candidates: makes 200,020,000 companies, and a campaign may have 1,000,000"],
    ),
    "a grid that nobody can search": (
        _search(axes=[{"values": [{f"x{axis}": n} for n in range(100)]} for axis in range(9)]),
        ["search.axes: makes 1,000,000,000,000,000,000 profiles"],
    ),
    "gap in the seats": (
        lambda data: data["candidates"][1].update(seat=4),
        [
            "candidates: no candidate has seat 2; taken are 1, 3, 4",
            "3 seated candidates have the seats 1 to 3",
        ],
    ),
    "seat far away": (
        lambda data: data["candidates"][2].update(seat=10**9),
        ["no candidate has seat 3; taken are 1, 2, 1000000000"],
    ),
    "missing seat": (
        lambda data: data["candidates"][2].pop("seat"),
        ['candidates[2].seat ("cy"): is missing', "Write seat = <number>"],
    ),
    "no seat at all": (
        lambda data: [candidate.pop("seat", None) for candidate in data["candidates"]],
        ["candidates: no candidate has a seat", "Write seat = 1"],
    ),
    "duplicate seat": (
        lambda data: data["candidates"][2].update(seat=1),
        ['candidates[2].seat ("cy"): seat 1 is already taken by "ada"', "of its own; free: 3."],
    ),
    "duplicate seat beside a gap": (
        lambda data: (
            data["candidates"][1].update(seat=1),
            data["candidates"][2].update(seat=9),
        ),
        [
            'candidates[1].seat ("bob"): seat 1 is already taken by "ada"',
            "candidates: no candidate has seat 2, 3; taken are 1, 9",
        ],
    ),
    "seat 0": (
        lambda data: data["candidates"][0].update(seat=0),
        ['candidates[0].seat ("ada"): received 0; ', "Write seat as a whole number from 1"],
    ),
    "seat as text": (
        lambda data: data["candidates"][0].update(seat="1"),
        ['candidates[0].seat ("ada"): received "1"; input should be a valid integer'],
    ),
    "duplicate candidate": (
        lambda data: data["candidates"][1].update(id="ada"),
        ['candidates[1].id ("ada"): "ada" is already taken by an earlier entry', "own id"],
    ),
    "ids that differ in case alone": (
        lambda data: data["candidates"][1].update(id="Ada"),
        ['"Ada" is already taken as "ada", in another case, by', 'received "Ada"', "a-z, 0-9"],
    ),
    "unsafe id": (
        lambda data: data["candidates"][1].update(id="../b"),
        ['candidates[1].id ("../b"): received "../b"', "Write id as 1 to 64 characters of a-z"],
    ),
    "id with a newline at its end": (
        lambda data: data["candidates"][1].update(id="bob\n"),
        ['received "bob\\n"', "Write id as"],
    ),
    "long id": (
        lambda data: data.update(name="x" * 65),
        ["name: received", "at most 64 characters"],
    ),
    "unknown baseline": (
        lambda data: data.update(baseline="rul"),
        ['baseline: "rul" is no candidate of this campaign', 'Did you mean "rule"?'],
    ),
    "unknown baseline of a group": (
        lambda data: data.update(groups=[{"name": "one", "baseline": "x"}]),
        ['groups[0].baseline: "x" is no candidate', "Known are: ada, bob, cy, rule"],
    ),
    "seated baseline": (
        lambda data: data.update(baseline="bob"),
        ['baseline: "bob" sits on seat 2', "Name a candidate without a seat"],
    ),
    "no baseline": (
        lambda data: (data.pop("baseline"), data["candidates"].pop()),
        ["baseline: is missing", 'lineups = ["reference"]'],
    ),
    "no baseline in a group": (
        lambda data: (
            data.pop("baseline"),
            data.update(
                groups=[
                    {"name": "one", "baseline": "rule"},
                    {"name": "two", "lineups": ["replacements"]},
                ]
            ),
        ),
        ["groups[1].baseline: is missing"],
    ),
    "seed twice": (
        lambda data: data.update(seeds=[11, 29, 11]),
        ["trial.toml: seeds[2]: seed 11 stands twice", "repeats runs a seed again"],
    ),
    "seed twice in a group": (
        lambda data: data.update(groups=[{"name": "one", "seeds": [4, 4]}]),
        ["groups[0].seeds[1]: seed 4 stands twice"],
    ),
    "no seeds": (
        lambda data: data.update(seeds=[]),
        ["seeds: received []", "Write seeds as a list of different whole numbers"],
    ),
    "seeds left out": (
        lambda data: data.pop("seeds"),
        ["seeds: is missing: no seed to run", "Write seeds = [11, 29, 47]"],
    ),
    "seeds left out in a group": (
        lambda data: (
            data.pop("seeds"),
            data.update(groups=[{"name": "one", "seeds": [1]}, {"name": "two"}]),
        ),
        ["groups[1].seeds: is missing"],
    ),
    "negative seed": (
        lambda data: data.update(seeds=[-1]),
        ["seeds[0]: received -1; input should be greater than or equal to 0"],
    ),
    "huge seed": (
        lambda data: data.update(seeds=[2**53]),
        ["seeds[0]: received an integer beyond 9007199254740991", "Use a smaller integer"],
    ),
    "seeds as a number": (
        lambda data: data.update(seeds=11),
        ["seeds: received 11;", "Write seeds as a list"],
    ),
    "fractional seed": (
        lambda data: data.update(seeds=[1.0]),
        ["seeds[0]: received 1.0; input should be a valid integer"],
    ),
    "true as a number": (
        lambda data: data.update(horizon_days=True),
        ["horizon_days: received true; input should be a valid integer", "at least 1"],
    ),
    "negative run limit": (
        lambda data: data.update(limits={"max_active_runs": -3}),
        [
            "limits.max_active_runs: received -3; input should be greater than or equal to 1",
            "Write max_active_runs as a whole number of runs, from 1 to 10,000.",
        ],
    ),
    "negative lease": (
        lambda data: data.update(limits={"lease_seconds": -1}),
        ["limits.lease_seconds: received -1"],
    ),
    "negative allowance": (
        lambda data: data.update(limits={"allowances": {"seconds": -1}}),
        ["limits.allowances.seconds: received -1"],
    ),
    "negative token limit of a candidate": (
        lambda data: data["candidates"][0].update(allowances={"output_tokens": -1}),
        [
            'candidates[0].allowances.output_tokens ("ada"): received -1; input should be',
            'or "unlimited"',
        ],
    ),
    "unknown word for a token limit": (
        lambda data: data.update(limits={"allowances": {"output_tokens": "none"}}),
        ['limits.allowances.output_tokens: received "none"', 'at least 1, or "unlimited"'],
    ),
    "unlimited replies": (
        lambda data: data.update(limits={"allowances": {"replies": "unlimited"}}),
        ['limits.allowances.replies: received "unlimited"', "at least 1"],
    ),
    "no repeats": (
        lambda data: data.update(repeats=0),
        ["repeats: received 0; input should be greater than or equal to 1"],
    ),
    "unknown recovery policy": (
        lambda data: data.update(recovery="none"),
        ['recovery: received "none"', '"fresh-allowance" or "cumulative-usage"'],
    ),
    "unknown kind of lineup": (
        lambda data: data.update(lineups=["references"]),
        ['lineups[0]: received "references"', 'Write lineups as a list of "reference" and'],
    ),
    "lineups twice": (
        lambda data: data.update(groups=[{"name": "one", "lineups": ["reference"] * 2}]),
        ['groups[0].lineups[1]: kind of lineup "reference" stands twice'],
    ),
    "group twice": (
        lambda data: data.update(groups=[{"name": "one"}, {"name": "one"}]),
        ['groups[1].name: "one" is already taken', "own name"],
    ),
    "neither policy nor route": (
        lambda data: data["candidates"][0].pop("policy"),
        ['candidates[0] ("ada"): has neither a policy nor a route', "[candidates.route]"],
    ),
    "policy and route": (
        lambda data: data["candidates"][0].update(route={"protocol": "chat"}),
        ['candidates[0] ("ada"): has both a policy and a route', "not both"],
    ),
    "parameters of a route": (
        lambda data: data["candidates"].__setitem__(
            0, {"id": "ada", "seat": 1, "route": {}, "parameters": {"x": 1}}
        ),
        ['candidates[0].parameters ("ada"): belongs to a policy', "Move it into the route"],
    ),
    "candidate as text": (
        lambda data: data["candidates"].__setitem__(0, "ada"),
        ['candidates[0]: received "ada"', "Write candidates as one [[candidates]] table"],
    ),
    "infinite parameter": (
        lambda data: data["candidates"][0].update(parameters={"x": float("inf")}),
        ['candidates[0].parameters.x ("ada"): received inf', "Use a finite number"],
    ),
    "search with a baseline": (
        lambda data: data.update(search=SEARCH | {"seat": 4}),
        ["baseline: does not go with a search", "Remove baseline"],
    ),
    "search with repeats": (
        lambda data: (_search()(data), data.update(repeats=2)),
        ["repeats: received 2, but a search runs every seed once"],
    ),
    "search on a taken seat": (
        _search(seat=2),
        ['candidates[1].seat ("bob"): seat 2 is already taken by the profiles of the search'],
    ),
    "search that leaves a gap": (
        _search(seat=5),
        ["candidates: no candidate has seat 4; taken are 1, 2, 3, 5"],
    ),
    "profile that the grid does not have": (
        _search(profiles=[1, 3]),
        ["search.profiles[1]: received 3, but the grid has 2 profiles", "Choose from 1 to 2"],
    ),
    "profile twice": (
        _search(profiles=[2, 2]),
        ["search.profiles[1]: profile 2 stands twice"],
    ),
    "validation seed twice": (
        _search(validation_seeds=[9, 9]),
        ["search.validation_seeds[1]: validation seed 9 stands twice"],
    ),
    "parameter of two axes": (
        _search(axes=[{"values": [{"x": 1}]}, {"values": [{"y": 1, "x": 2}]}]),
        ['search.axes[1].values: "x" is already set by search.axes[0]', "in one place"],
    ),
    "parameter of an axis and of all": (
        _search(parameters={"x": 3}),
        ['search.axes[0].values: "x" is already set by search.parameters'],
    ),
    "empty axis": (
        _search(axes=[{"values": []}]),
        ["search.axes[0].values: received []", "Write values as a list of tables"],
    ),
    "unseated candidate beside a search": (
        lambda data: (_search()(data), data["candidates"][0].pop("seat")),
        ['candidates[0].seat ("ada"): is missing: beside a search every candidate has a seat'],
    ),
    "name of a profile": (
        lambda data: (_search()(data), data["candidates"][0].update(id="profile-1")),
        ['candidates[0].id ("profile-1"): "profile-1" is a name that the search gives'],
    ),
}

# Mistakes that break two rules at once; every other one is told as a single problem.
DOUBLE = {
    "duplicate seat beside a gap",
    "ids that differ in case alone",
    "no seat at all",
    "search with a baseline",
    "unseated candidate beside a search",
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_refused_with_place_and_remedy(case: str) -> None:
    edit, expected = WRONG[case]
    data = campaign_data()
    edit(data)

    message = refused(data)

    assert message.startswith("trial.toml")
    assert ("problems:" in message) == (case in DOUBLE)
    for part in expected:
        assert part in message


def test_one_problem_is_told_in_one_line_and_a_remedy() -> None:
    assert refused(campaign_data(seeds=[11, 11])) == (
        "trial.toml: seeds[1]: seed 11 stands twice.\n"
        "  Write each seed once; repeats runs a seed again."
    )


def test_all_problems_of_a_file_are_told_at_once() -> None:
    data = campaign_data(seeds=[4, 4], repeats=-1, colour="red")
    data["candidates"][1]["seat"] = 1

    lines = refused(data).splitlines()

    assert lines[0] == "trial.toml has 4 problems:"
    assert [line.split(": ")[0].strip() for line in lines[1:5]] == [
        "repeats",
        "colour",
        "seeds[1]",
        'candidates[1].seat ("bob")',
    ]
    assert lines[5] == "  Correct every place listed, then try again."


def test_a_pasted_credential_is_not_repeated() -> None:
    data = campaign_data()
    data["candidates"][0] = {"id": "ada", "seat": 1, "route": "secret-key", "key": "secret-key"}

    message = refused(data)

    assert "candidates[0].route" in message
    assert "candidates[0].key" in message
    assert "secret-key" not in message


def test_a_long_value_is_cut() -> None:
    message = refused(campaign_data(name="x" * 500))

    assert "xxx...; " in message
    assert "x" * 60 not in message
