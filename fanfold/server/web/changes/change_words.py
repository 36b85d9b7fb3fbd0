"""The words of the page of changes, for its template and its script."""

from __future__ import annotations

from typing import Any

from fanfold.server.web.frame.languages import Words


def change_words(t: Words) -> dict[str, str]:
    """The word for each state of a change, in the reader's language."""
    return {
        "open": t("undecided"),
        "accept": t("accepted"),
        "reject": t("rejected"),
        "replace": t("edited"),
        "gap": t("source kept"),
    }


def page_words(t: Words) -> dict[str, Any]:
    """The words that the script needs, in the reader's language."""
    return {
        "states": change_words(t),
        "names": {
            "insert": t("insertion"),
            "delete": t("deletion"),
            "replace": t("replacement"),
            "space": t("white space"),
            "punctuation": t("punctuation"),
            "words": t("wording"),
            "rule": t("all rules"),
            "model": t("all models"),
        },
        "makers": {"rule": t("rule"), "model": t("model")},
        "accept": t("accept"),
        "reject": t("reject"),
        "edit": t("edit"),
        "undo": t("undo"),
        "save": t("Save"),
        "back": t("Back"),
        "replacement": t("Text instead of the change"),
        "gap": t("Source kept: {why}"),
        "failed": t("Failed, source kept: {why}"),
        "open": t("open it"),
        "warning": t("Warning: {why}"),
        "decided": t("{actor}, {time}"),
        "fitting": t("Changes in this list: {count}"),
        "paragraphs": t("paragraphs: {count}"),
        "unread": t("Reading results: {count} left …"),
        "cut": t("Only the first part is shown; there are too many items."),
        "progress": t("decided {done} of {total}"),
        "loading": t("Loading …"),
        "sure": {
            "accept": t("Accept all {count} changes in this list?"),
            "reject": t("Reject all {count} changes in this list?"),
            "undo": t("Undo the decisions about all {count} changes in this list?"),
        },
        "many": t("Decided: {count}"),
    }
