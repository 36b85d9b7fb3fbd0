"""`fanfold photo` saves pictures to a folder, resumes without paying again, and says what is missing."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fanfold as ff
from fanfold.apps.photo.command import command
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Invocation
from tests.image_server import ImageServer, picture_bytes

pytestmark = pytest.mark.one_database


def asked(folder: Path, *words: str, as_json: bool = True) -> tuple[Any, str]:
    """The exit code, or the exception, and what was printed."""
    given = Invocation(f"sqlite:///{folder}/f.db", str(folder / "data"), json=as_json)
    found = CliRunner().invoke(command, list(words), obj=given, standalone_mode=False)
    return found.exception or found.return_value, found.stdout


def test_the_same_command_resumes_and_pays_once(images: ImageServer, folder: Path) -> None:
    (folder / "model.png").write_bytes(picture_bytes(3))
    words = ("a red dress", "--image", "model.png", "--count", "2", "--seed", "5", "-o", "out")
    images.choose = lambda prompt, seed: "refused" if seed == 6 else "good"
    code, said = asked(folder, *words)
    told = json.loads(said)
    assert (code, len(told["images"]), told["missing"][0]["picture"]) == (Exit.PARTIAL, 1, "02")
    assert Path(told["images"][0]).name.startswith("a-red-dress-")
    images.choose = lambda prompt, seed: "good"
    again, said = asked(folder, *words)
    assert (again, json.loads(said)["task"], len(images.jobs)) == (Exit.PARTIAL, told["task"], 1)


@pytest.mark.parametrize(
    ("count", "cost", "told"),
    [(1, 0.003, "1 picture by replicate: $0.0030"), (3, 0.009, "3 pictures by replicate: $0.0090")],
)
def test_small_prices_are_told_as_they_are(folder: Path, count: int, cost: float, told: str) -> None:
    settings = folder / "fanfold.toml"
    settings.write_text(settings.read_text().replace("price = 0.04", "price = 0.003"))
    _, said = asked(folder, "a hat", "--count", str(count), "--estimate", as_json=False)
    assert said.strip() == told
    _, said = asked(folder, "a hat", "--count", str(count), "--estimate")
    assert json.loads(said)["cost"] == cost, "not 0.009000000000000001"


def test_an_unknown_price_is_told_as_unknown(folder: Path) -> None:
    settings = folder / "fanfold.toml"
    settings.write_text(settings.read_text().replace("price = 0.04\n", ""))
    _, said = asked(folder, "a hat", "--estimate", as_json=False)
    assert said == "1 picture by replicate: the cost is unknown. Set its price in fanfold.toml.\n"


def test_a_budget_of_exactly_the_price_is_enough(images: ImageServer, folder: Path) -> None:
    code, said = asked(folder, "a hat", "--count", "2", "--budget", "0.08", "-o", "out")
    assert (code, len(json.loads(said)["images"]), len(images.jobs)) == (Exit.OK, 2, 2)


def test_pictures_that_cost_more_than_the_budget_are_not_ordered(images: ImageServer, folder: Path) -> None:
    small, _ = asked(folder, "a hat", "--count", "2", "--budget", "0.07")
    assert isinstance(small, ff.BadInput)
    assert str(small).startswith("2 pictures by replicate cost $0.08, more than the budget of $0.07.")
    settings = folder / "fanfold.toml"
    settings.write_text(settings.read_text().replace("price = 0.04\n", ""))
    unknown, _ = asked(folder, "a hat", "--budget", "1")
    assert isinstance(unknown, ff.BadInput)
    assert "The price of replicate is not known" in str(unknown)
    assert not images.jobs
    code, _ = asked(folder, "a hat", "--budget", "1", "--allow-unknown-cost", "-o", "out")
    assert (code, len(images.jobs)) == (Exit.OK, 1)


def test_a_picture_that_uses_up_the_budget_again_waits_for_a_raise(images: ImageServer, folder: Path) -> None:
    """Moderation withholds the first picture, which is paid for: the second try would cost more than the budget."""
    images.choose = lambda prompt, seed: "moderated" if len(images.jobs) == 0 else "good"
    stopped, _ = asked(folder, "a hat", "--budget", "0.04", "-o", "out")
    assert isinstance(stopped, ff.TaskStopped)
    assert "The budget is used up: $0.04 of $0.04 spent" in str(stopped)
    assert len(images.jobs) == 1
    code, _ = asked(folder, "a hat", "--budget", "0.08", "-o", "out")
    assert (code, len(images.jobs)) == (Exit.OK, 2)


def test_mistakes_are_named_before_anything_is_begun(images: ImageServer, folder: Path) -> None:
    code, said = asked(folder, "a hat", "--count", "3", "--estimate", as_json=False)
    assert (code, said) == (Exit.OK, "3 pictures by replicate: $0.12\n")
    unknown, _ = asked(folder, "a hat", "--service", "nosuch")
    assert isinstance(unknown, ff.BadInput)
    assert "nosuch" in str(unknown)
    missing, _ = asked(folder, "a hat", "--image", "nowhere.png")
    assert isinstance(missing, ff.NotFound)
    empty, _ = asked(folder)
    assert "no prompt" in str(empty)
    assert not images.jobs
