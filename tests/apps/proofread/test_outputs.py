"""The change list can be had as a diff, a page, a table, bilingual text and a translation memory."""

import csv
import io
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.apps.proofread.changes import Pair, Verdict, list_changes
from fanfold.apps.proofread.changes.output import (
    bilingual_html,
    bilingual_text,
    changes_csv,
    changes_jsonl,
    html_diff,
    tmx,
    unified_diff,
)
from fanfold.apps.proofread.formats import Brackets

TEXTS = st.lists(
    st.tuples(st.sampled_from(["雨", "夜\n风", "a"]), st.sampled_from(["雨", "夜\n风", "b\nc\nd", "e"])),
    min_size=1,
    max_size=12,
)


def applied(diff: str, source: str) -> str:
    """What a unified diff makes of a text, read strictly: every kept or removed line must be in its place."""
    lines, out, at = source.split("\n"), [], 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            start = int(line.split()[1].split(",")[0].lstrip("-")) - 1
            out += lines[at:start]
            at = start
        elif line.startswith("+"):
            out.append(line[1:])
        else:
            assert lines[at] == line[1:]
            if line.startswith(" "):
                out.append(line[1:])
            at += 1
    return "\n".join(out + lines[at:])


@given(TEXTS)
def test_a_unified_diff_turns_the_source_into_the_answer(texts: list[tuple[str, str]]) -> None:
    pairs = [Pair(str(at), source, answer) for at, (source, answer) in enumerate(texts)]
    diff = "".join(unified_diff(pairs, "book.txt"))
    assert applied(diff, "\n".join(pair.source for pair in pairs)) == "\n".join(pair.answer for pair in pairs)


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_patch_understands_the_diff(tmp_path: Path) -> None:
    pairs = [Pair(str(at), f"line {at}", f"line {at}" if at % 5 else f"new\n{at}") for at in range(40)]
    (tmp_path / "book.txt").write_text("".join(f"{pair.source}\n" for pair in pairs))
    (tmp_path / "changes.diff").write_text("".join(unified_diff(pairs, "book.txt")))
    subprocess.run(["patch", "-s", "book.txt", "changes.diff"], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "book.txt").read_text() == "".join(f"{pair.answer}\n" for pair in pairs)


def test_the_page_marks_changes_in_the_line_and_escapes_the_text() -> None:
    pairs = [Pair("1", "同样", "同样"), Pair("2", "<雨>下的急", "<雨>下得急")]
    page = "".join(html_diff(pairs, "A & B"))
    assert "&lt;雨&gt;下<del>的</del>急" in page
    assert "&lt;雨&gt;下<ins>得</ins>急" in page
    assert "1 ¶" in page
    assert "http" not in page
    HTMLParser().feed(page)


def test_tables_have_every_change_with_its_decision() -> None:
    changes = list_changes([Pair("1", "雨下的急", "雨下得急", model="m"), Pair("2", "是", "=1+1", model="m")])
    decisions = {changes[0].key: Verdict("replace", "地")}
    rows = list(csv.DictReader(io.StringIO("".join(changes_csv(changes, decisions)))))
    assert [(row["before"], row["after"], row["state"], row["replacement"]) for row in rows] == [
        ("的", "得", "replace", "地"),
        ("是", "'=1+1", "open", ""),
    ]
    records = [json.loads(line) for line in changes_jsonl(changes, decisions)]
    assert [record["after"] for record in records] == ["得", "=1+1"]
    assert records[0]["key"] == changes[0].key


def test_a_table_without_changes_has_its_header() -> None:
    assert "".join(changes_csv([])).startswith("key,block,state")


def test_translations_are_shown_below_and_beside_without_markers() -> None:
    pairs = [Pair("1", "雨⟦1⟧停⟦/1⟧了。", "The rain ⟦1⟧stopped⟦/1⟧."), Pair("2", "OK", "OK")]
    assert "".join(bilingual_text(pairs, Brackets())) == "雨停了。\nThe rain stopped.\n\nOK\n\n"
    assert "<p>雨停了。</p><p>The rain stopped.</p>" in "".join(bilingual_html(pairs, "T", Brackets()))


def test_a_translation_memory_is_valid_xml() -> None:
    pairs = [Pair("1", "雨 < 风\x07", "rain < wind"), Pair("2", "OK", "OK")]
    root = ElementTree.fromstring("".join(tmx(pairs, "zh", "en")))
    assert [seg.text for seg in root.iter("seg")] == ["雨 < 风", "rain < wind"]
    assert [tuv.get("{http://www.w3.org/XML/1998/namespace}lang") for tuv in root.iter("tuv")] == ["zh", "en"]
