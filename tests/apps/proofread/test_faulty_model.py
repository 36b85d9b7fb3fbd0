"""The parts together: a model with every fault, and a book whose letters and digits are those of its source."""

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fanfold.apps.proofread.asking.ladder import Step, first_step, next_steps
from fanfold.apps.proofread.asking.protocol import Outgoing, number_parts, read_answer
from fanfold.apps.proofread.checks import (
    Contract,
    Defect,
    Mode,
    check_finish,
    check_parts,
    clean_answer,
    first_difference,
    refused_parts,
)
from fanfold.apps.proofread.chunks import Chunk, prove_complete, reassemble, split_chunks
from fanfold.apps.proofread.formats import read_book, write_book
from fanfold.apps.proofread.rules import choose_rules, correct_blocks

FAULTS = ("none", "merge", "drop", "english", "loop", "chat", "fence", "think", "cut", "shift")


def novel(seed: int, count: int = 150) -> str:
    chance = random.Random(seed)
    words = "雨夜风走来说道我他的了是在有人这那城市灯光门铃站台影子水痕老板车站"
    lines = []
    for at in range(count):
        pieces = ["".join(chance.choices(words, k=chance.randint(4, 16))) + chance.choice("，,。.") for _ in range(4)]
        lines.append(f"第{at // 30 + 1}章 雨" if at % 30 == 0 else " ".join(pieces))
    return "\n\n".join(lines)


def answer_with(fault: str, sent: Outgoing) -> tuple[str, str]:
    """The paragraphs as they were sent, but for one fault."""
    items = [{"id": number, "text": text} for number, text in sent.texts.items()]
    texts = list(sent.texts.values())
    if fault == "merge" and len(texts) > 1:
        items = [{"id": at, "text": text} for at, text in enumerate([texts[0] + texts[1], *texts[2:]], start=1)]
    elif fault == "drop":
        items[-1]["text"] = texts[-1][: len(texts[-1]) // 2]
    elif fault == "english":
        items[0]["text"] = "It rained hard that night."
    elif fault == "loop":
        items[-1]["text"] = texts[-1] + "他走了。" * 200
    elif fault == "shift":
        items = [{"id": at + 1, "text": text} for at, text in sent.texts.items()]
    body = json.dumps({"paragraphs": items}, ensure_ascii=False)
    around = {
        "chat": "Here is the corrected text:\n\n{}",
        "fence": "```json\n{}\n```",
        "think": "<think>hm [1]</think>{}",
    }
    if fault == "cut":
        return body[: len(body) * 2 // 3], "length"
    return around.get(fault, "{}").replace("{}", body), "stop"


def asked(
    chunk: Chunk, faults: Iterator[str], bad_models: int, counts: Counter[str]
) -> tuple[dict[str, str], list[Step]]:
    """What comes of a chunk: good texts by part, and gaps."""
    parts = {part.id: part for part in chunk.parts}
    texts: dict[str, str] = {}
    gaps: list[Step] = []
    todo = [first_step(parts)]
    while todo:
        step = todo.pop()
        if step.is_gap:
            gaps.append(step)
            continue
        sent = number_parts(parts[one] for one in step.parts)
        fault = next(faults) if step.model < bad_models else "none"
        good, again, defects = judged(*answer_with(fault, sent), sent, counts)
        texts |= good
        todo += next_steps(step, again, defects, models=2)
    return texts, gaps


def judged(
    raw: str, finish: str, sent: Outgoing, counts: Counter[str]
) -> tuple[Mapping[str, str], list[str], list[Defect]]:
    cleaned = clean_answer(raw, lambda text: bool(read_answer(text, sent).texts))
    cut = check_finish(finish)
    received = read_answer(cleaned.text, sent, cut_off=cut is not None)
    found = check_parts(Contract(Mode.FORMAT), {part.id: part.text for part in sent.parts}, received.texts)
    bad = set(received.again) | refused_parts(found, received.texts)
    defects = [*received.defects, *found, *([cut] if cut else [])]
    counts.update([*cleaned.cleanings, *(defect.name for defect in defects)])
    return {part: text for part, text in received.texts.items() if part not in bad}, sorted(bad), defects


@pytest.mark.parametrize("bad_models", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_every_fault_is_repaired_or_a_visible_gap(seed: int, bad_models: int, tmp_path: Path) -> None:
    source = novel(seed)
    (tmp_path / "novel.txt").write_text(source, encoding="gb18030")
    book = read_book(tmp_path / "novel.txt")
    ruled = correct_blocks(book.blocks, choose_rules(), newline=book.newline)
    blocks = [replace(block, text=ruled.changed.get(block.id, block.text)) for block in book.blocks]
    chunks = split_chunks(blocks, 300)
    prove_complete(blocks, chunks)
    # Every fault comes in turn, in an order that depends on the seed.
    faults = itertools.cycle(random.Random(seed).sample(FAULTS, len(FAULTS)))
    counts = Counter[str]()
    texts: dict[str, str] = {}
    gaps: list[Step] = []
    for chunk in chunks:
        good, open_parts = asked(chunk, faults, bad_models, counts)
        texts |= good
        gaps += open_parts
    parts = [part for chunk in chunks for part in chunk.parts]
    in_gaps = [part for step in gaps for part in step.parts]
    assert sorted([*texts, *in_gaps]) == sorted(part.id for part in parts)
    assert all(step.defects for step in gaps)
    if bad_models == 1:
        assert gaps == []
    assert {"fence", "greeting", "thoughts", "letters_changed", "ids_missing", "cut_off"} <= counts.keys()
    out = write_book(book, {**ruled.changed, **reassemble(parts, texts)}, tmp_path / "out.txt")
    assert first_difference(source, out.read_text(encoding="gb18030")) is None
