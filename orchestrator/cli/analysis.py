"""Commands that turn what campaigns left into findings: tables, figures, a report."""

import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.bundles import checked_bundle
from orchestrator.cli.keys import PublicKeysOption, public_keys
from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    STORE_VARIABLE,
    JsonOption,
    notice,
    print_json,
    progress_bar,
    writing,
)
from orchestrator.cli.tables import print_text

if TYPE_CHECKING:
    from campaigns.analysis.study import Study
    from manifests.keys import PublicKey
    from orchestrator.bundle.analysis import AnalysisDifference
    from orchestrator.bundle.reading import BundleSource

app = typer.Typer()

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CAMPAIGN]...",
        help="The campaigns, the main one first; findings that pool them need several.",
        show_default="the only one of each store",
    ),
]
StoresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="Where the campaigns are kept; may be given several times.",
        show_default=f"${STORE_VARIABLE} or ./{DEFAULT_STORE}",
    ),
]
BundlesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--bundle", metavar="BUNDLE", help="An exported bundle instead; may be given several times."
    ),
]
ScoresOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--scores",
        metavar="FILE",
        help="A plain table of Scores instead, CSV or Parquet; may be given several times.",
    ),
]


@app.command()
def analyze(
    names: NamesArgument = None,
    store: StoresOption = None,
    scores: ScoresOption = None,
    bundle: BundlesOption = None,
    key: PublicKeysOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            help="Where the tables go; with --json nothing is written without it.",
            show_default="./ceo-arena-analysis",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute every finding; write all tables as CSV and Parquet and print the main ones.

    Ends with 1 when runs are missing, and names them. A bundle is checked first, and the tables in
    it are compared with those that its records lead to; ends with 1 where they differ.

    JSON: ranking, entrants (private, others, market), directed (all pairs),
    stability (blocks, pairs with mean, SD, same_sign, stable), groups (what
    the means are over), missing, notices. Money is in integer cents. The
    columns of a table of Scores: seed, seat, candidate, score_cents, lineup
    or replaced; optional group, repeat, salvage_cents, revenue_cents,
    net_outlays_cents, status. docs/analysis.md explains all of it.
    """
    from campaigns.analysis.tables import all_tables
    from campaigns.report.files import write_tables
    from orchestrator.cli.study_tables import show_study

    found, differences, _ = _study(names, store, scores, bundle, public_keys(key))
    tables = all_tables(found)
    folder = out or (None if as_json else Path("ceo-arena-analysis"))
    if folder is not None:
        with writing(folder):
            written = write_tables(tables.values(), folder)
        notice(f"{len(written)} files written to {folder}")
    if as_json:
        compared = {} if bundle is None else {"differences": [asdict(each) for each in differences]}
        print_json({**found.to_json(), **compared})
    else:
        show_study(found, tables)
        if bundle is not None and not differences:
            notice("The tables in every bundle are those that its records lead to.")
    for difference in differences:
        notice(f"A bundle differs from its records: {difference}")
    if differences or not found.is_complete:
        raise typer.Exit(ANSWER_IS_NO)


@app.command()
def report(
    names: NamesArgument = None,
    store: StoresOption = None,
    scores: ScoresOption = None,
    bundle: BundlesOption = None,
    key: PublicKeysOption = None,
    out: Annotated[
        Path, typer.Option(metavar="DIRECTORY", help="Where page, figures and tables go.")
    ] = Path("ceo-arena-report"),
    as_json: JsonOption = False,
) -> None:
    """Write the report: one HTML page, every figure as SVG and PNG, every table, and an explorer.

    The page is one file that loads nothing: open it from the folder, send it,
    print it. The explorer beside it shows any window of any company of a
    store or a bundle: what the CEO read, did and wrote, next to the market;
    keep its folder with it. Ends with 1 when runs are missing, which the page says as well,
    or when the tables in a bundle are not those that its records lead to.

    JSON: page, explorer (null without a run to follow), figures (by section),
    tables, complete, notices.
    """
    from campaigns.analysis.tables import all_tables
    from campaigns.report.figures import all_figures
    from campaigns.report.figures.setting import Setting
    from campaigns.report.files import write_figures, write_tables
    from campaigns.report.page.explorer import write_explorer
    from campaigns.report.page.report import report_page
    from orchestrator.gathering import followed

    found, differences, bundled = _study(names, store, scores, bundle, public_keys(key))
    tables = all_tables(found)
    figures = all_figures(found, tables)
    page = out / "report.html"
    sources = followed(_places(names, store, scores, bundle), names or [], bundled)
    labels = (each.campaign for each in found.evidence)
    runs = sum(len(each.planned) for each in found.evidence)
    with writing(out), closing(sources), progress_bar("following runs", runs) as done:
        write_tables(tables.values(), out / "tables")
        write_figures((each for own in figures.values() for each in own), out / "figures")
        # Plain tables come last in the evidence; the names are those that it gives to all.
        named = zip(labels, sources, strict=False)
        explorer = write_explorer(named, Setting(found, tables).looks, out, done)
        link = None if explorer is None else explorer.name
        page.write_text(report_page(found, tables, figures, link), encoding="utf-8")
    if as_json:
        print_json(
            {
                "page": str(page),
                "explorer": None if explorer is None else str(explorer),
                "figures": {name: [each.name for each in own] for name, own in figures.items()},
                "tables": list(tables),
                "complete": found.is_complete,
                "notices": found.notices(),
            }
        )
    else:
        print_text(f"The report is {page}", *found.notices())
    for difference in differences:
        notice(f"A bundle differs from its records: {difference}")
    if differences or not found.is_complete:
        raise typer.Exit(ANSWER_IS_NO)


def _study(
    names: list[str] | None,
    stores: list[str] | None,
    scores: list[Path] | None,
    bundles: list[Path] | None,
    keys: "list[PublicKey]",
) -> "tuple[Study, list[AnalysisDifference], list[BundleSource]]":
    """The study of what the options name, where bundles are not what their records lead to, and
    the bundles.

    Raises:
        InputError: a campaign, store, bundle or file that cannot be used.
        IntegrityError: a bundle is not as it was exported.
    """
    from campaigns.analysis.study import study
    from orchestrator.bundle.analysis import analysed
    from orchestrator.gathering import gather

    places = _places(names, stores, scores, bundles)
    sources = [checked_bundle(path, keys) for path in bundles or []]
    bundled = [analysed(source) for source in sources]
    evidence = gather(places, names or [], scores or [], [each for each, _ in bundled])
    return study(evidence), [difference for _, own in bundled for difference in own], sources


def _places(
    names: list[str] | None,
    stores: list[str] | None,
    scores: list[Path] | None,
    bundles: list[Path] | None,
) -> list[str]:
    """The stores that are meant: the usual one where nothing else is named."""
    if stores or (not names and (scores or bundles)):
        return stores or []
    return [os.environ.get(STORE_VARIABLE) or DEFAULT_STORE]
