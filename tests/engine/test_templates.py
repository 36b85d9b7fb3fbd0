"""Templates are kept by name and version, checked before they are saved, and tell which tasks used them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.model.pipelines.pipeline import Pipeline
from tests.engine.live import Live
from tests.engine.with_templates import survey
from tests.installation import Installation

AGE = {"age": "How old?"}
NAMED = {"age": "How old?", "name": "Who?"}


def client_of(installation: Installation, **more: Any) -> Client:
    return Client(store=installation.store, pipelines=[survey], **more)


def test_a_changed_body_is_a_new_version_and_an_equal_one_is_not(installation: Installation) -> None:
    templates = client_of(installation, actor="ann").templates
    first = templates.save("fields", "people", AGE, note="the beginning")
    again = templates.save("fields", "people", dict(AGE))
    second = templates.save("fields", "people", NAMED)
    assert (first.version, again.version, second.version) == (1, 1, 2)
    assert (first.actor, first.note, first.body) == ("ann", "the beginning", AGE)
    assert templates.get("fields", "people") == second
    assert templates.get("fields", "people@1").body == AGE
    assert [one.version for one in templates.versions("fields", "people")] == [2, 1]


def test_the_order_of_the_fields_is_kept_and_counts(installation: Installation) -> None:
    templates = client_of(installation).templates
    templates.save("fields", "people", NAMED)
    turned = dict(reversed(NAMED.items()))
    assert templates.save("fields", "people", turned).version == 2
    assert list(templates.get("fields", "people").body) == ["name", "age"]


def test_a_list_has_the_newest_version_of_each(installation: Installation) -> None:
    templates = client_of(installation).templates
    for body in (AGE, NAMED):
        templates.save("fields", "people", body)
    templates.save("fields", "animals", AGE)
    assert [one.reference for one in templates.list()] == ["animals@1", "people@2"]
    assert [one.reference for one in templates.list("fields", limit=1)] == ["animals@1"]
    assert templates.list("scenes") == []


def test_a_template_with_mistakes_is_refused_with_all_of_them_at_once(installation: Installation) -> None:
    templates = client_of(installation).templates
    with pytest.raises(ff.BadTemplate) as refused:
        templates.save("fields", "people", {"age": 7, "name": "Who?", "size": "large"})
    assert refused.value.problems == ("The field age has no question.", "The field size has no question.")
    assert all(problem in refused.value.message for problem in refused.value.problems)
    assert templates.list() == []


@pytest.mark.parametrize("name", ["", "two words", "a@2", "a/b", "-a", "x" * 101, "zero\0"])
def test_a_name_that_could_not_be_referred_to_is_refused(installation: Installation, name: str) -> None:
    with pytest.raises(ff.BadInput, match="cannot name a template"):
        client_of(installation).templates.save("fields", name, AGE)


def test_a_kind_that_no_pipeline_takes_is_refused(installation: Installation) -> None:
    with pytest.raises(ff.NotFound, match="No pipeline here takes templates of kind scenes"):
        client_of(installation).templates.save("scenes", "people", AGE)


@pytest.mark.parametrize("body", [{"$file": {}}, {"a": float("nan")}, {"a": object()}, "x" * 500_001])
def test_a_body_that_cannot_be_kept_is_refused(installation: Installation, body: object) -> None:
    with pytest.raises(ff.BadInput):
        client_of(installation).templates.save("fields", "people", body)


def test_people_who_save_at_the_same_time_get_versions_of_their_own(live: Live) -> None:
    client = Client(store=live.store, pipelines=[survey])
    bodies = [{f"field_{number}": "What?"} for number in range(12)]
    with ThreadPoolExecutor(6) as threads:
        saved = list(threads.map(lambda body: client.templates.save("fields", "people", body), bodies))
    assert sorted(one.version for one in saved) == list(range(1, 13))
    assert {one.version: one.body for one in client.templates.versions("fields", "people")} == {
        one.version: one.body for one in saved
    }


def test_a_task_gets_the_body_of_the_template_it_names_and_is_listed_with_its_version(
    installation: Installation,
) -> None:
    client = client_of(installation)
    for body in (AGE, NAMED):
        client.templates.save("fields", "people", body)
    pinned = client.submit(survey, items=["ann"], options={"fields": "people@1"})
    newest = client.submit(survey, items=["bob"], options={"fields": "people"}, title="Bob")
    typed = client.submit(survey, items=["eve"], options={"fields": '{"age": "How old?"}'})
    assert client.get(pinned.id).options["fields"] == '{"age":"How old?"}'
    assert client.get(newest.id).options["fields"] == '{"age":"How old?","name":"Who?"}'
    used = client.templates.tasks("fields", "people")
    assert [(one.task, one.version, one.state) for one in used] == [(newest.id, 2, "active"), (pinned.id, 1, "active")]
    assert used[0].title == "Bob"
    assert [one.version for one in client.templates.used_by(pinned.id)] == [1]
    assert client.templates.used_by(typed.id) == []


def test_a_later_version_does_not_change_a_task(installation: Installation) -> None:
    client = client_of(installation)
    client.templates.save("fields", "people", AGE)
    task = client.submit(survey, items=["ann"], options={"fields": "people"})
    client.templates.save("fields", "people", NAMED)
    assert client.get(task.id).options["fields"] == '{"age":"How old?"}'


def test_a_retry_names_a_template_for_its_items_or_for_the_whole_task(installation: Installation) -> None:
    client = client_of(installation)
    installation.know(survey)
    for body in (AGE, NAMED):
        client.templates.save("fields", "people", body)
    task = client.submit(survey, items=["ann", "bob"], options={"fields": "people@1"})
    installation.work()
    client.retry(task.id, ["1"], options={"fields": "people@2"})
    installation.work()
    assert client.result(task.id) == [{"age": "ann: How old?", "name": "ann: Who?"}, {"age": "bob: How old?"}]
    client.templates.save("fields", "names", {"name": "Who?"})
    client.retry(task.id, ["2"], task_options={"fields": "names"})
    installation.work()
    assert client.result(task.id)[1] == {"name": "bob: Who?"}
    assert {(one.name, one.version) for one in client.templates.used_by(task.id)} == {
        ("people", 1),
        ("people", 2),
        ("names", 1),
    }
    with pytest.raises(ff.NotFound, match="no template people@9"):
        client.retry(task.id, ["1"], options={"fields": "people@9"})
    assert client.get(task.id).state == "completed"


def test_a_template_that_does_not_exist_is_refused_before_anything_is_submitted(installation: Installation) -> None:
    client = client_of(installation)
    with pytest.raises(ff.NotFound, match="no template people@3 of kind fields"):
        client.submit(survey, items=["ann"], options={"fields": "people@3"})
    assert client.list() == []


def test_a_deleted_template_leaves_its_tasks_alone_and_its_numbers_are_not_used_again(
    installation: Installation,
) -> None:
    client = client_of(installation)
    for body in (AGE, NAMED):
        client.templates.save("fields", "people", body)
    task = client.submit(survey, items=["ann"], options={"fields": "people@2"})
    assert client.templates.delete("fields", "people") == 2
    with pytest.raises(ff.NotFound):
        client.templates.get("fields", "people")
    with pytest.raises(ff.NotFound):
        client.templates.delete("fields", "people")
    assert [one.version for one in client.templates.tasks("fields", "people")] == [2]
    assert client.templates.save("fields", "people", AGE).version == 3
    client.cancel(task.id)
    client.delete(task.id)
    assert client.templates.tasks("fields", "people") == []
    assert installation.rows()["template_uses"] == []


def test_an_application_can_record_the_template_that_a_task_changes_to(installation: Installation) -> None:
    client = client_of(installation)
    for body in (AGE, NAMED):
        client.templates.save("fields", "people", body)
    task = client.submit(survey, items=["ann"], options={"fields": "people@1"})
    for _ in range(2):
        client.templates.use(task.id, "fields", "people@2")
    assert sorted(one.version for one in client.templates.used_by(task.id)) == [1, 2]


def test_a_person_sees_only_the_tasks_of_their_owner(installation: Installation) -> None:
    everybody = client_of(installation)
    everybody.templates.save("fields", "people", AGE)
    mine = client_of(installation, owner="ann").submit(survey, items=["a"], options={"fields": "people"})
    client_of(installation, owner="eve").submit(survey, items=["b"], options={"fields": "people"})
    assert [one.task for one in client_of(installation, owner="ann").templates.tasks("fields", "people")] == [mine.id]
    assert len(everybody.templates.tasks("fields", "people")) == 2


def test_a_program_with_async_def_has_the_same_templates(installation: Installation) -> None:
    async def saved() -> list[str]:
        async with ff.AsyncClient(store=installation.store, pipelines=[survey]) as client:
            await client.templates.save("fields", "people", AGE)
            return [one.reference for one in await client.templates.list("fields")]

    assert asyncio.run(saved()) == ["people@1"]


def test_a_kind_must_belong_to_an_option_and_have_a_name_of_its_own() -> None:
    option = [ff.Option("fields", "file")]
    with pytest.raises(ff.BadPipeline, match="option other, which is not declared"):
        Pipeline("p", options=option, templates=[ff.TemplateKind("fields", option="other")])
    with pytest.raises(ff.BadPipeline, match="declared twice"):
        Pipeline("p", templates=[ff.TemplateKind("fields"), ff.TemplateKind("fields")])
    with pytest.raises(ff.BadPipeline, match="cannot name a kind"):
        ff.TemplateKind("Two words")
