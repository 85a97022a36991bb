"""Every figure of evaluation.md section 3, as far as the study allows it."""

from collections.abc import Mapping
from dataclasses import replace

from campaigns.analysis.study import Study
from campaigns.analysis.tables import Table
from campaigns.report.drawing import NARROW, Figure
from campaigns.report.figures.accounts import account_figures
from campaigns.report.figures.conduct import conduct_figures
from campaigns.report.figures.pooled import pooled_figures
from campaigns.report.figures.scores import score_figures
from campaigns.report.figures.setting import Setting

__all__ = ["Figure", "all_figures"]


def all_figures(study: Study, tables: Mapping[str, Table]) -> dict[str, list[Figure]]:
    """The figures by the heading of their section, in the order of a report; sections without a
    figure are not there. Each is drawn twice, for a wide and for a narrow page.
    """
    if study.main is None:
        return {}
    narrow = _drawn(Setting(study, tables, NARROW))
    return {
        heading: [
            replace(figure, narrow_svg=other.svg)
            for figure, other in zip(figures, narrow[heading], strict=True)
        ]
        for heading, figures in _drawn(Setting(study, tables)).items()
    }


def _drawn(setting: Setting) -> dict[str, list[Figure]]:
    sections = {
        "Scores and effects": score_figures(setting),
        "Repeats and baselines": pooled_figures(setting),
        "Cash and accounts": account_figures(setting),
        "Decisions": conduct_figures(setting),
    }
    drawn = {heading: list(figures) for heading, figures in sections.items()}
    return {heading: figures for heading, figures in drawn.items() if figures}
