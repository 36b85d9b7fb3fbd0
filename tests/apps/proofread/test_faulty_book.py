"""A whole book through a model with every fault: each is caught, counted, and repaired or visible; nothing is lost."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest

from fanfold.apps.proofread import translate
from fanfold.apps.proofread.checks import first_difference
from fanfold.testing import Engine, cut_off
from tests.apps.proofread.answering import MARK, in_english, paragraphs, told
from tests.apps.proofread.test_faulty_model import FAULTS, novel
from tests.apps.proofread.test_pipeline import report_of, submitted, text_of

ENGLISH = (
    "the", "rain", "fell", "on", "city", "lamps", "while", "a", "tired", "man", "walked", "home", "and", "nobody", "smiled",
)  # fmt: skip


def english(seed: int, count: int = 150) -> str:
    chance = random.Random(seed)
    lines = []
    for at in range(count):
        words = " ".join(chance.choices(ENGLISH, k=chance.randint(8, 40)))
        lines.append(f"Chapter {at // 30 + 1}" if at % 30 == 0 else f"{words.capitalize()} , {at} times..  ")
    return "\n\n".join(lines)


def with_fault(fault: str, texts: dict[int, str]) -> Any:
    """The paragraphs as they were sent, but for one fault."""
    many = list(texts.values())
    if fault == "merge" and len(many) > 1:
        texts = dict(enumerate([many[0] + many[1], *many[2:]], start=1))
    elif fault == "drop":
        texts = texts | {len(many): many[-1][: len(many[-1]) // 2]}
    elif fault == "english":
        texts = texts | {1: "It rained hard that night." if "雨" in "".join(many) else "那天夜里雨下得很大。"}
    elif fault == "loop":
        texts = texts | {len(many): many[-1] + "他走了。" * 200}
    elif fault == "shift":
        texts = {number + 1: text for number, text in texts.items()}
    body = told(texts)
    around = {
        "chat": f"Here is the corrected text:\n\n{body}",
        "fence": f"```json\n{body}\n```",
        "think": f"<think>hm [1]</think>{body}",
    }
    return cut_off(body[: len(body) * 2 // 3]) if fault == "cut" else around.get(fault, body)


class Faulty:
    """A model whose answers have all faults in turn; the model `sound` has none."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.faults = itertools.chain.from_iterable(chance.sample(FAULTS, len(FAULTS)) for _ in itertools.count())
        self.given: list[str] = []

    def __call__(self, request: Any) -> Any:
        """The answer to one question."""
        fault = "none" if request.model == "sound" else next(self.faults)
        self.given.append(fault)
        return with_fault(fault, paragraphs(request.prompt))


@pytest.mark.parametrize("make", [novel, english], ids=["chinese", "english"])
@pytest.mark.parametrize("fallback", [["openai:sound"], []], ids=["with a sound model", "alone"])
def test_in_format_mode_letters_and_digits_are_those_of_the_source(
    engine: Engine, tmp_path: Path, make: Any, fallback: list[str]
) -> None:
    path = tmp_path / "novel.txt"
    path.write_text(make(7), encoding="gb18030")
    model = Faulty(7)
    engine.answer(model)
    task = submitted(engine, path, mode="format", chunk_size=400, fallback=fallback)
    written = engine.result(task)["file"].read_bytes().decode("gb18030")
    assert first_difference(make(7), written) is None
    report = report_of(engine, task)
    assert set(model.given) == {*FAULTS}
    assert {"letters_changed", "asked_again"} <= report["defects"].keys()
    assert {"fence", "aligned", "remarks"} <= report["cleanings"].keys()
    assert report["steps"]["named"] > 0
    assert (report["gaps"] == []) == bool(fallback)
    if not fallback:
        assert all(gap["why"] for gap in report["gaps"])
        assert len({gap["chunk"] for gap in report["gaps"]}) == task.degraded


def test_a_translation_by_a_faulty_model_has_no_paragraph_in_the_wrong_place(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    source = "\n\n".join(f"第{at}个夜里，雨下得很急，他在路口等了很久。" for at in range(1, 81))
    path.write_text(source)
    chance = random.Random(3)

    def answer(request: Any) -> Any:
        if MARK not in request.prompt:
            return json.dumps({"terms": [], "summary": ""})
        texts = {at: in_english(text) for at, text in paragraphs(request.prompt).items()}
        fault = chance.choice(("none", "merge", "shift", "drop", "cut", "english", "fence"))
        return with_fault(fault if request.model != "sound" else "none", texts)

    engine.answer(answer)
    task = submitted(engine, path, translate, to="en", fallback=["openai:sound"], chunk_size=300)
    lines = text_of(engine, task).split("\n\n")
    assert [line.split("It rained")[1] for line in lines] == [str(at) for at in range(1, 81)]
