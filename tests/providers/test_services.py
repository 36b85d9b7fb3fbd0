"""Is every answer and every fault of a service understood, in both protocols?"""

import asyncio
import resource
from dataclasses import replace
from typing import Any

import pytest

from fanfold.errors import BadInput
from fanfold.providers.configuration import Provider
from fanfold.providers.services import Finish, Reply, Request, ServiceTrouble, TroubleKind, connect, seconds_to_wait
from tests.ai_protocol import too_many_requests
from tests.ai_server import AIServer

JPEG = b"\xff\xd8\xff\xe0 picture"


def provider(server: AIServer, kind: str) -> Provider:
    address = server.openai_url if kind == "openai" else server.url
    return Provider("fake", kind, address, model="fake-large", timeout=60, price_input=1.0, price_output=2.0)


def call(who: Provider, **asked: Any) -> Reply:
    async def once() -> Reply:
        service = connect(who)
        try:
            return await service.call(Request("fake-large", "Read this", **asked))
        finally:
            await service.close()

    return asyncio.run(once())


@pytest.fixture(params=["openai", "anthropic"])
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
    call(service)  # Its library is loaded bit by bit, and needs files for that.

    async def once() -> None:
        asked, before = connect(service), resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            await asked.call(Request("fake-large", "Read this"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            await asked.close()

    with pytest.raises(ServiceTrouble, match="Raise the limit of open files") as met:
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
        kind = TroubleKind.LIMITED  # A code of the other protocol: here it is a 429 like any other.
    ai.next(fault)
    with pytest.raises(ServiceTrouble) as met:
        call(replace(service, timeout=0.5) if fault == "hang" else service)
    assert met.value.kind is kind
    assert met.value.message.startswith("fake ")


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
    monkeypatch.delitem(__import__("sys").modules, "fanfold.providers.anthropic", raising=False)
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
