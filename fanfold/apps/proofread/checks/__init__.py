"""Checks answers of models against the contract of a mode, and names every defect."""

from fanfold.apps.proofread.checks.cleaning import Cleaned, clean_answer, one_line, printable
from fanfold.apps.proofread.checks.defect import Defect, Severity, hard, refused_parts
from fanfold.apps.proofread.checks.lengths import LengthBand
from fanfold.apps.proofread.checks.letters import Difference, first_difference
from fanfold.apps.proofread.checks.modes import Contract, Mode, check_finish, check_part, check_parts, mode_named

__all__ = [
    "Cleaned",
    "Contract",
    "Defect",
    "Difference",
    "LengthBand",
    "Mode",
    "Severity",
    "check_finish",
    "check_part",
    "check_parts",
    "clean_answer",
    "first_difference",
    "hard",
    "mode_named",
    "one_line",
    "printable",
    "refused_parts",
]
