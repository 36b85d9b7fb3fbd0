"""Blocks have page, kind, text and box; chunks follow headings and sizes, and lose nothing."""

from typing import Any

import fanfold as ff
from fanfold.apps.pdf.output.blocks_of_pages import blocks_of
from fanfold.apps.pdf.output.chunking import chunks_of
from fanfold.apps.pdf.output.document_facts import front_matter

FIRST = "# One\n\nAlpha beta.\n\n## Two\n\n- a\n- b\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"
LINES = [["One", 0.1, 0.1, 0.2, 0.05], ["Alpha", 0.1, 0.2, 0.1, 0.05], ["beta.", 0.1, 0.3, 0.4, 0.05]]


def page(number: int, markdown: str | None, **more: Any) -> ff.Result[Any, Any]:
    output = None if markdown is None else {"markdown": markdown, **more}
    message = "it burned" if markdown is None else None
    return ff.Result(str(number), number, markdown is not None, {"page": number}, output, None, message)


def test_blocks_have_their_kind_and_box() -> None:
    found = list(blocks_of([page(1, FIRST, lines=LINES), page(2, None), page(3, "```\ncode\n```")]))
    assert [(one.page, one.kind) for one in found] == [
        (1, "heading"), (1, "paragraph"), (1, "heading"), (1, "list"), (1, "table"), (2, "missing"), (3, "code"),
    ]  # fmt: skip
    assert found[0].as_json() == {
        "page": 1, "kind": "heading", "text": "One", "level": 1, "box": [0.1, 0.1, 0.2, 0.05]
    }  # fmt: skip
    assert found[1].box == [0.1, 0.2, 0.4, 0.15], "the box is around all lines of the block"
    assert (found[3].box, found[5].text) == (None, "it burned")


def test_a_heading_starts_a_chunk_and_is_never_lost() -> None:
    found = list(chunks_of(blocks_of([page(1, FIRST), page(2, "## Three\n\n## Four")]), 1_000))
    assert [(one["headings"], one["pages"]) for one in found] == [
        (["One"], [1, 1]), (["One", "Two"], [1, 1]), (["One", "Three"], [2, 2]), (["One", "Four"], [2, 2]),
    ]  # fmt: skip


def test_chunks_are_no_larger_than_asked_and_lose_no_word() -> None:
    text = " ".join(f"Word{n}." for n in range(200)) + "\n\n" + "x" * 350
    found = list(chunks_of(blocks_of([page(1, text)]), 120))
    assert max(len(one["text"]) for one in found) <= 120
    assert "".join("".join(one["text"] for one in found).split()) == "".join(text.split())


def test_front_matter_is_yaml() -> None:
    assert front_matter({"title": 'A "b": c', "sha256": "0"}) == '---\ntitle: "A \\"b\\": c"\nsha256: "0"\n---\n\n'
