"""Finished pictures carry a visible mark and say in their metadata that AI made them; nothing else is published."""

import io
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageCms

import fanfold as ff
from fanfold.apps.photo.marking import fonts
from fanfold.apps.photo.marking.provenance import EDITED_TYPE, SOURCE_TYPE, Label, read_label, xmp
from fanfold.apps.photo.marking.watermark import POSITIONS, Mark, marked
from fanfold.apps.photo.marking.writing import FORMATS, encoded, label_of
from fanfold.apps.photo.output.places import opened
from fanfold.apps.photo.output.publishing import published
from tests.image_server import picture_bytes
from tests.s3_server import BUCKET, S3Server

PLAIN = Image.new("RGB", (400, 200), "#335577")


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_keeps_the_labels(kind: str) -> None:
    content = encoded(PLAIN, kind, xmp(Label("t-1-01", "某公司 <&> Ltd")))
    source, fields = label_of(content)
    assert source == SOURCE_TYPE
    assert (fields["Label"], fields["ContentProducer"], fields["ProduceID"]) == ("1", "某公司 <&> Ltd", "t-1-01")
    assert set(fields) == {
        "Label", "ContentProducer", "ProduceID", "ReservedCode1", "ContentPropagator", "PropagateID", "ReservedCode2",
    }  # fmt: skip
    with Image.open(io.BytesIO(content)) as picture:
        picture.load()
        assert picture.size == PLAIN.size


def test_a_picture_made_from_a_photograph_says_so_and_foreign_packets_are_harmless() -> None:
    assert read_label(xmp(Label("x", from_picture=True)))[0] == EDITED_TYPE
    assert read_label(b"<!DOCTYPE x [<!ENTITY a 'b'>]><x:xmpmeta>&a;</x:xmpmeta>") == ("", {})
    assert read_label("no packet") == ("", {})


@pytest.mark.parametrize("position", POSITIONS)
def test_a_mark_is_relative_to_the_short_side_and_stays_inside(position: str) -> None:
    changed = ImageChops.difference(PLAIN, marked(PLAIN, Mark("AI", percent=20, position=position))).getbbox()
    assert changed is not None
    left, top, right, bottom = changed
    assert 40 <= bottom - top <= 50, "the letters are at least 20 % of 200 pixels high, and have an outline"
    centre = ((left + right) / 2 - 200, (top + bottom) / 2 - 100)
    if position == "center":
        assert abs(centre[0]) < 10
        assert abs(centre[1]) < 15
    else:
        assert (centre[0] > 0) == position.endswith("right")
        assert (centre[1] > 0) == position.startswith("bottom")


def test_a_colour_profile_stays_with_the_picture() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for kind in FORMATS:
        with Image.open(io.BytesIO(encoded(PLAIN, kind, xmp(Label("x")), profile))) as picture:
            assert picture.info["icc_profile"] == profile


def test_a_mark_may_be_a_picture_and_none_changes_nothing(tmp_path: Path) -> None:
    Image.new("RGBA", (50, 50), (255, 0, 0, 255)).save(tmp_path / "logo.png")
    with_logo = marked(PLAIN, Mark(image=tmp_path / "logo.png", percent=10, opacity=50))
    assert ImageChops.difference(PLAIN, with_logo).getbbox() == (376, 176, 396, 196)
    assert marked(PLAIN, Mark("")) is PLAIN
    wide = marked(PLAIN, Mark("a very long text for such a small picture", percent=50))
    assert wide.size == PLAIN.size


def test_a_text_without_a_font_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "FOLDERS", ())
    fonts._path_for.cache_clear()
    with pytest.raises(ff.Permanent) as missing:
        fonts.font_for("人工智能生成", 20)
    fonts._path_for.cache_clear()
    assert "fonts-noto-cjk" in missing.value.message
    assert "FANFOLD_PHOTO_FONT" in missing.value.message


def test_a_font_without_the_characters_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    latin = next(Path("/usr/share/fonts").rglob("DejaVuSans.ttf"), None)
    if latin is None:
        pytest.skip("no DejaVu")
    monkeypatch.setenv(fonts.VARIABLE, str(latin))
    assert fonts.font_for("AI", 20).path == str(latin)
    with pytest.raises(ff.Permanent):
        fonts.font_for("人工智能生成", 20)


def test_a_picture_is_private_until_it_is_checked_and_has_a_stable_name(tmp_path: Path) -> None:
    place = opened(str(tmp_path / "out"))
    good = encoded(PLAIN, "jpeg", xmp(Label("t-1-01")))
    first = published(place, "t-1", "01", ".jpg", good, 1_000_000)
    assert published(place, "t-1", "01", ".jpg", good, 1_000_000) == first, "a repeated step writes the same again"
    assert place.get(first.key) == good
    assert [path.name for path in (tmp_path / "out").rglob("*.jpg")] == [Path(first.key).name]
    with pytest.raises(ff.Permanent) as refused:
        published(place, "t-1", "02", ".png", picture_bytes(1), 1_000_000)
    assert refused.value.code == "no_label"
    assert not list((tmp_path / "out/public").rglob("02-*")), "what does not pass the checks is never public"
    assert (tmp_path / "out/private").stat().st_mode & 0o077 == 0


def test_a_bucket_is_a_place_too(s3: S3Server) -> None:
    place = opened(f"s3://{BUCKET}/pictures?endpoint={s3.endpoint}&region=us-east-1")
    good = encoded(PLAIN, "webp", xmp(Label("t-2-01")))
    found = published(place, "t-2", "01", ".webp", good, 1_000_000)
    assert place.get(found.key) == good
    assert found.place.startswith(f"s3://{BUCKET}/pictures/public/t-2/01-")
    assert place.get(found.key.replace("public/", "private/")) is None
