"""A pipeline whose items are paragraphs before and after, with changes to decide about, for tests of the page of changes."""

from typing import Any

import fanfold as ff


def change(before: str, wrong: str, right: str, origin: str = "model:gpt-test") -> dict[str, Any]:
    """A change as an application makes it."""
    start = before.index(wrong)
    key = ff.part_key(before, start, wrong, right)
    return {"key": key, "start": start, "before": wrong, "after": right, "origin": origin}


def chunk(number: int) -> dict[str, Any]:
    """The output of a chunk: a corrected paragraph, one without changes, and one in Chinese; the fourth has a gap."""
    before = f"Rain fell on teh {number} houses,and nobody recieved it."
    changes = [
        change(before, "teh", "the"),
        change(before, ",and", ", and", "rule:spacing"),
        change(before, "recieved", "received"),
    ]
    after = f"Rain fell on the {number} houses, and nobody received it."
    chinese = f"他说：“雨停了...”第{number}天。"
    dots = change(chinese, "...", "……", "rule:ellipses+dashes")
    found: list[dict[str, Any]] = [
        {"id": f"{number}.1", "before": before, "after": after, "changes": changes, "model": "gpt-test"},
        {"id": f"{number}.2", "before": f"Nothing is wrong with paragraph <b>{number}</b>."},
        {"id": f"{number}.3", "before": chinese, "after": chinese.replace("...", "……"), "changes": [dots]},
    ]
    if number % 4 == 0:
        found[1]["gap"] = "the answer lost two sentences twice"
    if number % 5 == 0:
        found[0]["warnings"] = ["names may have changed"]
    return {"chapter": f"Chapter {(number + 4) // 5}", "paragraphs": found}


novel = ff.Pipeline("novel", title="Novel", view="changes", unit=("chunk", "chunks"))


@novel.each(retry=ff.Retry(limit=0), tolerate=0.99)
def correct(item: ff.ItemWork) -> dict[str, Any]:
    """The changes of a chunk; one that is `lost` fails."""
    if item.input == "lost" and not item.options.get("mended"):
        raise ff.Permanent("The service refused the text.")
    return chunk(item.seq)


@novel.merge(quiet_seconds=0)
def book(task: ff.TaskWork, results: ff.Results) -> str:
    """The text with the decisions applied."""
    lines = []
    for result in results:
        for paragraph in result.output["paragraphs"]:
            text, at = "", 0
            for one in paragraph.get("changes", ()):
                made = result.decisions.get(one["key"])
                stands = {"reject": one["before"], "replace": made.value if made else ""}
                text += paragraph["before"][at : one["start"]]
                text += one["after"] if made is None else stands.get(made.verdict, one["after"])
                at = one["start"] + len(one["before"])
            lines.append(text + paragraph["before"][at:])
    return "\n".join(lines)


translated = ff.Pipeline("translated", title="Translation", view="changes", unit=("chunk", "chunks"))


@translated.each
def translate(item: ff.ItemWork) -> dict[str, Any]:
    """Paragraphs that are one change each."""
    pairs = [("雨下得很急。他没有回家。", "It rained hard. He did not go home."), ("天亮了。", "Day broke.")]
    found = [{"before": before, "after": after, "changes": [change(before, before, after)]} for before, after in pairs]
    return {"chapter": "第一章", "paragraphs": found}


@translated.merge(quiet_seconds=0)
def bound(task: ff.TaskWork, results: ff.Results) -> int:
    """How many chunks there are."""
    return sum(1 for _ in results)


def chunks(count: int, lost: int = 0) -> list[ff.NewItem]:
    """Chunks, the last of which fail."""
    given = ["text"] * (count - lost) + ["lost"] * lost
    return [ff.NewItem(str(number), text) for number, text in enumerate(given, 1)]
