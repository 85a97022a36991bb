"""A plain table of Scores: what it may hold, what is read off it, what is refused."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from campaigns.analysis.evidence import Evidence
from campaigns.analysis.scores_file import read_scores
from campaigns.analysis.study import study
from manifests.errors import InputError

HEADER = "group,repeat,seed,lineup,replaced,seat,candidate,score_cents,status"
ROWS = """
main,1,5,reference,,1,ada,100,active
main,1,5,reference,,2,bob,50,active
main,1,5,without-ada,ada,1,rule,30,active
main,1,5,without-ada,ada,2,bob,80,active
main,1,5,without-bob,bob,1,ada,120,active
main,1,5,without-bob,bob,2,rule,-10,bankrupt
""".strip()


def written(folder: Path, text: str, name: str = "scores.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def columns(*names: str) -> str:
    """The table with these columns alone."""
    frame = pl.read_csv(f"{HEADER}\n{ROWS}\n".encode())
    return frame.select(names).write_csv()


def test_findings_of_a_table(tmp_path: Path) -> None:
    found = study([read_scores(written(tmp_path, f"{HEADER}\n{ROWS}\n"))]).to_json()
    assert found["complete"]
    assert [
        (row["candidate"], row["mean_score_cents"], row["bankruptcies"]) for row in found["ranking"]
    ] == [
        ("ada", 110, 0),
        ("bob", 65, 0),
        ("rule", 10, 1),
    ]
    ada, bob = found["entrants"]
    # ada: private 100 - 30, on bob 50 - 80, market 150 - 110.
    assert (ada["private_cents"], ada["others_cents"], ada["market_cents"]) == (70, -30, 40)
    assert ada["mean_externality_per_rival_cents"] == -30
    assert (bob["private_cents"], bob["others_cents"], bob["market_cents"]) == (60, -20, 40)
    assert [(row["entrant"], row["rival"], row["mean_cents"]) for row in found["directed"]] == [
        ("ada", "bob", -30),
        ("bob", "ada", -20),
    ]
    (pair, _) = found["stability"]["pairs"]
    assert (pair["contrasts"], pair["mean_cents"], pair["sd_cents"]) == (1, -30, None)


@pytest.mark.parametrize(
    "kept",
    [
        ("seed", "seat", "candidate", "score_cents", "lineup"),
        ("seed", "seat", "candidate", "score_cents", "replaced"),
        ("score_cents", "candidate", "seat", "replaced", "seed", "group"),
    ],
)
def test_the_lineup_or_the_one_left_out_is_enough(tmp_path: Path, kept: tuple[str, ...]) -> None:
    found = study([read_scores(written(tmp_path, columns(*kept)))])
    assert [entrant["market_cents"] for entrant in found.to_json()["entrants"]] == [40, 40]
    assert found.to_json()["ranking"][0]["group"] == ("main" if "group" in kept else "scores")


def test_lineups_of_any_name_are_told_by_comparison(tmp_path: Path) -> None:
    text = columns("seed", "lineup", "seat", "candidate", "score_cents")
    for told, kept in (("reference", "L0"), ("without-ada", "L1"), ("without-bob", "L2")):
        text = text.replace(told, kept)
    found = study([read_scores(written(tmp_path, text))]).to_json()
    assert [entrant["market_cents"] for entrant in found["entrants"]] == [40, 40]


def test_parquet_is_read_as_well(tmp_path: Path) -> None:
    frame = pl.read_csv(written(tmp_path, f"{HEADER}\n{ROWS}\n"))
    file = tmp_path / "scores.parquet"
    frame.write_parquet(file)
    assert study([read_scores(file)]).to_json()["entrants"][0]["market_cents"] == 40


def test_what_the_table_does_not_tell_is_not_made_up(tmp_path: Path) -> None:
    evidence = read_scores(
        written(tmp_path, columns("seed", "lineup", "seat", "candidate", "score_cents"))
    )
    assert evidence.measured == frozenset()
    found = study([evidence])
    assert {row["bankruptcies"] for row in found.to_json()["ranking"]} == {None}
    (group,) = found.groups
    assert (group.salvage, group.decomposition) == (None, None)


SECOND = ROWS.replace("main,1,5,", "main,1,7,").replace(",120,", ",140,")
"""The same worlds at another seed: ada has 20 more without bob."""


def read(folder: Path, *lines: str) -> Evidence:
    return read_scores(written(folder, "\n".join([HEADER, *lines]) + "\n"))


def without(rows: str, *marks: str) -> list[str]:
    return [line for line in rows.splitlines() if not all(mark in line for mark in marks)]


@pytest.mark.parametrize(
    ("marks", "missing"),
    [
        (["without-bob"], ["main-s7-r1-without-bob"]),
        (["reference"], ["main-s7-r1-reference"]),
        (["without-bob", ",1,ada,"], ["main-s7-r1-without-bob"]),
        (["reference", ",1,ada,"], ["main-s7-r1-reference"]),
        ([",1,ada,"], ["main-s7-r1-reference", "main-s7-r1-without-bob"]),
    ],
    ids=["a run", "a reference", "a company", "a company of a reference", "a candidate of a seed"],
)
def test_what_a_seed_lacks_is_named_and_its_means_are_over_the_others(
    tmp_path: Path, marks: list[str], missing: list[str]
) -> None:
    found = study([read(tmp_path, *ROWS.splitlines(), *without(SECOND, *marks))])
    told = found.to_json()
    assert not told["complete"]
    assert sorted(each["run"] for each in told["missing"]) == missing
    assert any("means leave out seed 7" in each for each in told["notices"])
    (group,) = told["groups"]
    assert (group["seeds"], group["left_out_seeds"], group["equal_sets"]) == ([5], [7], True)
    # As if only seed 5 were there.
    assert [row["mean_score_cents"] for row in told["ranking"]] == [110, 65, 10]
    assert [row["market_cents"] for row in told["entrants"]] == [40, 40]


def test_a_repeat_that_has_fewer_seeds_is_missing_there(tmp_path: Path) -> None:
    again = ROWS.replace("main,1,5,", "main,2,5,").replace(",100,", ",104,")
    found = study([read(tmp_path, *ROWS.splitlines(), *SECOND.splitlines(), *again.splitlines())])
    told = found.to_json()
    assert [each["run"] for each in told["missing"]] == [
        "main-s7-r2-reference",
        "main-s7-r2-without-ada",
        "main-s7-r2-without-bob",
    ]
    assert told["groups"][0]["seeds"] == [5]
    # ada at seed 5: (100 + 104) / 2 - 30.
    assert told["entrants"][0]["private_cents"] == 72
    assert [each["repeat"] for each in told["entrants"][0]["matched"]] == [1, 1, 2]


def test_groups_may_have_other_seeds_and_lineups(tmp_path: Path) -> None:
    other = [line.replace("main,1,5", "repeats,1,9") for line in ROWS.splitlines()]
    found = study([read(tmp_path, *ROWS.splitlines(), *SECOND.splitlines(), *other)])
    assert found.to_json()["complete"]
    assert found.to_json()["stability"]["blocks"] == [
        "scores.main s5",
        "scores.main s7",
        "scores.repeats s9",
    ]


def test_a_lineup_that_is_nowhere_is_said(tmp_path: Path) -> None:
    told = study([read(tmp_path, *without(ROWS, "without-bob"))]).to_json()
    assert told["complete"], "nothing that the table has elsewhere"
    assert told["groups"][0]["unplanned"] == ["lineup without-bob at seed 5, repeat 1"]
    assert any("where there is no lineup without-bob" in each for each in told["notices"])
    assert told["entrants"][0]["market_cents"] is None


def test_ties_stand_in_the_order_of_their_ids(tmp_path: Path) -> None:
    rows = [re.sub(r",-?\d+,(active|bankrupt)", r",7,\1", line) for line in ROWS.splitlines()]
    told = study([read(tmp_path, *reversed(rows))]).to_json()
    assert [(row["rank"], row["candidate"]) for row in told["ranking"]] == [
        (1, "ada"),
        (2, "bob"),
        (3, "rule"),
    ]
    assert [row["positive_market_seeds"] for row in told["entrants"]] == [0, 0]


def test_columns_that_are_not_known_are_said_to_be_passed_over(tmp_path: Path) -> None:
    text = f"{HEADER},note,weight\n" + "\n".join(f"{line},x,2" for line in ROWS.splitlines())
    found = study([read_scores(written(tmp_path, text))])
    assert found.to_json()["notices"] == ["scores: columns that are not looked at: note, weight."]


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text + "\n\n",
        lambda text: text.replace("score_cents", " Score_Cents "),
        lambda text: text.replace(",ada,", ", ada ,").replace(",100,", ", 100,"),
    ],
    ids=["byte order mark", "CRLF", "empty lines", "header", "blanks"],
)
def test_how_a_table_is_written_changes_nothing(
    tmp_path: Path, changed: Callable[[str], str]
) -> None:
    text = f"{HEADER}\n{ROWS}\n"
    plain, other = (
        study([read_scores(written(tmp_path, each))]).to_json() for each in (text, changed(text))
    )
    assert plain == other


@pytest.mark.parametrize(
    "kind", [pl.Int16, pl.Int32, pl.UInt64, pl.Int128, pl.Float64, pl.Decimal(20, 2), pl.String]
)
def test_integers_of_any_type_are_read(tmp_path: Path, kind: pl.DataType) -> None:
    frame = pl.read_csv(f"{HEADER}\n{ROWS}\n".replace("-10", "10").encode())
    file = tmp_path / "scores.parquet"
    frame.with_columns(pl.col("score_cents", "seed", "seat").cast(kind)).write_parquet(file)
    assert study([read_scores(file)]).to_json()["ranking"][0]["mean_score_cents"] == 110


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("score_cents", pl.col("score_cents") + 0.5, "score_cents has 100.5"),
        ("score_cents", (pl.col("score_cents") / 2).cast(pl.Decimal(20, 3)) / 8, "score_cents has"),
        ("score_cents", pl.lit(float("nan")), "score_cents has NaN"),
        ("score_cents", pl.lit(2**63).cast(pl.UInt64), "score_cents has 9223372036854775808"),
        ("seed", pl.lit(value=True), "seed has true"),
        ("seat", pl.lit("2026-01-01").str.to_date(), "seat has 2026-01-01"),
    ],
)
def test_a_value_that_is_no_integer_is_named(
    tmp_path: Path, column: str, values: pl.Expr, told: str
) -> None:
    frame = pl.read_csv(f"{HEADER}\n{ROWS}\n".encode())
    file = tmp_path / "scores.parquet"
    frame.with_columns(values.alias(column)).write_parquet(file)
    with pytest.raises(InputError, match="not an integer") as error:
        read_scores(file)
    assert told.lower() in str(error.value).lower()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed,seat\n1,1\n", "no column candidate, score_cents, lineup (or replaced)"),
        (f"{HEADER}\n{ROWS}\n{ROWS.splitlines()[0]}\n", "stands twice"),
        (f"{HEADER}\n{ROWS}\n".replace(",100,", ",100.5,"), "100.5, which is not an integer"),
        (f"{HEADER}\n{ROWS}\n".replace(",100,", ",,"), "empty cell"),
        (f"{HEADER}\n{ROWS}\n".replace("bankrupt", "gone"), "'gone' is unknown"),
        (f"{HEADER}\n{ROWS}\n".replace("without-ada,ada", "without-eve,eve"), "leaves out eve"),
        (f"{HEADER}\n{ROWS}\n".replace("reference,,1", "reference,,3"), "all of its seats"),
        (f"{HEADER}\n" + "\n".join(ROWS.splitlines()[2:]) + "\n", "no reference lineup"),
        (
            f"{HEADER}\n{ROWS}\n".replace("ada,2,bob", "ada,2,eve"),
            "seat 2 has eve, and it is bob's",
        ),
        (f"{HEADER}\n{ROWS}\n".replace("ada,1,rule", "ada,1,ada"), "and ada is left out"),
        (f"{HEADER}\n{ROWS}\n".replace("ada,2,bob", "ada,3,bob"), "has a seat 3"),
        (f"{HEADER}\n{ROWS}\n".replace("main,1,", "main,0,"), "repeat is below 1"),
        (f"seed,{HEADER}\n{ROWS}\n", "the column seed twice"),
        (f"{HEADER}\n", "has no rows"),
        (f"{HEADER}\n{ROWS}\n".replace(",", ";"), "no column seed"),
        ("", "cannot be read"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        read_scores(written(tmp_path, text))
    assert told in str(error.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_scores(tmp_path / "none.parquet")


def test_a_folder_or_a_pattern_is_no_table(tmp_path: Path) -> None:
    written(tmp_path, f"{HEADER}\n{ROWS}\n")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_scores(tmp_path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_scores(tmp_path / "*.csv")
