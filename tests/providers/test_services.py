"""Every answer and every fault of a service is understood, in all protocols."""

import asyncio
import resource
from dataclasses import replace
from typing import Any

import pytest

from fanfold.errors import BadInput
from fanfold.providers.configuration import Provider
from fanfold.providers.services.service import (
    Finish,
    Request,
    ServiceReply,
    ServiceTrouble,
    TroubleKind,
    connect,
    seconds_to_wait,
)
from tests.ai_protocol import inside, too_many_requests
from tests.ai_server import AIServer

JPEG = b"\xff\xd8\xff\xe0 picture"


def provider(server: AIServer, kind: str) -> Provider:
    address = server.url if kind == "anthropic" else server.openai_url
    return Provider("fake", kind, address, model="fake-large", timeout=60, price_input=1.0, price_output=2.0)


def call(who: Provider, **asked: Any) -> ServiceReply:
    async def once() -> ServiceReply:
        service = connect(who)
        try:
            return await service.call(Request("fake-large", "Read this", **asked))
        finally:
            await service.close()

    return asyncio.run(once())


@pytest.fixture(params=["openai", "responses", "anthropic"])
def service(request: pytest.FixtureRequest, ai: AIServer) -> Provider:
    """The fake service in each of the protocols."""
    return provider(ai, request.param)


def test_a_question_with_a_picture_arrives_whole(service: Provider, ai: AIServer) -> None:
    found = call(service, images=(JPEG,), system="Be brief", parameters={"temperature": 0.4, "max_tokens": 99})
    [asked] = ai.calls
    assert (asked.model, len(asked.images), asked.parameters["temperature"]) == ("fake-large", 1, 0.4)
    assert asked.parameters["max_tokens"] == 99
    assert "Read this" in asked.prompt
    assert (found.finish, found.usage.input_tokens) == (Finish.WHOLE, 1000)
    assert found.usage.cost == pytest.approx((1000 + 2 * (found.usage.output_tokens or 0)) / 1_000_000)


def test_a_machine_without_open_files_is_told_from_a_service_that_is_gone(service: Provider) -> None:
    call(service)  # Parts of its library are loaded on the first call, which needs open files.

    async def once() -> None:
        asked, before = connect(service), resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            await asked.call(Request("fake-large", "Read this"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            await asked.close()

    with pytest.raises(ServiceTrouble, match="Raise the limit on open files") as met:
        asyncio.run(once())
    assert met.value.kind is TroubleKind.UNREACHABLE


@pytest.mark.parametrize(("fault", "finish"), [("length", Finish.CUT_OFF), ("content_filter", Finish.FILTERED)])
def test_how_an_answer_ended_is_known(service: Provider, ai: AIServer, fault: str, finish: Finish) -> None:
    ai.next(fault)
    assert call(service).finish is finish


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", TroubleKind.LIMITED),
        ("500", TroubleKind.BUSY),
        ("503", TroubleKind.BUSY),
        ("400", TroubleKind.REJECTED),
        ("401", TroubleKind.REFUSED),
        ("402", TroubleKind.REFUSED),
        ("403", TroubleKind.REFUSED),
        ("insufficient_quota", TroubleKind.REFUSED),
        ("hang", TroubleKind.LATE),
        ("drop", TroubleKind.BUSY),
        ("broken_json", TroubleKind.BUSY),
    ],
)
def test_each_fault_has_its_meaning(service: Provider, ai: AIServer, fault: str, kind: TroubleKind) -> None:
    if fault == "insufficient_quota" and service.kind == "anthropic":
        kind = TroubleKind.LIMITED  # This code belongs to the other protocol: here it is an ordinary 429.
    ai.next(fault)
    with pytest.raises(ServiceTrouble) as met:
        call(replace(service, timeout=0.5) if fault == "hang" else service)
    assert met.value.kind is kind
    assert met.value.message.startswith("fake ")


@pytest.mark.parametrize(
    ("error", "kind", "unknown"),
    [
        ({"message": "It broke", "code": 500}, TroubleKind.BUSY, False),
        ({"message": "It broke", "code": "502"}, TroubleKind.BUSY, True),
        ({"message": "It broke", "code": 429}, TroubleKind.LIMITED, False),
        ({"message": "It broke", "code": None, "type": "rate_limit_error"}, TroubleKind.LIMITED, False),
        ({"message": "It broke", "code": 429, "status": "RESOURCE_EXHAUSTED"}, TroubleKind.LIMITED, False),
        ({"message": "It broke", "code": "insufficient_quota"}, TroubleKind.REFUSED, False),
        ({"message": "It broke", "code": 429, "type": "insufficient_quota"}, TroubleKind.REFUSED, False),
        ({"message": "It broke", "type": "authentication_error"}, TroubleKind.REFUSED, False),
        ({"message": "It broke", "type": "invalid_request_error"}, TroubleKind.REJECTED, False),
        ({"message": "It broke", "code": 3}, TroubleKind.BUSY, True),
        ({"message": "It broke"}, TroubleKind.BUSY, True),
        ("It broke", TroubleKind.BUSY, True),
    ],
)
def test_an_error_inside_an_answer_is_said_and_means_what_its_status_would(
    service: Provider, ai: AIServer, error: Any, kind: TroubleKind, unknown: bool
) -> None:
    ai.always(inside({"type": "error", "error": error}))
    with pytest.raises(ServiceTrouble) as caught:
        call(service)
    trouble = caught.value
    assert (trouble.kind, trouble.unknown) == (kind, unknown)
    assert str(trouble) == "fake answered 200 with an error inside: It broke."


@pytest.mark.parametrize("body", [{"choices": None, "content": None}, {"error": None}, {}, {"choices": []}])
def test_an_answer_without_anything_inside_is_said_in_plain_words(service: Provider, ai: AIServer, body: Any) -> None:
    ai.always(inside(body))
    with pytest.raises(ServiceTrouble) as caught:
        call(service)
    assert (caught.value.kind, caught.value.unknown) == (TroubleKind.BUSY, True), "it may have been charged"
    assert str(caught.value) == "fake answered 200 without an answer inside."


def test_an_error_in_the_only_choice_is_said(ai: AIServer) -> None:
    ai.always(inside({"choices": [{"error": {"message": "The model behind it is gone", "code": 502}}]}))
    with pytest.raises(ServiceTrouble) as caught:
        call(provider(ai, "openai"))
    assert "an error inside: The model behind it is gone" in str(caught.value)


def test_an_error_inside_an_answer_does_not_repeat_the_key(
    service: Provider, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_VARIABLE", "sk-very-secret")
    ai.always(inside({"error": {"message": "No such key: sk-very-secret", "code": 401}}))
    with pytest.raises(ServiceTrouble) as caught:
        call(replace(service, key_env="MY_VARIABLE"))
    assert str(caught.value) == "fake answered 200 with an error inside: No such key: …."


def test_the_wait_that_is_asked_for_is_heard(service: Provider, ai: AIServer) -> None:
    ai.next(too_many_requests(7))
    with pytest.raises(ServiceTrouble) as met:
        call(service)
    assert met.value.after == 7


def test_nobody_there_is_not_the_fault_of_the_page(service: Provider, ai: AIServer) -> None:
    ai.close()
    with pytest.raises(ServiceTrouble, match="cannot be reached at http://127") as met:
        call(service)
    assert met.value.kind is TroubleKind.UNREACHABLE


def test_a_parameter_the_model_does_not_know_is_left_out(ai: AIServer) -> None:
    def refuse(good: Any) -> Any:
        return good.fault(
            "400",
            status=400,
            error_code="unsupported_parameter",
            message="Unsupported value: 'temperature' does not support 0.4",
        )

    ai.next(refuse)
    call(provider(ai, "openai"), parameters={"temperature": 0.4})
    first, second = ai.calls
    assert "temperature" in first.parameters
    assert "temperature" not in second.parameters


def test_the_key_comes_from_the_environment(ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    call(replace(provider(ai, "openai"), key_env="MY_KEY"))
    [asked] = ai.calls
    assert asked.api_key == "sk-secret"


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anthropic", None)
    monkeypatch.delitem(__import__("sys").modules, "fanfold.providers.services.anthropic", raising=False)
    with pytest.raises(BadInput, match=r"pip install 'fanfold\[anthropic\]'"):
        connect(Provider("x", "anthropic"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "150"}, 0.15),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_to_wait(headers) == seconds
