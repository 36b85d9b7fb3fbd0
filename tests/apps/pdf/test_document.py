"""Every file is either opened, or refused with a sentence that says what it is and what to do."""

import io
import json
import pickle
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image, ImageDraw

import fanfold as ff
from fanfold.apps.pdf.reading import document
from tests.apps.pdf.making import (
    make_blank,
    make_blank_scan,
    make_broken,
    make_damaged,
    make_encrypted,
    make_pdf,
    make_scan,
)
from tests.apps.pdf.writing import Pdf, Sheet


def refusal(path: Path, limit_pages: int = 5000) -> ff.Permanent:
    with pytest.raises(ff.Permanent) as caught:
        document.examine(path, limit_pages=limit_pages)
    assert path.name in str(caught.value)
    return caught.value


def test_a_document_tells_its_pages_and_a_survey_that_can_be_stored(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "book.pdf", ["# One\nfirst page", "second page", "# Three\nthird page"])
    examined = document.examine(path, "last,1")
    assert (examined.total, examined.pages) == (3, [3, 1])
    assert json.loads(json.dumps(examined.survey)) == examined.survey
    assert [entry[:2] for entry in examined.survey["outline"]] == [["One", 1], ["Three", 3]]


def test_an_encrypted_document_asks_for_its_password(tmp_path: Path) -> None:
    problem = refusal(make_encrypted(tmp_path / "secret.pdf", "sesame"))
    assert problem.code == "encrypted"
    assert "Give its password" in str(problem)


def test_the_name_a_person_knows_is_the_one_that_is_used(tmp_path: Path) -> None:
    path = make_encrypted(tmp_path / "blob", "sesame")
    with pytest.raises(ff.Permanent, match=r"report\.pdf is encrypted"):
        document.examine(path, name="report.pdf")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG picture"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "a JPEG picture"),
        (b"PK\x03\x04" + bytes(50), "a ZIP archive"),
        (b"\n<!DOCTYPE html><html></html>", "a web page"),
        (b"<?xml version='1.0'?><a/>", "an XML file"),
        (b"Dear reader,\nthis is plain text.\n", "a text file"),
        (bytes(range(256)), "another kind of file"),
    ],
)
def test_a_file_that_is_no_pdf_is_told_what_it_looks_like(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "wrong.pdf"
    path.write_bytes(content)
    problem = refusal(path)
    assert problem.code == "not_pdf"
    assert kind in str(problem)


def test_an_empty_file_a_broken_one_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pdf"
    empty.touch()
    assert refusal(empty).code == "empty_file"
    assert refusal(make_broken(tmp_path / "broken.pdf")).code == "broken_pdf"
    assert refusal(tmp_path / "missing.pdf").code == "broken_pdf"


def test_a_damaged_document_that_can_be_repaired_is_opened(tmp_path: Path) -> None:
    assert document.examine(make_damaged(tmp_path / "damaged.pdf", ["one", "two"])).total == 2


def test_a_document_without_pages_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.pdf"
    empty = pypdfium2.PdfDocument.new()
    empty.save(path)
    assert refusal(path).code == "no_pages"


def test_too_many_pages_are_refused_unless_a_range_is_given(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "long.pdf", ["a", "b", "c"])
    problem = refusal(path, limit_pages=2)
    assert problem.code == "too_many_pages"
    assert "1-2" in str(problem)
    assert document.examine(path, "2-3", limit_pages=2).pages == [2, 3]


def test_unlocking_writes_a_copy_that_opens_without_the_password(tmp_path: Path) -> None:
    path = make_encrypted(tmp_path / "secret.pdf", "sesame", ["Behind a password."])
    for password in ("sesame", "owner"):
        document.unlock(path, password, tmp_path / "open.pdf")
        assert document.examine(tmp_path / "open.pdf").total == 1
    with pytest.raises(ff.Permanent, match=r"does not open secret\.pdf") as caught:
        document.unlock(path, "guess", tmp_path / "open.pdf")
    assert caught.value.code == "wrong_password"


def test_unlocking_a_document_without_password_copies_it(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "plain.pdf", ["text"])
    document.unlock(path, "anything", tmp_path / "copy.pdf")
    assert (tmp_path / "copy.pdf").read_bytes() == path.read_bytes()


def test_a_picture_is_a_gray_jpeg_capped_in_pixels(tmp_path: Path) -> None:
    picture = document.picture(make_pdf(tmp_path / "page.pdf", ["text"]), 1, longest=700)
    image = Image.open(io.BytesIO(picture.jpeg))
    assert (image.format, image.mode, image.size) == ("JPEG", "L", (picture.width, picture.height))
    assert max(image.size) == 700
    assert pickle.loads(pickle.dumps(picture)) == picture


def test_a_small_page_is_not_blown_up_beyond_300_dpi(tmp_path: Path) -> None:
    path = tmp_path / "stamp.pdf"
    stamp = pypdfium2.PdfDocument.new()
    stamp.new_page(72, 36)
    stamp.save(path)
    assert document.picture(path, 1).width == 300


def test_a_page_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ff.Permanent, match="Page 9 cannot be rendered"):
        document.picture(make_pdf(tmp_path / "page.pdf", ["text"]), 9)


def test_paper_alone_is_blank(tmp_path: Path) -> None:
    assert document.picture(make_blank(tmp_path / "blank.pdf"), 1).blank
    assert document.picture(make_blank_scan(tmp_path / "scan.pdf"), 1).blank


def test_specks_and_the_shadow_of_the_scanner_are_no_ink(tmp_path: Path) -> None:
    paper = Image.new("L", (1190, 1684), 214)
    draw = ImageDraw.Draw(paper)
    draw.rectangle((0, 0, 14, 1684), fill=30)
    for place in range(60, 1100, 130):
        draw.rectangle((place, place, place + 2, place + 2), fill=60)
    assert document.picture(scanned(tmp_path / "specks.pdf", paper), 1).blank


def test_a_page_number_or_one_thin_line_is_not_blank(tmp_path: Path) -> None:
    number = Sheet()
    number.text(300, 60, "7", size=9)
    line = Sheet()
    line.text(200, 500, "intentionally left blank", size=7)
    path = tmp_path / "little.pdf"
    path.write_bytes(Pdf([number, line]).written())
    assert not document.picture(path, 1).blank
    assert not document.picture(path, 2).blank
    assert not document.picture(make_scan(tmp_path / "scan.pdf", ["one line"]), 1).blank


def scanned(path: Path, paper: Image.Image) -> Path:
    file = io.BytesIO()
    paper.save(file, "JPEG", quality=80)
    path.write_bytes(Pdf([Sheet(picture=file.getvalue())]).written())
    return path
