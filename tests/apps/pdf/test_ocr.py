"""The image of a page is read in any orientation."""

import difflib
import io
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import fanfold as ff
from fanfold.apps.pdf.pages import ocr
from fanfold.apps.pdf.reading import document
from tests.apps.pdf.making import make_scan
from tests.apps.pdf.writing import Pdf, Sheet

TEXT = "The quick brown fox jumps over the lazy dog and\nruns away before the slow dog wakes up again."


def picture_of(path: Path, text: str = TEXT) -> bytes:
    return document.picture(make_scan(path, [text]), 1, longest=900).jpeg


def turned(jpeg: bytes, angle: int) -> bytes:
    file = io.BytesIO()
    Image.open(io.BytesIO(jpeg)).rotate(angle, expand=True).save(file, "JPEG")
    return file.getvalue()


def likeness(text: str, expected: str) -> float:
    return difflib.SequenceMatcher(None, " ".join(text.split()), " ".join(expected.split()), autojunk=False).ratio()


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_scan_is_read_whichever_way_it_is_turned(tmp_path: Path, angle: int) -> None:
    assert likeness(ocr.recognise(turned(picture_of(tmp_path / "scan.pdf"), angle)), TEXT) > 0.95


def test_columns_of_a_scan_are_read_one_after_the_other(tmp_path: Path) -> None:
    sheet = Sheet()
    top = sheet.y
    for x, word in ((72, "left"), (330, "right")):
        sheet.y = top
        sheet.lines([f"the {word} column goes on and on {number}" for number in ("first", "then", "next", "last")], x)
    path = tmp_path / "columns.pdf"
    path.write_bytes(Pdf([sheet]).written())
    words = ocr.recognise(document.picture(path, 1, longest=1200).jpeg).split()
    assert words.count("left") == words.count("right") == 4
    assert max(i for i, word in enumerate(words) if word == "left") < words.index("right")


def test_a_picture_without_text_is_an_empty_page() -> None:
    file = io.BytesIO()
    Image.new("L", (600, 800), 230).save(file, "JPEG")
    assert ocr.recognise(file.getvalue()) == ""


def test_a_picture_that_is_none_is_a_sentence() -> None:
    with pytest.raises(ff.Permanent, match="cannot be opened") as caught:
        ocr.recognise(b"no picture")
    assert caught.value.code == "broken_picture"


def test_reading_a_picture_writes_nothing_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "page.jpg").write_bytes(picture_of(tmp_path / "scan.pdf"))
    script = "import sys, pathlib; from fanfold.apps.pdf.pages import ocr; ocr.recognise(pathlib.Path(sys.argv[1]).read_bytes())"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "page.jpg")], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_looking_whether_ocr_is_installed_does_not_load_it() -> None:
    script = "import sys; from fanfold.apps.pdf.pages import ocr; ocr.available(); print('onnxruntime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
