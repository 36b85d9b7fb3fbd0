"""Which files become documents, and what is refused with a reason."""

import io
import stat
import zipfile
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.extract.documents import archives
from fanfold.apps.extract.documents.finding import sources
from fanfold.apps.extract.documents.sources import Sources, documents_of


def tree(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def archive(path: Path, *entries: tuple[str | zipfile.ZipInfo, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries:
            file.writestr(name, content)
    return path


def names(found: Sources) -> list[str]:
    return [source.name for source in found.found]


def reasons(found: Sources) -> str:
    return "\n".join(refused.reason for refused in found.refused)


def test_a_folder_gives_its_documents_recursively_and_names_what_it_ignores(tmp_path: Path) -> None:
    tree(tmp_path / "papers", "b.md", "a.txt", "sub/c.html", ".hidden.txt", ".git/x.txt", "~$a.docx", "data.csv")
    found = sources([tmp_path / "papers"], folder=tmp_path / "unpacked")
    assert names(found) == ["a.txt", "b.md", "c.html"]
    assert [Path(name).name for name in found.ignored] == ["data.csv"]
    assert found.refused == []


def test_patterns_choose_within_folders_and_as_paths(tmp_path: Path) -> None:
    tree(tmp_path / "papers", "b.md", "a.txt", "sub/c.txt", "sub/notes.log")
    assert names(sources([tmp_path / "papers"], patterns=["*.txt"], folder=tmp_path / "u")) == ["a.txt", "c.txt"]
    assert names(sources([tmp_path / "papers"], patterns=["sub/*"], folder=tmp_path / "u")) == ["c.txt", "notes.log"]
    assert names(sources([f"{tmp_path}/papers/**/*.txt"], folder=tmp_path / "u")) == ["a.txt", "c.txt"]


def test_a_named_file_is_always_taken_and_a_missing_one_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, "odd.xyz")
    found = sources([tmp_path / "odd.xyz", tmp_path / "missing.pdf"], folder=tmp_path / "u")
    assert names(found) == ["odd.xyz"]
    assert "missing.pdf does not exist" in reasons(found)


def test_the_documents_of_an_archive_are_unpacked_by_their_hash(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a.zip",
        ("papers/one.txt", "text"),
        ("papers/two.txt", "text"),
        ("three.txt", "other"),
        ("__MACOSX/._one.txt", "x"),
        ("readme.doc", "x"),
    )
    found = sources([path], folder=tmp_path / "unpacked")
    assert names(found) == ["one.txt", "two.txt", "three.txt"]
    assert found.found[0].origin == "a.zip/papers/one.txt"
    assert found.ignored == ["readme.doc"]
    assert all(source.path.parent == tmp_path / "unpacked" for source in found.found)
    first, second = documents_of(found.found)
    assert [row["name"] for row in first["rows"]] == ["one.txt", "two.txt"]
    assert first["file"].read_text() == "text"
    assert second["rows"][0]["source"] == "a.zip/three.txt"


def test_names_of_chinese_windows_are_read(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("XXXX.txt", "text")
    path = tmp_path / "a.zip"
    path.write_bytes(content.getvalue().replace(b"XXXX.txt", "论文".encode("gbk") + b".txt"))
    assert names(sources([path], folder=tmp_path / "u")) == ["论文.txt"]


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil.txt", "a/../../evil.txt", "C:/evil.txt", "..\\evil.txt"])
def test_paths_that_lead_out_of_an_archive_are_refused(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "a.zip", (name, "evil"), ("good.txt", "good"))
    found = sources([path], folder=tmp_path / "deep" / "unpacked")
    assert names(found) == ["good.txt"]
    assert "leads out of the archive" in reasons(found)
    assert not list(tmp_path.rglob("*evil*"))


def test_links_and_archives_within_an_archive_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = archive(tmp_path / "a.zip", (link, "/etc/passwd"), ("inner.zip", "PK"))
    found = sources([path], folder=tmp_path / "u")
    assert found.found == []
    assert "it is a link" in reasons(found)
    assert "archive within an archive" in reasons(found)


def test_a_bomb_is_refused_by_its_ratio_and_by_what_it_really_unpacks_to(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("bomb.txt", b"0" * 20_000_000), ("good.txt", "good"))
    found = sources([path], folder=tmp_path / "u")
    assert names(found) == ["good.txt"]
    assert "times its size" in reasons(found)
    # The same archive, claiming that the file is small.
    size = (20_000_000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (1000).to_bytes(4, "little")))
    liar = sources([path], folder=tmp_path / "v")
    assert names(liar) == ["good.txt"]
    assert len(liar.refused) == 1
    assert sum(file.stat().st_size for file in (tmp_path / "v").iterdir()) < 5_000_000


def test_an_archive_has_a_limit_for_all_files_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.zip", *((f"{number}.txt", str(number) * 3000) for number in range(9)))
    monkeypatch.setattr(archives, "MOST_BYTES", 10_000)
    found = sources([path], folder=tmp_path / "u")
    assert len(found.found) == 3
    assert "unpacks to more than" in reasons(found)
    monkeypatch.setattr(archives, "MOST_FILES", 8)
    assert "contains 9 files" in reasons(sources([path], folder=tmp_path / "v"))


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("one.txt", "text " * 1000), ("two.txt", "other " * 1000))
    content = bytearray(path.read_bytes())
    content[40:60] = bytes(20)
    path.write_bytes(bytes(content))
    found = sources([path], folder=tmp_path / "u")
    assert names(found) == ["two.txt"]
    assert "damaged in the archive" in reasons(found)
    path.write_bytes(bytes(content)[:100])
    assert "cannot be opened as a ZIP" in reasons(sources([path], folder=tmp_path / "v"))


def test_the_other_columns_of_a_manifest_are_carried_through(tmp_path: Path) -> None:
    tree(tmp_path, "a.txt", "sub/b.txt")
    manifest = tmp_path / "list.csv"
    manifest.write_text("source,name,year\na.txt,First,2019\nsub/b.txt,,2020\ngone.txt,Third,2021\n,,2022\n")
    found = sources(manifest=manifest, folder=tmp_path / "u")
    assert [(source.name, source.columns) for source in found.found] == [
        ("First", {"year": "2019"}),
        ("b.txt", {"year": "2020"}),
    ]
    assert [(refused.name, refused.columns) for refused in found.refused] == [
        ("Third", {"year": "2021"}),
        ("", {"year": "2022"}),
    ]
    assert "gone.txt does not exist" in reasons(found)


def test_a_manifest_in_jsonl_may_describe_the_files_of_an_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("papers/one.txt", "1"), ("two.txt", "2"))
    manifest = tmp_path / "list.jsonl"
    manifest.write_text('{"file": "papers/one.txt", "year": 2019, "tags": ["x"]}\n\n')
    found = sources([path], manifest=manifest, folder=tmp_path / "u")
    assert [(source.name, source.columns) for source in found.found] == [
        ("one.txt", {"year": "2019", "tags": '["x"]'}),
        ("two.txt", {}),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("source,year\n", "has no rows"),
        ("title,year\nx,1\n", "no column `source`.*title"),
        ('{"source": "a"}\n{broken\n', "Line 2"),
        ('{"source": "a"}\n[1]\n', "Line 2"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why(tmp_path: Path, content: str, said: str) -> None:
    manifest = tmp_path / "list.csv"
    manifest.write_text(content)
    with pytest.raises(ff.Permanent, match=said):
        sources(manifest=manifest, folder=tmp_path / "u")


def test_a_manifest_in_an_archive_describes_its_documents(tmp_path: Path) -> None:
    table = "source,country\none.txt,Sweden\n/etc/passwd,Norway\n"
    for name, other in (("manifest.csv", ("data.csv", table)), ("list.csv", ("deep/data.csv", "x,y\n1,2\n"))):
        path = archive(tmp_path / "a.zip", (name, table), other, ("one.txt", "one"), ("two.txt", "two"))
        found = sources([path], folder=tmp_path / "unpacked")
        assert [(one.name, one.columns) for one in found.found] == [("one.txt", {"country": "Sweden"}), ("two.txt", {})]
        assert [one.name for one in found.refused] == ["/etc/passwd"]


def test_a_table_in_an_archive_that_names_no_files_is_no_manifest(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", ("data.csv", "x,y\n1,2\n"), ("one.txt", "one"))
    found = sources([path], folder=tmp_path / "unpacked")
    assert ([one.name for one in found.found], found.refused) == (["one.txt"], [])
    path = archive(tmp_path / "b.zip", ("manifest.csv", "x,y\n1,2\n"), ("one.txt", "one"))
    with pytest.raises(ff.Permanent, match="has no column `source`"):
        sources([path], folder=tmp_path / "unpacked")
