"""The list of changes of a book: finds them, applies decisions, and writes them in several formats."""

from fanfold.apps.proofread.changes.change import Change, ChangeKind, Span, Topic
from fanfold.apps.proofread.changes.compare import apply_spans, compare
from fanfold.apps.proofread.changes.listing import Pair, Verdict, decided, list_changes, merged

__all__ = [
    "Change",
    "ChangeKind",
    "Pair",
    "Span",
    "Topic",
    "Verdict",
    "apply_spans",
    "compare",
    "decided",
    "list_changes",
    "merged",
]
