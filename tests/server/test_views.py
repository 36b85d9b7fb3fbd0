"""The output of an item is shown by the view that its application has chosen."""

from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.pipelines.view_names import VIEWS
from fanfold.server.web import views
from tests.installation import Installation
from tests.server.asking import Asker

FOLDER = Path(views.__file__).parent


def test_every_view_that_can_be_chosen_is_a_file_of_its_own() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "shown"}
    assert files == set(VIEWS) == set(views.BY_NAME)


def test_a_view_that_there_is_not_is_refused() -> None:
    with pytest.raises(
        ff.BadPipeline,
        match=r"Unknown view 'films'. Use one of: document, record, table, changes, images, text, json\.",
    ):
        ff.Pipeline("p", view="films")


def shown(asker: Asker, installation: Installation, view: str, output: Any) -> tuple[str, str]:
    """The page of an item, and the text that is downloaded, with its name."""
    pipeline = ff.Pipeline("viewed", view=view)
    pipeline.each(name="make")(lambda item: item.input)
    installation.know(pipeline)
    asker.place.pipelines = {"viewed": pipeline}
    task = installation.client.submit(pipeline, items=[output])
    installation.work()
    page = asker.ask("GET", f"//tasks/{task.id}/item?key=1").text
    text = asker.ask("GET", f"//tasks/{task.id}/item/text?key=1&download=true")
    return page, f"{text.headers['content-disposition'].rpartition('1.')[2]}: {text.text}"


@pytest.mark.parametrize(
    ("view", "output", "page", "text"),
    [
        ("", "# Title", "<h1>Title</h1>", "md: # Title"),
        ("document", {"markdown": "# Title"}, "<h1>Title</h1>", "md: # Title"),
        ("text", "# Title", '<pre class="source"># Title', "txt: # Title"),
        ("text", {"text": "# Title", "more": 1}, '<pre class="source"># Title', "txt: # Title"),
        ("json", "# Title", '<pre class="source">&#34;# Title&#34;', 'json: "# Title"'),
        ("document", [1], '<pre class="source">[', "json: [\n  1\n]"),
        ("text", 7, '<pre class="source">7', "json: 7"),
    ],
)
def test_an_output_is_shown_as_its_application_wants(
    sqlite_asker: Asker, sqlite_installation: Installation, view: str, output: Any, page: str, text: str
) -> None:
    seen, kept = shown(sqlite_asker, sqlite_installation, view, output)
    assert page in seen
    assert kept == text


def test_the_pipeline_tells_its_view(sqlite_asker: Asker) -> None:
    sqlite_asker.place.pipelines = {"p": ff.Pipeline("p", view="text")}
    sqlite_asker.place.pipelines["p"].step(name="s")(lambda task: 1)
    assert sqlite_asker.get("/pipelines")[0]["view"] == "text"
