"""One self-contained page about a run, readable by a privacy officer."""

from mapl.report.coverage import Coverage
from mapl.report.evaluation import Evaluation
from mapl.report.number_evaluation import NumberEvaluation
from mapl.report.pages.page import render, write_report
from mapl.report.report import Report
from mapl.report.risk import Risk

__all__ = ["Coverage", "Evaluation", "NumberEvaluation", "Report", "Risk", "render", "write_report"]
