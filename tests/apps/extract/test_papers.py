"""Evidence on generated papers: every sentence is found on its page and in its box, and nothing that is not there."""

import random

import pytest

from fanfold.apps.extract.documents.document import Document
from fanfold.apps.extract.documents.read_document import read_document
from fanfold.apps.extract.evidence.located import FOUND
from fanfold.apps.extract.evidence.locating import locate
from fanfold.apps.extract.evidence.numbers import digits_in
from tests.apps.extract.papers import NUMBERS, Paper, is_right_box, make_papers

PAPERS = 16
"""Four of each kind."""
Read = list[tuple[Paper, Document]]


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Papers of all kinds, read."""
    made = make_papers(tmp_path_factory.mktemp("papers"), PAPERS)
    return [(paper, read_document(paper.path)) for paper in made]


def test_the_papers_are_of_all_kinds(papers: Read) -> None:
    assert len(papers) == PAPERS
    kinds = {(paper.chinese, paper.columns) for paper, _ in papers}
    assert kinds == {(False, 1), (False, 2), (True, 1), (True, 2)}
    assert all(document.pages is not None and document.pages >= 2 for _, document in papers)
    assert all(any(value is None for value in paper.values.values()) for paper, _ in papers)


def test_every_sentence_is_found_on_its_page_and_in_its_box(papers: Read) -> None:
    total = right_page = right_boxes = 0
    for paper, document in papers:
        for name, sentence in paper.sentences.items():
            found = locate(document, sentence)
            assert found is not None, (paper.name, name)
            assert found.score >= FOUND, (paper.name, name)
            spans = paper.places[name]
            total += 1
            right_page += found.page == spans[0].page
            right_boxes += len(found.boxes) == len(spans) and all(map(is_right_box, found.boxes, spans))
    assert total > 140
    assert right_page == total
    assert right_boxes >= 0.98 * total, f"{right_boxes} of {total}"


def test_the_digits_of_every_number_are_in_its_sentence_and_no_other_number_is(papers: Read) -> None:
    for paper, document in papers:
        for name in NUMBERS:
            if paper.values[name] is None:
                continue
            found = locate(document, paper.sentences[name])
            assert found is not None
            assert digits_in(paper.values[name], found.text)
            assert not digits_in(paper.values[name] * 10 + 1, found.text)


def test_sentences_with_damage_are_found_on_their_page(papers: Read) -> None:
    chosen = random.Random(5)
    for paper, document in papers:
        for name in ("sample_size", "country", "design"):
            if name not in paper.sentences:
                continue
            damaged = "".join(one for one in paper.sentences[name] if one.isdigit() or chosen.random() > 0.05)
            found = locate(document, damaged)
            assert found is not None, damaged
            assert found.page == paper.places[name][0].page


def test_the_sentences_of_another_paper_are_not_found_as_they_are(papers: Read) -> None:
    """Papers have the same sentences with other numbers: those must never count as found."""
    flagged = total = 0
    for (paper, document), (other, _) in zip(papers, [*papers[4:], *papers[:4]], strict=True):
        for name in NUMBERS:
            value = other.values[name]
            if value is None or value == paper.values[name] or name not in other.sentences:
                continue
            found = locate(document, other.sentences[name])
            total += 1
            flagged += found is None or found.score < FOUND or not digits_in(value, found.text)
    assert total > 60
    assert flagged == total
