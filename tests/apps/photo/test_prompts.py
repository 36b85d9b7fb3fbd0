"""Prompts come from a template, a scene and parameters; scenes are kept by name in the database; settings name mistakes."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fanfold as ff
from fanfold.apps.photo import configuration, photo
from fanfold.apps.photo.prompting.prompt import built, read_parameters
from fanfold.apps.photo.prompting.scenes import mistakes, read_scene
from fanfold.apps.photo.prompting.scenes_command import command as scenes
from fanfold.running.terminal.invocation import Invocation
from fanfold.testing import Engine
from tests.image_server import ImageServer

STUDIO = {"prompt": "{prompt}, in a studio, {mood} mood", "negative": "blurry {mood}", "parameters": {"mood": "calm"}}


def test_a_prompt_is_built_from_template_scene_and_parameters() -> None:
    scene = read_scene(json.dumps(STUDIO))
    assert built("a hat", scene, {}, "photo of {prompt}").text == "photo of a hat, in a studio, calm mood"
    found = built("a {hat}", scene, {"mood": "wild"})
    assert (found.text, found.negative) == ("a {hat}, in a studio, wild mood", "blurry wild")
    assert built("a hat", read_scene("at night"), {}).text == "at night, a hat"
    assert built("", read_scene("at night"), {}).text == "at night"


@pytest.mark.parametrize(
    ("words", "scene", "given", "says"),
    [
        ("", "", [], "no prompt"),
        ("a hat", json.dumps(STUDIO), ["light=soft"], "no placeholder light"),
        ("a hat", "{prompt} {mood}", [], "needs a value for mood"),
        ("a hat", "", ["mood"], "name=value"),
        ("a hat", "{prompt} {", [], "braces"),
        ("x" * 40_000, "", [], "more than"),
    ],
)
def test_what_cannot_become_a_prompt_says_why(words: str, scene: str, given: list[str], says: str) -> None:
    with pytest.raises(ff.Permanent) as refused:
        built(words, read_scene(scene), read_parameters(given))
    assert says in refused.value.message


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": ""}, {"prompts": "x"}, 17, {"prompt": "x", "parameters": {"mood": "a"}}, [1],
        {"prompt": "x", "request": {"n": 10}}, {"prompt": "x", "request": {"model": "dearest"}},
    ],
)  # fmt: skip
def test_a_bad_scene_is_not_saved(body: Any) -> None:
    assert list(mistakes(body))


def test_a_scene_is_used_by_its_name_and_stays_as_it_was(engine: Engine, images: ImageServer, folder: Path) -> None:
    engine.know(photo)
    engine.client.pipelines["photo"] = photo
    engine.client.templates.save("scene", "studio", STUDIO)
    task = engine.submit(photo, options={"prompt": "a hat", "scene": "studio", "parameters": ["mood=wild"]})
    engine.client.templates.save("scene", "studio", "something else, {prompt}")
    engine.run()
    assert [job.prompt for job in images.jobs.values()] == ["a hat, in a studio, wild mood"]
    assert [use.task for use in engine.client.templates.tasks("scene", "studio")] == [task.id]
    with pytest.raises(ff.BadTemplate):
        engine.client.templates.save("scene", "bad", {"prompt": ""})


@pytest.mark.parametrize("service", ["replicate", "fal", "openai"])
def test_what_the_operator_sets_with_a_service_is_not_changed_by_a_scene(
    engine: Engine, images: ImageServer, folder: Path, service: str
) -> None:
    """Anybody may write a scene; who pays decides about quality and number."""
    with (folder / "fanfold.toml").open("a") as file:
        file.write(f'\n[photo.services.{service}.parameters]\nquality = "low"\n')
    scene = json.dumps({"prompt": "{prompt}", "request": {"quality": "high", "style": "flat"}})
    engine.submit(photo, options={"prompt": "a hat", "scene": scene, "service": service})
    engine.run()
    [asked] = images.asked
    given = asked.get("input", asked)
    assert (given["quality"], given["style"]) == ("low", "flat")


def test_scenes_are_listed_shown_saved_and_deleted_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "studio.json").write_text(json.dumps(STUDIO))
    (tmp_path / "bad.json").write_text("{}")

    def asked(*words: str) -> Any:
        given = Invocation(database=f"sqlite:///{tmp_path}/f.db", data=str(tmp_path / "data"))
        return CliRunner().invoke(scenes, list(words), obj=given)

    assert asked("save", "studio", str(tmp_path / "studio.json")).output == "Saved studio@1\n"
    assert "studio" in asked().output
    assert json.loads(asked("show", "studio").output) == STUDIO
    assert isinstance(asked("save", "bad", str(tmp_path / "bad.json")).exception, ff.BadTemplate)
    assert "Deleted studio (1 version)" in asked("delete", "studio").output


STAGES = """
from fanfold.apps.photo import photo
print([
    (one.planned.name, one.timeout, one.retry.limit, one.wait_limit if one.planned.name == "ai_processing" else None,
     one.concurrency)
    for one in photo.stages.values()
])
"""


@pytest.mark.parametrize(
    ("settings", "time", "retries", "job", "at_once"),
    [
        ("", 300.0, 3, 600.0, 10),
        ("state_seconds = 60\nretries = 1\nexternal_seconds = 90\nconcurrency = 4\n", 60, 1, 90, 4),
    ],
)
def test_the_limits_of_the_states_can_be_configured(
    tmp_path: Path, settings: str, time: float, retries: int, job: float, at_once: int
) -> None:
    (tmp_path / "fanfold.toml").write_text(f"[photo]\n{settings}")
    said = subprocess.run([sys.executable, "-c", STAGES], cwd=tmp_path, check=True, capture_output=True, text=True)
    names = ["downloading", "downloaded", "ai_processing", "watermarking", "uploading", "delivering"]
    pictures = ("ai_processing", "watermarking", "uploading")
    assert ast.literal_eval(said.stdout) == [
        (name, time, retries, job if name == "ai_processing" else None, at_once if name in pictures else None)
        for name in names
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[photo]\nspeed = 3", "speed"),
        ("[photo]\nretries = 'many'", "retries"),
        ("[photo.services.x]\nprotocol = 'midjourney'", "midjourney"),
        ("[photo.services.x]\nprotocol = 'comfyui'", "workflow"),
        ("[photo.services.X]\nprotocol = 'fal'", "'X'"),
        ("[photo]\nservices = 3", "not a table"),
    ],
)
def test_a_mistake_in_the_settings_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "fanfold.toml").write_text(text)
    with pytest.raises(ff.BadInput) as refused:
        configuration.load(tmp_path)
    assert says in str(refused.value)
