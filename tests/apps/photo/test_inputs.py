"""Input pictures come from files, URLs, data URIs and object storage. Each is checked, and none is silently left out."""

import base64
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import fanfold as ff
from fanfold.apps.photo import configuration, photo
from fanfold.apps.photo.inputs.checking import checked
from fanfold.apps.photo.inputs.sources import read
from fanfold.testing import Engine
from tests.image_server import ImageServer, picture_bytes

DATA = "data:image/png;base64," + base64.b64encode(picture_bytes(7)).decode()


def bomb() -> bytes:
    """A PNG of a few bytes that claims 30 000 × 30 000 pixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"\0")
    parts = (struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in (head, data))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def upright_after_rotation() -> bytes:
    sink = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x8825] = {1: "N", 2: (48.0, 51.0, 29.0)}
    Image.new("RGB", (40, 20), "red").save(sink, "JPEG", exif=exif, comment=b"taken by Ann")
    return sink.getvalue()


def test_metadata_goes_and_the_picture_is_turned_upright(tmp_path: Path) -> None:
    found = checked("a.jpg", upright_after_rotation(), tmp_path / "in", 1_000_000)
    assert (found.width, found.height, found.path.suffix) == (20, 40, ".jpg")
    with Image.open(found.path) as picture:
        assert not picture.getexif()
        assert "comment" not in picture.info


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<html>not a picture</html>", "bad_picture"),
        (picture_bytes(1)[:60], "bad_picture"),
        (bomb(), "too_many_pixels"),
        (picture_bytes(1, "TIFF"), "bad_format"),
        (b"", "bad_picture"),
    ],
    ids=["html", "cut off", "bomb", "tiff", "empty"],
)
def test_what_is_no_picture_fails_with_a_reason(tmp_path: Path, content: bytes, code: str) -> None:
    with pytest.raises(ff.Permanent) as refused:
        checked("in.png", content, tmp_path / "in", 1_000_000)
    assert refused.value.code == code
    assert "in.png" in refused.value.message


def as_bytes(picture: Image.Image, kind: str, **rules: Any) -> bytes:
    sink = io.BytesIO()
    picture.save(sink, kind, **rules)
    return sink.getvalue()


def test_pictures_for_print_and_with_palettes_keep_their_colours(tmp_path: Path) -> None:
    printed = as_bytes(Image.new("CMYK", (40, 30), (0, 255, 255, 0)), "JPEG")
    with Image.open(checked("a.jpg", printed, tmp_path / "print", 10_000).path) as found:
        assert found.mode == "RGB"
        red, green, _ = found.resize((1, 1)).tobytes()
        assert red > 240 > 20 > green
    drawn = Image.new("RGB", (40, 30), "red").convert("P")
    clear = drawn.getpixel((0, 0))
    with Image.open(checked("a.png", as_bytes(drawn, "PNG", transparency=clear), tmp_path / "p", 10_000).path) as found:
        assert (found.mode, set(found.getchannel("A").tobytes())) == ("RGBA", {0})


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_of_a_moving_picture_the_first_frame_is_used(tmp_path: Path, kind: str) -> None:
    frames = [Image.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    moving = as_bytes(frames[0], kind, save_all=True, append_images=frames[1:])
    with Image.open(checked("a", moving, tmp_path / "m", 10_000).path) as found:
        assert getattr(found, "n_frames", 1) == 1
        assert found.convert("RGB").resize((1, 1)).tobytes()[0] > 240


def test_broken_metadata_does_not_make_a_picture_unusable(tmp_path: Path) -> None:
    rotated = upright_after_rotation()
    broken = rotated.replace(b"MM\x00*", b"MM\xb0*").replace(b"II*\x00", b"II\xb0\x00")
    assert broken != rotated
    found = checked("a.jpg", broken, tmp_path / "in", 10_000)
    with Image.open(found.path) as picture:
        assert not picture.getexif()


def test_a_url_a_data_uri_and_a_storage_key_are_inputs(
    engine: Engine, images: ImageServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PRIVATE_ADDRESSES", "127.0.0.1")
    text = (folder / "fanfold.toml").read_text()
    (folder / "fanfold.toml").write_text(text.replace("[photo]\n", f'[photo]\noutput = "{folder}/store"\n', 1))
    (folder / "store").mkdir()
    (folder / "store/model.png").write_bytes(picture_bytes(9))
    images.accept("x", 1, "good")
    url = f"{images.url}/files/job-1"
    task = engine.submit(photo, {"image": DATA}, {"image": url}, options={"prompt": "a hat", "image": ["model.png"]})
    engine.run()
    found = engine.client.output(task.id, "1", "downloading")["downloaded_images"]
    assert [one["name"] for one in found] == ["data", "job-1.png", "model.png"]
    assert engine.task(task).state == "completed"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("http://127.0.0.1:1/in.png", "not public"),
        ("http://169.254.169.254/latest/meta-data", "not public"),
        ("data:text/html;base64,AAAA", "data URI"),
        ("../../etc/passwd", "object storage"),
        (17, "not an input picture"),
    ],
)
def test_a_failed_download_is_a_failure_with_a_reason_and_never_an_empty_list(
    engine: Engine, images: ImageServer, folder: Path, value: object, says: str
) -> None:
    task = engine.submit(photo, {"image": value}, options={"prompt": "a hat"})
    engine.run()
    found = engine.task(task)
    assert (found.state, len(images.jobs)) == ("failed", 0)
    assert says in str(found.error_message)


def test_a_key_cannot_leave_its_storage(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "secret.png").write_bytes(picture_bytes(1))
    settings = configuration.PhotoSettings(output=str(tmp_path / "store"))
    with pytest.raises(ff.Permanent):
        read("../secret.png", tmp_path, settings)
    (tmp_path / "store" / "private").mkdir()
    (tmp_path / "store" / "private" / "a.png").write_bytes(picture_bytes(1))
    with pytest.raises(ff.Permanent, match="not published yet"):
        read("private/a.png", tmp_path, settings)
    with pytest.raises(ff.Permanent) as large:
        read(DATA, tmp_path, configuration.PhotoSettings(input_bytes=10))
    assert "larger than" in large.value.message
