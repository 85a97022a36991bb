"""A plain table of Scores: what it may hold, what is read off it, what is refused."""

from pathlib import Path

import polars as pl
import pytest

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


def test_a_missing_company_and_a_missing_world_are_said(tmp_path: Path) -> None:
    lines = ROWS.splitlines()
    lacking = "\n".join([HEADER, *lines[:3], *lines[4:]])
    found = study([read_scores(written(tmp_path, lacking))])
    assert found.groups[0].ranking.rows == ()
    assert found.to_json()["entrants"][0]["market_cents"] is None
    (missing,) = found.groups[0].ranking.missing
    assert missing.seats == (2,)
    without_bob = "\n".join([HEADER, *lines[:4]])
    found = study([read_scores(written(tmp_path, without_bob))])
    assert found.to_json()["groups"][0]["unplanned"] == ["lineup without-bob at seed 5, repeat 1"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed,seat\n1,1\n", "no column candidate, score_cents, lineup (or replaced)"),
        (f"{HEADER}\n{ROWS}\n{ROWS.splitlines()[0]}\n", "stands twice"),
        (f"{HEADER}\n{ROWS}\n".replace(",100,", ",100.5,"), "not an integer"),
        (f"{HEADER}\n{ROWS}\n".replace(",100,", ",,"), "empty cell"),
        (f"{HEADER}\n{ROWS}\n".replace("bankrupt", "gone"), "'gone' is unknown"),
        (f"{HEADER}\n{ROWS}\n".replace("without-ada,ada", "without-eve,eve"), "leaves out eve"),
        (f"{HEADER}\n{ROWS}\n".replace("reference,,1", "reference,,3"), "has the seats 2, 3"),
        (f"{HEADER}\n" + "\n".join(ROWS.splitlines()[2:]) + "\n", "no reference lineup"),
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
