"""The libraries that Fanfold is compared with; each runs in its own process and measures its own time."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

Convert = Callable[[Path, "list[int] | None"], str]


def liteparse() -> Convert:
    """Raw liteparse, on which Fanfold's own local engine stands."""
    from liteparse import LiteParse

    parser = LiteParse(ocr_enabled=False, output_format="markdown", quiet=True)
    return lambda path, pages: parser.parse(str(path)).text


def markitdown() -> Convert:
    """markitdown with its PDF extra."""
    from markitdown import MarkItDown

    converter = MarkItDown()
    return lambda path, pages: converter.convert(str(path)).text_content


def pymupdf4llm() -> Convert:
    """pymupdf4llm as it comes, which finds the layout with a neural network."""
    import pymupdf4llm as library

    return lambda path, pages: library.to_markdown(str(path), pages=pages, show_progress=False)


def pymupdf4llm_rules() -> Convert:
    """pymupdf4llm without the network."""
    import pymupdf4llm as library

    library.use_layout(False)
    return lambda path, pages: library.to_markdown(str(path), pages=pages, show_progress=False)


def fanfold_text() -> Convert:
    """Fanfold's own reading of text layers, as its processes do it, but without any of them: no store, no items, no OCR."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from fanfold.apps.pdf.pages import textlayer
    from fanfold.apps.pdf.pages.windows import PAGES
    from fanfold.apps.pdf.reading import document

    def convert(path: Path, pages: "list[int] | None") -> str:
        known = document.examine(path)
        windows = [known.pages[start : start + PAGES] for start in range(0, len(known.pages), PAGES)]
        return "\n\n".join(
            page.markdown for window in windows for page in textlayer.convert(path, window, known.survey)
        )

    return convert


LIBRARIES: dict[str, Callable[[], Convert]] = {
    "liteparse": liteparse,
    "fanfold, text layer alone": fanfold_text,
    "markitdown": markitdown,
    "pymupdf4llm": pymupdf4llm,
    "pymupdf4llm, no layout model": pymupdf4llm_rules,
}


def work(engine: str, out: Path, jobs: list[tuple[str, list[int] | None]]) -> None:
    """In a process of its own: convert the first document to warm up, then all of them by the clock."""
    convert = LIBRARIES[engine]()
    convert(Path(jobs[0][0]), jobs[0][1] and jobs[0][1][:1])
    seconds = 0.0
    for name, pages in jobs:
        begin = time.perf_counter()
        text = convert(Path(name), pages)
        seconds += time.perf_counter() - begin
        (out / f"{Path(name).stem}.md").write_text(text, "utf-8")
    (out / "seconds.json").write_text(json.dumps(seconds))


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
