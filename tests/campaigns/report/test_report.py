"""The report of small studies: every figure and table, whole and partial, the same each time."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from campaigns.analysis.study import Study, study
from campaigns.analysis.tables import all_tables
from campaigns.definition import load_definition
from campaigns.plan import plan
from campaigns.report.drawing import Figure, dollars, themed
from campaigns.report.figures import all_figures
from campaigns.report.files import write_figures, write_tables
from campaigns.report.page.report import report_page
from tests.campaigns.analysis.pools import again, evidence, idle, main
from tests.campaigns.builders import campaign, outcomes


@pytest.fixture(scope="module")
def pooled() -> Study:
    return study([main(), again(), idle()])


@pytest.fixture(scope="module")
def figures(pooled: Study) -> dict[str, list[Figure]]:
    return all_figures(pooled, all_tables(pooled))


@pytest.fixture(scope="module")
def text(pooled: Study, figures: dict[str, list[Figure]]) -> str:
    return report_page(pooled, all_tables(pooled), figures)


def page(found: Study) -> str:
    tables = all_tables(found)
    return report_page(found, tables, all_figures(found, tables))


def test_figures_of_several_campaigns(tmp_path: Path, figures: dict[str, list[Figure]]) -> None:
    names = [figure.name for own in figures.values() for figure in own]
    assert names == [
        "performance",
        "entrants",
        "plane",
        "directed",
        "stable_pairs",
        "salvage",
        "repeats",
        "baselines_s5_idle",
        "baseline_pairs_s5_idle",
        "profiles",
        "decomposition",
    ]
    written = write_figures((each for own in figures.values() for each in own), tmp_path)
    assert len(written) == 2 * len(names)
    for file in written:
        if file.suffix == ".svg":
            ElementTree.fromstring(file.read_text(encoding="utf-8"))
        else:
            assert file.read_bytes().startswith(b"\x89PNG")


def test_equal_studies_give_equal_pages() -> None:
    assert page(study([main(), again()])) == page(study([main(), again()]))


def test_a_page_asks_for_nothing_and_has_every_table(pooled: Study, text: str) -> None:
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']*""", text)
    assert "url(http" not in text
    assert "default-src 'none'" in text
    for name, table in all_tables(pooled).items():
        assert (f'id="data-{name}"' in text) == (not table.frame.is_empty())


def test_ids_stand_once_on_a_page(text: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_a_partial_study_says_so_on_its_page() -> None:
    whole = again()
    lacking = tuple(each for each in whole.outcomes if each.run_id != "again-s5-r2-without-bob")
    text = page(study([main(), replace(whole, outcomes=lacking)]))
    assert "again: 1 of 6 runs are missing: again-s5-r2-without-bob." in text
    assert "8 of 9 planned runs" in text


def test_a_study_of_nothing_is_a_page_too() -> None:
    nothing = study([replace(main(), outcomes=())])
    assert all_figures(nothing, all_tables(nothing)) == {}
    assert "3 of 3 runs are missing" in page(nothing)


def test_a_search_has_no_contrasts_and_a_page() -> None:
    found = study([evidence(plan(load_definition("rule-search")), [])])
    assert found.groups == ()
    assert "75 of 75 runs are missing" in page(found)


@pytest.mark.parametrize("companies", [1, 2, 11])
def test_a_panel_of_any_size_is_drawn(companies: int) -> None:
    panel = [f"candidate-{number}" for number in range(1, companies + 1)]
    planned = plan(campaign(panel, seeds=[1, 2]))
    found = study(
        [
            evidence(
                planned,
                outcomes(
                    planned.runs,
                    lambda run: [
                        1_000 * run.seed * seat - 77 * run.position
                        for seat in range(1, companies + 1)
                    ],
                ),
            )
        ]
    )
    assert len(found.stability.pairs) == companies * (companies - 1)
    drawn = [each.name for own in all_figures(found, all_tables(found)).values() for each in own]
    assert {"performance", "entrants", "plane", "directed", "repeats"} <= set(drawn)


def test_names_from_outside_are_text_on_the_page() -> None:
    odd = replace(main(), campaign="<script>alert(1)</script>")
    text = page(study([odd]))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_a_figure_on_a_page_has_the_colours_of_the_theme(figures: dict[str, list[Figure]]) -> None:
    svg = themed(figures["Scores and effects"][0])
    assert "var(--ink)" in svg
    assert "#1c1e22" not in svg
    assert "DejaVu" not in svg


def test_tables_are_written_with_their_explanations(tmp_path: Path) -> None:
    tables = all_tables(study([main(), again()]))
    write_tables(tables.values(), tmp_path)
    index = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    assert list(index) == list(tables)
    for name, told in index.items():
        parquet = pl.read_parquet(tmp_path / f"{name}.parquet")
        assert parquet.equals(tables[name].frame)
        csv = (tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        assert csv[0] == ",".join(told["columns"])
        assert len(csv) == told["rows"] + 1


def test_money_is_written_short() -> None:
    shown = {
        0: "$0",
        -49: "$0",
        -50: "$0",
        -51: "\u2212$1",
        95_000: "$950",
        999_400: "$9,994",
        -1_234_500: "\u2212$12.3k",
        99_940_000: "$999.4k",
        99_960_000: "$1.00M",
    }
    assert {cents: dollars(cents) for cents in shown} == shown
