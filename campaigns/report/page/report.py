"""The report of a study as one HTML page."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from campaigns.analysis.evidence import Evidence
from campaigns.analysis.study import Study
from campaigns.analysis.tables import Table
from campaigns.report.drawing import Figure, dollars, themed
from campaigns.report.figures.setting import Setting
from campaigns.report.page import render


def report_page(
    study: Study,
    tables: Mapping[str, Table],
    figures: Mapping[str, Sequence[Figure]],
    explorer: str | None = None,
) -> str:
    """The whole page: figures with their captions, every table that has rows as data in it.
    `explorer` is the file of the trajectory explorer beside it, where there is one.
    """
    shown = [_table(table) for table in tables.values() if not table.frame.is_empty()]
    by_name = {table["name"]: table for table in shown}
    return render(
        "report.html.j2",
        title=" + ".join(each.campaign for each in study.evidence) or "Nothing",
        lead=_lead(study),
        explorer=explorer,
        notices=study.notices(),
        tiles=_tiles(tables["scale"]),
        standings=_standings(study, tables),
        sections=[
            {
                "id": heading.lower().replace(" ", "-"),
                "heading": heading,
                "figures": [
                    {
                        "name": figure.name,
                        "title": figure.title,
                        "caption": figure.caption,
                        # Drawn here from numbers and escaped labels.
                        "svg": Markup(themed(figure)),
                        "narrow_svg": Markup(themed(figure, narrow=True)),
                        "table": by_name[figure.table],
                    }
                    for figure in own
                ],
            }
            for heading, own in figures.items()
        ],
        tables=shown,
        places=[_place(each) for each in study.evidence],
    )


def _lead(study: Study) -> str:
    runs = sum(len(each.planned) for each in study.evidence)
    missing = sum(len(each.missing) for each in study.evidence)
    told = f"{runs} runs" if not missing else f"{runs - missing} of {runs} planned runs"
    notes = [
        each.manifest.provenance.note
        for each in study.evidence
        if each.manifest is not None and each.manifest.provenance.note
    ]
    return " ".join([f"{len(study.panel)} competing candidates, {told}.", *dict.fromkeys(notes)])


def _tiles(scale: Table) -> list[dict[str, str]]:
    sums = {
        name: scale.frame[name].drop_nulls().sum()
        for name in scale.frame.columns
        if name != "campaign" and scale.frame[name].null_count() < scale.frame.height
    }
    return [{"name": name.replace("_", " "), "value": f"{int(sums[name]):,}"} for name in sums]


def _standings(study: Study, tables: Mapping[str, Table]) -> dict[str, Any] | None:
    if study.main is None or not study.main.ranking.rows:
        return None
    setting = Setting(study, tables)
    entrants = {each["entrant"]: each for each in setting.entrants}
    ranking = setting.of_main("ranking").to_dicts()
    return {
        "title": f"Mean Score, {setting.over}",
        "headings": ["", "candidate", "Mean Score", "bankrupt", "private", "market", "market > 0"],
        "rows": [
            {
                "rank": each["rank"],
                "label": setting.looks[each["candidate"]].label,
                "colour": setting.looks[each["candidate"]].colour,
                "cells": [
                    dollars(each["mean_score_cents"]),
                    _share(each["bankruptcies"], each["outcomes"]),
                    *_effects(entrants.get(each["candidate"])),
                ],
            }
            for each in ranking
        ],
        "caption": f"Private and market: the entrant against {setting.baseline} in its seat; "
        "market > 0: at how many seeds it enlarges the market.",
    }


def _share(part: int | None, whole: int) -> str:
    return "\u2013" if part is None else f"{part} of {whole}"


def _effects(entrant: Mapping[str, Any] | None) -> list[str]:
    if entrant is None:
        return ["\u2013"] * 3
    return [
        dollars(entrant["private_cents"]),
        dollars(entrant["market_cents"]),
        f"{entrant['positive_market_seeds']} of {entrant['seeds']}",
    ]


def _table(table: Table) -> dict[str, str]:
    packed = gzip.compress(table.frame.write_csv().encode(), compresslevel=9, mtime=0)
    return {
        "name": table.name,
        "title": table.title,
        "about": table.about,
        "packed": base64.b64encode(packed).decode(),
    }


def _place(evidence: Evidence) -> dict[str, str]:
    manifest = evidence.manifest
    return {
        "campaign": evidence.campaign,
        "place": evidence.place,
        "plan_hash": "" if manifest is None else manifest.plan_hash,
        "release": "" if manifest is None else manifest.decisive.release,
        "package": "" if manifest is None else manifest.decisive.versions.package,
    }
