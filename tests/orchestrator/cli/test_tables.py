"""Tables on terminals of several widths and in a pipe."""

import re

import pytest

from orchestrator.cli.money_tables import estimated
from orchestrator.cli.output import Column
from orchestrator.cli.tables import print_table, whole_dollars

Capture = pytest.CaptureFixture[str]

COLUMNS: list[Column | str] = [
    "company",
    *(Column(f"year {year}", number=True) for year in range(1, 7)),
]
ROWS = [
    ("a-company-with-a-very-long-name", *(1_000_000 * year for year in range(1, 7))),
    ("b", -5, None, "-$7", 8, 9, 10),
]


def printed(capsys: Capture) -> list[str]:
    """The lines of the output, colours and trailing blanks taken away."""
    text = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)
    return [line.rstrip() for line in text.splitlines()]


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(width))


@pytest.fixture(autouse=True)
def in_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_a_pipe_gets_aligned_text_without_colours(capsys: Capture) -> None:
    print_table("Profit", ["who", Column("profit", number=True)], [("a", 12_345), ("bc", -5)])
    assert capsys.readouterr().out.splitlines() == [
        "Profit",
        "who  profit",
        "a    12,345",
        "bc       -5",
        "",
    ]


def test_notes_stand_below_the_table(capsys: Capture) -> None:
    print_table("Profit", ["who"], [("a",)], ["a: the first", "[b]: not markup"])
    assert printed(capsys) == ["Profit", "who", "a", "a: the first", "[b]: not markup", ""]


def test_what_others_wrote_does_not_steer_the_terminal(capsys: Capture) -> None:
    build = "\x1b[2Jfp-1\x07\x9b31m\u202fok"
    print_table("Builds", ["served as"], [(build,)], [build])
    for line in capsys.readouterr().out.split("\n")[2:4]:
        assert line.rstrip(" ") == "\ufffd[2Jfp-1\ufffd\ufffd31m\u202fok"


def test_without_rows_there_is_a_header(capsys: Capture) -> None:
    print_table("Profit", ["who", Column("profit", number=True)], [])
    assert printed(capsys) == ["Profit", "who  profit", ""]


def test_negative_numbers_are_red_and_absent_ones_are_not(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, 80)
    print_table("Profit", ["who", Column("profit", number=True)], [("-x", -5), ("b", None)])
    out = capsys.readouterr().out
    assert "\x1b[31m    -5\x1b[0m" in out
    assert out.count("\x1b[31m") == 1


def test_a_wide_terminal_shows_everything_at_once(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, 120)
    print_table("Profit", COLUMNS, ROWS)
    lines = printed(capsys)
    assert len(lines) == 5
    assert lines[2].split() == [ROWS[0][0], *(f"{year},000,000" for year in range(1, 7))]
    assert lines[3].split() == ["b", "-5", "-", "-$7", "8", "9", "10"]


def test_on_a_narrower_terminal_texts_give_way_and_numbers_stay_whole(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, 88)
    print_table("Profit", COLUMNS, ROWS)
    lines = printed(capsys)
    assert max(map(len, lines)) <= 88
    assert lines[2].split()[0].startswith("a-company-with-a")
    assert lines[2].split()[0].endswith("…")
    assert lines[2].split()[1:] == [f"{year},000,000" for year in range(1, 7)]


@pytest.mark.parametrize("width", [30, 50, 70])
def test_on_a_narrow_terminal_the_other_numbers_follow(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    on_terminal(monkeypatch, width)
    print_table("Profit", COLUMNS, ROWS)
    lines = printed(capsys)
    assert max(map(len, lines)) <= width
    headings = [word for line in lines for word in re.findall(r"year \d", line)]
    assert headings == [f"year {year}" for year in range(1, 7)]
    numbers = [word for line in lines if "a-comp" in line for word in line.split()[1:]]
    assert numbers == [f"{year},000,000" for year in range(1, 7)]
    assert (
        lines.count("Profit (continued)")
        == sum(line.startswith("company") for line in lines[2:])
        > 0
    )


def test_a_pipe_never_cuts_texts_but_shares_out_numbers(capsys: Capture) -> None:
    name = "n" * 150
    print_table("Profit", COLUMNS, [(name, *[1_000_000_000_000] * 6)])
    lines = printed(capsys)
    assert sum(line.startswith(name) for line in lines) == 2
    assert "Profit (continued)" in lines


def test_notes_stand_once_below_all_that_follows(capsys: Capture) -> None:
    print_table("Profit", COLUMNS, [("n" * 150, *[1_000_000_000_000] * 6)], ["of six years"])
    lines = printed(capsys)
    assert lines.count("Profit (continued)") == 1
    assert lines[-2:] == ["of six years", ""]
    assert lines.count("of six years") == 1


@pytest.mark.parametrize(
    ("cents", "shown"),
    [
        (None, None),
        (0, "$0"),
        (123_456, "$1,235"),
        (-123_456, "-$1,235"),
        (50, "$0"),
        (150, "$2"),
        (-49, "$0"),
        (-151, "-$2"),
    ],
)
def test_whole_dollars_round_half_to_even(cents: int | None, shown: str | None) -> None:
    assert whole_dollars(cents) == shown


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1 k"),
        (94_999, "95 k"),
        (999_499, "999 k"),
        (999_500, "1 M"),
        (1_437_000, "1.44 M"),
        (999_999_999, "1 G"),
        (83_000_000_000_000, "83 T"),
    ],
)
def test_an_estimate_has_three_digits(tokens: int, shown: str) -> None:
    assert estimated(tokens) == shown
