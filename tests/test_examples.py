"""The Python examples of the guide are code that runs."""

import re
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.values import codecs

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "writing-pipelines.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


class Names(dict[str, Any]):
    """What an example finds: a name that it does not define itself is a pipeline."""

    def __missing__(self, name: str) -> Any:
        if name in __builtins__:  # type: ignore[operator]
            raise KeyError(name)
        self[name] = ff.Pipeline(name)
        return self[name]


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an example registers is gone afterwards."""
    monkeypatch.setattr(codecs, "_by_type", dict(codecs._by_type))
    monkeypatch.setattr(codecs, "_by_name", dict(codecs._by_name))


def shown(word: str) -> dict[str, Any]:
    """What the example with this word in it defines."""
    [code] = [block for block in BLOCKS if word in block]
    return executed(code)


def executed(code: str) -> Names:
    """The names that an example defines, which are its globals too: the bodies of its classes see them."""
    names = Names(ff=ff, __name__="example")
    exec(compile(code, str(GUIDE), "exec"), names, names)
    return names


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_can_be_executed(code: str) -> None:
    assert "ff" in executed(code)


def test_the_function_of_the_guide_works_as_a_plain_function_and_as_a_task(tmp_path: Path) -> None:
    transcode = shown("def transcode")["transcode"]
    made = {"source": "film.mov", "quality": 5}
    assert transcode("film.mov") == made
    database = f"sqlite:///{tmp_path / 'fanfold.db'}"
    assert ff.run(transcode, "film.mov", database=database, data=str(tmp_path), progress=False) == made


def test_the_typed_pipeline_of_the_guide_gives_types_back(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'fanfold.db'}"
    assert ff.run(shown("class Chapter")["book"], database=database, data=str(tmp_path), progress=False) == "ONE"


def test_the_pipeline_of_the_guide_makes_a_book(tmp_path: Path) -> None:
    book = shown("def bind(task, results):")["book"]
    novel = tmp_path / "novel.txt"
    novel.write_text("one\ftwo")
    database = f"sqlite:///{tmp_path / 'fanfold.db'}"
    made = ff.run(book, novel, database=database, data=str(tmp_path), progress=False)
    assert made.read_text() == "ONE\n\nTWO"
