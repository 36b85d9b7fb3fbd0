"""A provider is configured by `fanfold.toml` and the environment."""

import os
from pathlib import Path

import pytest

from fanfold.errors import BadInput
from fanfold.providers.configuration import (
    Provider,
    choose,
    default_provider,
    find,
    load,
    unknown_model,
    unknown_provider,
)


def written(folder: Path, text: str) -> Path:
    (folder / "fanfold.toml").write_text(text)
    return folder


def test_some_are_known_without_any_configuration(tmp_path: Path) -> None:
    known = load({}, tmp_path)
    assert {"openai", "anthropic", "ollama"} <= set(known)
    assert known["openai"].address == "https://api.openai.com/v1"
    assert known["ollama"].key_env == "", "a server of one's own needs no key"


def test_a_table_adds_one_and_changes_another(tmp_path: Path) -> None:
    text = """
    concurrency = 4
    [providers.vllm]
    base_url = "http://10.0.0.5:8000/v1"
    model = "qwen"
    timeout = 30
    [providers.openai]
    model = "other"
    """
    known = load({}, written(tmp_path, text))
    assert known["vllm"] == Provider("vllm", "openai", "http://10.0.0.5:8000/v1", model="qwen", timeout=30.0)
    assert (known["openai"].model, known["openai"].key_env) == ("other", "OPENAI_API_KEY")


def test_the_environment_has_the_last_word(tmp_path: Path) -> None:
    folder = written(tmp_path, '[providers.mine]\nbase_url = "http://one/v1"\nmodel = "a"\n')
    known = load({"FANFOLD_PROVIDERS_MINE_MODEL": "b", "FANFOLD_PROVIDERS_MINE_PRICE_INPUT": "0.5"}, folder)
    assert (known["mine"].base_url, known["mine"].model, known["mine"].price_input) == ("http://one/v1", "b", 0.5)
    assert load({"OPENAI_BASE_URL": "http://two/v1"}, tmp_path)["openai"].base_url == "http://two/v1"


def test_a_name_with_a_dash_is_found_in_the_environment(tmp_path: Path) -> None:
    folder = written(tmp_path, '[providers.my-own]\nbase_url = "http://one/v1"\n')
    known = load({"FANFOLD_PROVIDERS_MY_OWN_MODEL": "b"}, folder)
    assert (known["my-own"].model, "my_own" in known) == ("b", False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[providers.mine]\nmodle = "x"', "unknown modle"),
        ('[providers.mine]\napi_key = "sk-1"', "key_env"),
        ('[providers.mine]\nkind = "grpc"', "kind is 'grpc'"),
        ('[providers.mine]\nbase_url = "ftp://x"', "http://"),
        ('[providers.mine]\ntimeout = "soon"', "not a number"),
        ("[providers.mine]\nconcurrency = 0", "more than 0"),
        ("[providers]\nmine = 3", "must be a table"),
        ('[providers.local]\nmodel = "x"', "cannot be the name"),
        ('[providers."My Own"]\nmodel = "x"', "cannot be the name"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        load({}, written(tmp_path, text))


def test_an_unknown_variable_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="FANFOLD_PROVIDERS_MINE_MODLE"):
        load({"FANFOLD_PROVIDERS_MINE_MODLE": "b"}, tmp_path)


@pytest.mark.parametrize(
    ("entry", "provider", "model"),
    [
        ("openai", "openai", "gpt-5.4-mini"),
        ("ollama:qwen2.5vl:7b", "ollama", "qwen2.5vl:7b"),
        ("meta/llama:1", "openai", "meta/llama:1"),
        ("anthropic:", "anthropic", "claude-haiku-5-5"),
    ],
)
def test_provider_and_model_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, provider: str, model: str
) -> None:
    monkeypatch.delenv("FANFOLD_PROVIDER", raising=False)
    known = load({}, tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    found, name = choose(entry, known)
    assert (found.name, name) == (provider, model)


def test_without_a_default_model_one_has_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--model ollama:MODEL"):
        choose("ollama", load({}, tmp_path))


def test_the_default_is_the_one_whose_key_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FANFOLD_PROVIDER", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    known = load({}, tmp_path)
    assert default_provider(known).name == "anthropic"
    monkeypatch.setenv("FANFOLD_PROVIDER", "ollama")
    assert default_provider(known).name == "ollama"


def test_an_unknown_provider_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Known providers: openai.*\[providers.mine\]"):
        find("mine", load({}, tmp_path))


def test_an_address_never_shows_a_password() -> None:
    assert Provider("x", base_url="https://user:secret@host:1/v1?key=2").address == "https://host:1/v1"
    assert "secret" not in Provider("x", base_url="https://user:secret@host/v1").address


@pytest.fixture
def nobody_ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, no default, no fanfold.toml."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", *(name for name in os.environ if "FANFOLD_PROVIDER" in name)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("nobody_ready")
def test_a_model_of_an_unknown_provider_is_told_with_the_known_ones_and_the_way_out() -> None:
    for entry in ("nosuch/model", "nosuch:model", "nosuch::model"):
        said = unknown_model(entry) or ""
        assert "Known providers: openai, anthropic, ollama, lmstudio." in said
        assert "[providers.nosuch] in fanfold.toml" in said
    assert [unknown_model(one) for one in ("", "local", "gpt-5", "ollama:qwen:7b", "openai", "openai::x/y")] == [
        None
    ] * 6
    assert [unknown_provider(one) for one in ("", "local", "ollama")] == [None] * 3
    assert "Unknown provider 'nix'." in (unknown_provider("nix") or "")


@pytest.mark.usefixtures("nobody_ready")
@pytest.mark.parametrize("variable", ["FANFOLD_PROVIDER", "OPENAI_API_KEY"])
def test_with_a_default_provider_any_name_may_be_one_of_its_models(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "openai")
    assert unknown_model("meta/llama:1") is None
    assert unknown_model("nosuch::model")
