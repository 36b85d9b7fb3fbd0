"""The words for the states of cells and rows."""

from __future__ import annotations

from fanfold.server.web.frame.languages import Words


def cell_words(t: Words) -> dict[str, str]:
    """The word for each state, in the reader's language."""
    return {
        "ok": t("supported"),
        "weak": t("weak"),
        "unsupported": t("unsupported"),
        "invalid": t("invalid"),
        "absent": t("absent"),
        "conflict": t("conflict"),
        "edited": t("edited"),
        "approved": t("approved"),
        "failed": t("failed"),
        "open": t("not done yet"),
    }
