"""Options are described and checked before an upload is read, and secrets are used without being stored or shown."""

import json
import logging
import re
from copy import copy
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.server.api import uploading
from tests.engine.sealed import seal, sealed
from tests.installation import Installation
from tests.server.asking import Asker

pytestmark = pytest.mark.one_database

PASSWORD = "open-sesame-7531"
HTML = {"accept": "text/html"}


@pytest.fixture
def locked(tmp_path: Path) -> bytes:
    """A file that opens with the password."""
    return seal(tmp_path / "book.txt", PASSWORD, "one two").read_bytes()


@pytest.fixture
def at(asker: Asker, installation: Installation) -> Asker:
    """A server that knows the pipeline."""
    installation.know(sealed)
    asker.place.pipelines = {"sealed": sealed}
    return asker


def upload(at: Asker, locked: bytes, **options: Any) -> Any:
    form = {"pipeline": "sealed", "options": json.dumps(options)}
    return at.ask("POST", "/tasks", data=form, files={"file": ("book.txt", locked)})


def test_the_schema_of_declared_options_is_told(at: Asker) -> None:
    [found] = at.get("/pipelines")
    assert found["options"]["times"] == "How often."
    assert found["options_schema"]["properties"]["times"]["maximum"] == 9
    assert found["options_schema"]["properties"]["password"]["writeOnly"] is True
    assert found["options_schema"]["additionalProperties"] is False


@pytest.mark.parametrize(("options", "field"), [({"times": 10}, "times"), ({"tims": 1}, "tims")])
def test_a_wrong_option_is_refused_by_its_name(at: Asker, locked: bytes, options: dict[str, Any], field: str) -> None:
    answers = [
        upload(at, locked, **options),
        at.ask("POST", "/tasks", json={"pipeline": "sealed", "options": options, "inputs": [1]}),
        at.ask("POST", "/pipelines/sealed/check", json={"options": options}),
    ]
    for answer in answers:
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert (answer.json()["code"], answer.json()["field"]) == ("bad_option", field)
        assert (
            "must be from 1 to 9" in answer.json()["detail"]
            or "Known options: times, password" in answer.json()["detail"]
        )
    assert at.get("/tasks")["tasks"] == []
    assert at.ask("POST", "/pipelines/sealed/check", json={"options": {"times": 2}}).status_code == 204
    assert at.ask("POST", "/pipelines/nothing/check", json={}).status_code == 404


def test_a_wrong_option_is_refused_before_the_file_is_read(at: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    plain = uploading.EarlyParser.on_part_data

    def noted(self: Any, data: bytes, start: int, end: int) -> None:
        if self._current_part.file is not None:
            read.append(end - start)
        plain(self, data, start, end)

    monkeypatch.setattr(uploading.EarlyParser, "on_part_data", noted)
    answer = upload(at, b"x" * 5_000_000, times=10)
    assert (answer.status_code, answer.headers["connection"]) == (422, "close")
    assert sum(read) == 0
    assert upload(at, b"x" * 1000, times=2).status_code == 201
    assert sum(read) == 1000


def test_options_behind_the_file_are_checked_as_well(at: Asker) -> None:
    parts = [
        ("file", ("book.txt", b"one")),
        ("pipeline", (None, "sealed")),
        ("options", (None, '{"times": 10}')),
    ]
    assert at.ask("POST", "/tasks", files=parts).status_code == 422
    assert at.get("/tasks")["tasks"] == []


def test_a_password_opens_an_upload_and_appears_nowhere(
    at: Asker, installation: Installation, locked: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = upload(at, locked, password="wrong-one-99")
    assert (wrong.status_code, wrong.json()["code"], wrong.json()["field"]) == (422, "wrong_password", "password")
    made = upload(at, locked, password=PASSWORD)
    assert made.status_code == 201, made.text
    installation.work()
    task = made.json()["id"]
    assert at.get(f"/tasks/{task}/result") == "ONE TWO"
    told = [made.text, wrong.text, caplog.text]
    told += [json.dumps(at.get(f"/tasks/{task}{part}")) for part in ("", "/events", "/items")]
    told += [at.ask("GET", f"//tasks/{task}", headers={"accept": "text/html"}).text, str(installation.rows())]
    told += [path.read_bytes().decode("latin-1") for path in files(installation)]
    assert [one[:80] for one in told if PASSWORD in one or "wrong-one-99" in one] == []


def files(installation: Installation) -> list[Path]:
    folder = installation.settings.data_folder
    return [path for path in (*folder.rglob("*"), *folder.parent.glob("*.db*")) if path.is_file()]


def test_a_task_that_lacked_its_password_gets_it_with_the_retry(
    at: Asker, installation: Installation, locked: bytes
) -> None:
    task = upload(at, locked).json()["id"]
    installation.work()
    assert at.get(f"/tasks/{task}")["state"] == "failed"
    wrong = at.ask("POST", f"/tasks/{task}/retry", json={"options": {"password": "wrong-one-99"}})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "wrong_password")
    assert at.get(f"/tasks/{task}")["state"] == "failed"
    again = at.post(f"/tasks/{task}/retry", {"options": {"password": PASSWORD}})
    assert (again["state"], again["options"]) == ("active", {})
    installation.work()
    assert at.get(f"/tasks/{task}/result") == "ONE TWO"
    assert PASSWORD not in str(installation.rows())


def test_a_password_for_a_pipeline_that_is_not_known_is_refused_and_not_stored(
    at: Asker, installation: Installation, locked: bytes
) -> None:
    task = upload(at, locked).json()["id"]
    installation.work()
    at.place.pipelines = {}
    answer = at.ask("POST", f"/tasks/{task}/retry", json={"options": {"password": PASSWORD}})
    assert (answer.status_code, "must not be stored" in answer.json()["detail"]) == (422, True)
    assert PASSWORD not in str(installation.rows())


def test_what_is_no_json_is_not_quoted_as_a_password_may_be_in_it(at: Asker) -> None:
    form = {"pipeline": "sealed", "options": f'{{"password": "{PASSWORD}"'}
    answer = at.ask("POST", "/tasks", data=form, files={"file": ("book.txt", b"x")})
    assert (answer.status_code, PASSWORD in answer.text) == (422, False)


def test_the_page_retries_with_real_fields_and_a_password_that_is_not_shown(
    at: Asker, installation: Installation, locked: bytes
) -> None:
    task = upload(at, locked, times=2).json()["id"]
    installation.work()
    shown = at.ask("GET", f"//tasks/{task}", headers=HTML).text
    assert 'name="option:times" type="number" value="2" min="1" max="9"' in shown
    assert 'name="option:password" type="password"' in shown
    address = f"//tasks/{task}/retry-with"
    wish = {"option:times": "2", "option:password": "wrong-one-99"}
    wrong = at.ask("POST", address, data=wish, headers={"accept": "*/*"})
    assert (wrong.status_code, wrong.json()["field"], "wrong-one-99" in wrong.text) == (422, "password", False)
    assert at.ask("POST", address, data=wish | {"option:password": PASSWORD}, headers=HTML).status_code == 303
    installation.work()
    assert at.get(f"/tasks/{task}/result") == "ONE TWO ONE TWO"
    assert PASSWORD not in at.ask("GET", f"//tasks/{task}", headers=HTML).text + str(installation.rows())


def test_a_task_without_its_file_is_refused_with_the_way_out(at: Asker) -> None:
    for answer in (
        at.ask("POST", "/tasks", json={"pipeline": "sealed"}),
        at.ask("POST", "/tasks", json={"pipeline": "sealed", "inputs": ["book.txt", 5]}),
        at.ask("POST", "/tasks", data={"pipeline": "sealed"}, files={"none": ("", b"")}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (422, "no_file"), answer.text
        assert "needs a file that ends with .txt, and none was given. Give one" in answer.json()["detail"]
    assert at.get("/tasks")["tasks"] == []


def test_a_failure_offers_only_what_can_help(at: Asker, installation: Installation, locked: bytes) -> None:
    """An encrypted file is encrypted for every model: its password helps. A page that failed may work with another model."""
    known = replace_options(sealed, ff.Option("provider", "provider", "Who.", "local"))
    at.place.pipelines = installation.client.pipelines = {"sealed": known}
    task = upload(at, locked).json()["id"]
    mixed = at.ask("POST", "/tasks", data={"pipeline": "sealed"}, files={"file": ("b.txt", b"good bad")}).json()["id"]
    installation.work()
    shown = at.ask("GET", f"//tasks/{task}", headers=HTML).text
    [group] = re.findall('<li class="failure".*?</li>', shown, re.S)
    assert "another model" not in group
    assert 'type="password"' in group
    assert "option:times" not in group
    assert ">retry<" not in group
    [other] = re.findall('<li class="failure".*?</li>', at.ask("GET", f"//tasks/{mixed}", headers=HTML).text, re.S)
    assert "retry with another model" in other
    assert 'type="password"' not in other
    mark = re.search('name="group" value="([^"]+)"', group)
    assert mark
    wish = {"group": mark[1], "option:password": PASSWORD}
    assert at.ask("POST", f"//tasks/{task}/retry-with", data=wish, headers=HTML).status_code == 303
    installation.work()
    assert at.get(f"/tasks/{task}/result") == "ONE TWO"


CHOOSING = (
    ff.Option("provider", "provider", "Who.", "local"),
    ff.Option("model", "model", "Which.", ""),
    ff.Option("fallback", "model", "Who else.", (), many=True),
)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "nosuch/model"},
        {"provider": "nosuch"},
        {"provider": "nosuch", "model": "gpt"},
        {"provider": "openai", "fallback": ["ollama:llama", "nosuch::model"]},
    ],
)
def test_an_unknown_provider_is_refused_where_it_is_asked_for(
    at: Asker, installation: Installation, locked: bytes, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the check, the submit, before the file of a form is read, in Python, and by a retry; with the known ones."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "FANFOLD_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    known = replace_options(sealed, *CHOOSING)
    at.place.pipelines = installation.client.pipelines = {"sealed": known}
    file = {"name": "book.txt", "text": "bad"}
    task = at.post("/tasks", {"pipeline": "sealed", "files": [file]}, status=201)["id"]
    installation.work()
    fields = {
        f"option:{name}": ",".join([value] if isinstance(value, str) else value) for name, value in options.items()
    }
    for answer in (
        at.ask("POST", "/pipelines/sealed/check", json={"options": options}),
        at.ask("POST", "/tasks", json={"pipeline": "sealed", "options": options, "files": [file]}),
        upload(at, locked, **options),
        at.ask("POST", f"/tasks/{task}/retry", json={"options": options}),
        at.ask("POST", f"//tasks/{task}/retry-with", data=fields),
    ):
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"] in options
        assert "Known providers: openai, anthropic, ollama, lmstudio" in answer.json()["detail"]
        assert "fanfold.toml" not in answer.json()["detail"], "a caller over HTTP may not be able to change that"
        assert answer.json()["sentence"]["code"] in ("no_provider", "model_without_provider")
    with pytest.raises(ff.BadOption, match="Known providers: openai, anthropic, ollama, lmstudio"):
        installation.client.submit(known, 5, options=options)
    assert [one["id"] for one in at.get("/tasks")["tasks"]] == [task]
    good = {"provider": "ollama", "model": "any/thing", "fallback": ["openai:gpt", "local"]}
    assert at.ask("POST", "/pipelines/sealed/check", json={"options": good}).status_code == 204


def replace_options(pipeline: ff.Pipeline, *more: ff.Option) -> ff.Pipeline:
    """The same pipeline with more options."""
    made = copy(pipeline)
    made.declared = pipeline.declared | {one.name: one for one in more}
    made.options = pipeline.options | {one.name: one.help for one in more}
    return made


def test_the_form_for_new_tasks_has_a_field_for_each_declared_option(
    at: Asker, installation: Installation, locked: bytes
) -> None:
    shown = at.ask("GET", "//", headers=HTML).text
    assert 'name="option:sealed:times" type="number" value="1" min="1" max="9"' in shown
    assert 'name="option:sealed:password" type="password"' in shown
    form = {"pipeline": "sealed", "option:sealed:times": "2", "option:sealed:password": PASSWORD}
    answer = at.ask("POST", "//submit", data=form, files={"file": ("book.txt", locked)}, headers=HTML)
    assert answer.status_code == 303, answer.text
    installation.work()
    [task] = at.get("/tasks")["tasks"]
    assert (task["options"], at.get(f"/tasks/{task['id']}/result")) == ({"times": "2"}, "ONE TWO ONE TWO")
    assert PASSWORD not in str(installation.rows())


def test_the_first_options_of_any_application_stand_beside_its_files(at: Asker, installation: Installation) -> None:
    """Made from what is declared: those of no group, but no secrets; the others are one click away."""
    ranged = replace_options(
        sealed,
        ff.Option("rows", "range", "Which rows.", ""),
        ff.Option("deep", "number", "How deep.", 3, group="Limits"),
        *(ff.Option(f"more{number}", "text", "Rarely used.") for number in range(4)),
    )
    at.place.pipelines = installation.client.pipelines = {"sealed": ranged}
    shown = at.ask("GET", "//", headers=HTML).text
    front, more = (
        shown[shown.index('data-front="sealed"') : shown.index('class="more"')],
        shown[shown.index('class="more"') :],
    )
    assert [name for name in ranged.declared if f"option:sealed:{name}" in front] == ["times", "rows", "more0"]
    assert [name for name in ranged.declared if f'"option:sealed:{name}"' in more] == [
        "password",
        "deep",
        "more1",
        "more2",
        "more3",
    ]
    assert 'placeholder="all"' in front
    assert 'name="pages"' not in shown
    form = {"pipeline": "sealed", "option:sealed:rows": "1-3", "option:sealed:times": "1"}
    answer = at.ask("POST", "//submit", data=form, files={"file": ("book.txt", b"one")}, headers=HTML)
    assert answer.status_code == 303, answer.text
    assert at.get("/tasks")["tasks"][0]["options"] == {"rows": "1-3"}
