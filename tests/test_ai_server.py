"""The loopback AI service behaves like the real ones, seen through their own SDKs."""

import asyncio
import base64
import hashlib
from collections.abc import Iterator

import anthropic
import openai
import pytest

from tests.ai_protocol import Call, Reply, slow, too_many_requests
from tests.ai_server import AIServer
from tests.waiting import eventually

PICTURE = b"\x89PNG not really"


@pytest.fixture
def server() -> Iterator[AIServer]:
    with AIServer() as running:
        yield running


@pytest.fixture
def client(server: AIServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.openai_url, api_key="sk-test", max_retries=0, timeout=60) as made:
        yield made


@pytest.fixture
def claude(server: AIServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="sk-ant-test", max_retries=0, timeout=60) as made:
        yield made


def ask(client: openai.OpenAI, picture: bytes = PICTURE, prompt: str = "Convert") -> openai.types.chat.ChatCompletion:
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    return client.chat.completions.create(
        model="fake-large",
        temperature=0.1,
        max_tokens=500,
        messages=[
            {"role": "system", "content": "You convert pages."},
            {
                "role": "user",
                "content": [{"type": "text", "text": prompt}, {"type": "image_url", "image_url": {"url": url}}],
            },
        ],
    )


def ask_claude(client: anthropic.Anthropic, picture: bytes = PICTURE) -> anthropic.types.Message:
    data = base64.b64encode(picture).decode()
    return client.messages.create(
        model="fake-small",
        max_tokens=500,
        system="You convert pages.",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
                    {"type": "text", "text": "Convert"},
                ],
            }
        ],
    )


def test_openai_gets_an_answer_with_its_usage(server: AIServer, client: openai.OpenAI) -> None:
    server.answer(Reply("# Title", input_tokens=900, output_tokens=7, cached_tokens=300))
    completion = ask(client)
    assert completion.choices[0].message.content == "# Title"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage is not None
    assert completion.usage.prompt_tokens_details is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (900, 7)
    assert completion.usage.prompt_tokens_details.cached_tokens == 300


def test_anthropic_gets_an_answer_with_its_usage(server: AIServer, claude: anthropic.Anthropic) -> None:
    server.answer(Reply("# Title", input_tokens=900, output_tokens=7, cached_tokens=300))
    message = ask_claude(claude)
    assert [block.text for block in message.content if block.type == "text"] == ["# Title"]
    assert (message.stop_reason, message.model) == ("end_turn", "fake-small")
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (600, 300, 7)


def test_a_call_is_recorded_as_it_was_understood(
    server: AIServer, client: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    ask(client)
    ask_claude(claude)
    first, second = server.calls
    assert (first.path, first.model, first.api_key) == ("/v1/chat/completions", "fake-large", "sk-test")
    assert (second.path, second.model, second.api_key) == ("/v1/messages", "fake-small", "sk-ant-test")
    assert first.prompt == second.prompt == "You convert pages.\nConvert"
    assert first.images == second.images == (hashlib.sha256(PICTURE).hexdigest(),)
    assert first.parameters == {"temperature": 0.1, "max_tokens": 500}
    assert second.parameters["max_tokens"] == 500
    assert first.given == second.given == "answer"
    assert server.calls_by_image == {first.images[0]: 2}


def test_the_same_picture_gets_the_same_answer_and_another_one_another(client: openai.OpenAI) -> None:
    texts = [ask(client, picture).choices[0].message.content for picture in (b"one", b"one", b"two")]
    assert texts[0] == texts[1] != texts[2]


def test_an_answer_may_depend_on_the_call(server: AIServer, client: openai.OpenAI) -> None:
    def model_of(call: Call) -> str:
        return f"by {call.model}"

    server.answer(model_of)
    assert ask(client).choices[0].message.content == "by fake-large"


def test_the_models_are_listed_and_not_counted_as_calls(server: AIServer, client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == server.models
    assert server.calls == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("503", openai.InternalServerError),
        ("400", openai.BadRequestError),
        ("401", openai.AuthenticationError),
        ("402", openai.APIStatusError),
        ("403", openai.PermissionDeniedError),
        ("insufficient_quota", openai.RateLimitError),
        ("drop", openai.APIConnectionError),
    ],
)
def test_openai_meets_each_fault_as_its_own_error(
    server: AIServer, client: openai.OpenAI, fault: str, error: type[openai.APIError]
) -> None:
    server.next(fault)
    with pytest.raises(error):
        ask(client)
    assert ask(client).choices[0].message.content, "the next call is a good one again"
    assert server.given == {fault: 1, "answer": 1}
    assert len(server.paid) == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("429", anthropic.RateLimitError),
        ("500", anthropic.InternalServerError),
        ("401", anthropic.AuthenticationError),
        ("402", anthropic.APIStatusError),
        ("403", anthropic.PermissionDeniedError),
        ("drop", anthropic.APIConnectionError),
    ],
)
def test_anthropic_meets_each_fault_as_its_own_error(
    server: AIServer, claude: anthropic.Anthropic, fault: str, error: type[anthropic.APIError]
) -> None:
    server.next(fault)
    with pytest.raises(error):
        ask_claude(claude)
    assert server.paid == []


def test_a_used_up_quota_is_told_from_a_rate_limit_by_its_code(server: AIServer, client: openai.OpenAI) -> None:
    server.next("insufficient_quota")
    with pytest.raises(openai.RateLimitError) as caught:
        ask(client)
    assert caught.value.code == "insufficient_quota"


@pytest.mark.parametrize(("seconds", "header"), [(None, None), (2, "2"), (0.05, "0.05")])
def test_a_rate_limit_may_say_how_long_to_wait(
    server: AIServer, client: openai.OpenAI, seconds: float | None, header: str | None
) -> None:
    server.next(too_many_requests(seconds))
    with pytest.raises(openai.RateLimitError) as caught:
        ask(client)
    assert caught.value.response.headers.get("retry-after") == header


def test_broken_json_is_no_answer_but_paid(server: AIServer, client: openai.OpenAI) -> None:
    server.next("broken_json")
    with pytest.raises(ValueError, match=r"(?i)json|delimiter|unterminated|expecting"):
        ask(client)
    assert len(server.paid) == 1


@pytest.mark.parametrize(
    ("fault", "finish_reason", "stop_reason"),
    [("length", "length", "max_tokens"), ("content_filter", "content_filter", "refusal")],
)
def test_a_cut_off_answer_says_why_and_is_paid(
    server: AIServer,
    client: openai.OpenAI,
    claude: anthropic.Anthropic,
    fault: str,
    finish_reason: str,
    stop_reason: str,
) -> None:
    server.always(fault)
    assert ask(client).choices[0].finish_reason == finish_reason
    assert ask_claude(claude).stop_reason == stop_reason
    assert len(server.paid) == 2


@pytest.mark.parametrize(
    ("fault", "sign"),
    [("refusal", "can't assist"), ("repetition", "and so on\n\nand so on"), ("fence", "```markdown\n")],
)
def test_a_bad_answer_looks_like_a_good_one(server: AIServer, client: openai.OpenAI, fault: str, sign: str) -> None:
    server.always(fault)
    choice = ask(client).choices[0]
    assert choice.finish_reason == "stop"
    assert sign in (choice.message.content or "")


def test_an_empty_answer_is_empty(server: AIServer, client: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    server.always("empty")
    assert ask(client).choices[0].message.content == ""
    assert ask_claude(claude).content == []


def test_a_slow_answer_comes_and_one_nobody_waits_for_is_not_paid(server: AIServer, client: openai.OpenAI) -> None:
    server.next(slow(0.05), slow(60))
    assert ask(client).choices[0].message.content
    with pytest.raises(openai.APITimeoutError):
        ask(client.with_options(timeout=2))
    eventually(lambda: server.waiting == 0)
    assert [call.paid for call in server.calls] == [True, False]


def test_a_mix_is_drawn_per_call_and_the_same_for_the_same_seed(server: AIServer, client: openai.OpenAI) -> None:
    def sequence() -> list[str]:
        server.mix({"length": 0.3, "refusal": 0.2}, seed=7)
        before = len(server.calls)
        for _ in range(40):
            ask(client)
        return [call.given for call in server.calls[before:]]

    first = sequence()
    assert set(first) == {"length", "refusal", "answer"}
    assert sequence() == first


def test_200_calls_may_hang_at_once_and_end_with_the_server() -> None:
    async def hang(server: AIServer) -> list[BaseException | None]:
        async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="k", max_retries=0, timeout=60) as client:
            calls = [
                asyncio.ensure_future(
                    client.chat.completions.create(model="m", messages=[{"role": "user", "content": str(number)}])
                )
                for number in range(200)
            ]
            await asyncio.to_thread(eventually, lambda: server.waiting == 200)
            await asyncio.to_thread(server.close)
            await asyncio.wait(calls)
            return [call.exception() for call in calls]

    with AIServer() as server:
        server.always("hang")
        errors = asyncio.run(hang(server))
    assert {type(error) for error in errors} == {openai.APIConnectionError}
    assert server.busiest == 200
    assert server.paid == []


def test_a_path_nobody_serves_is_not_found(server: AIServer) -> None:
    with (
        openai.OpenAI(base_url=server.url + "/v2", api_key="k", max_retries=0) as client,
        pytest.raises(openai.NotFoundError, match="Unknown path /v2/chat/completions"),
    ):
        ask(client)
