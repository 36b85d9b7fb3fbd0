"""Values with secret names are hidden, and nothing else."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.model.values.secrets import is_secret
from fanfold.server.requests.hiding import HIDDEN, without_secrets
from tests.cli.samples import words
from tests.server.asking import Asker


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "openaiApiKey", "OPENAI_API_KEY", "x-api-key", "apikey", "api_keys", "openai_key", "APIKey", "openai.key",
        "authorization", "Authorization", "Proxy-Authorization", "credential", "aws_credentials", "credentialsJson",
        "passwd", "db_passwd", "password", "dbPassword", "userpassword", "passphrase", "pwd", "bearer", "bearerToken",
        "private_key", "privateKey", "privateKeyPem", "ssh_private_key", "secret", "clientSecret", "secret_access_key",
        "token", "auth_token", "accessToken", "refresh_tokens",
    ],
)  # fmt: skip
def test_names_of_secrets_are_known_however_they_are_written(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "key", "keys", "Key", "key_env", "keyEnv", "password_env", "api_key_env", "token_env", "tokens", "max_tokens",
        "maxTokens", "prompt_tokens", "token_count", "token_limit", "monkey", "keyboard", "secretary", "sort_key", "public_key",
        "idempotency_key", "private_key_file", "token_url", "model", "provider", "authors", "pages", "",
    ],
)  # fmt: skip
def test_harmless_names_are_left_alone(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": [{"b": {"apiKey": "x", "key": "k"}}]}, {"a": [{"b": {"apiKey": HIDDEN, "key": "k"}}]}),
        ({"credentials": {"user": "u", "x": ["y"]}}, {"credentials": HIDDEN}),
        ({"secrets": ["x", "y"]}, {"secrets": HIDDEN}),
        ([["x", {"password": 1234}]], [["x", {"password": HIDDEN}]]),
        (
            {"password": None, "token": "", "needs_password": True},
            {"password": None, "token": "", "needs_password": True},
        ),
        ({"headers": ["Bearer abcdefgh123"]}, {"headers": [HIDDEN]}),
        ({"pem": "-----BEGIN RSA PRIVATE KEY-----\nMII"}, {"pem": HIDDEN}),
        ({"note": "the bearer of bad news", 1: 2}, {"note": "the bearer of bad news", 1: 2}),
        ("plain", "plain"),
        (7, 7),
    ],
)
def test_secrets_are_hidden_wherever_they_are(value: Any, shown: Any) -> None:
    assert without_secrets(value) == shown


def test_the_api_hides_them_in_what_was_said_of_a_task_and_of_an_item(sqlite_asker: Asker) -> None:
    client = sqlite_asker.place.client()
    said = {"openaiApiKey": "s3cret", "max_tokens": 5}
    item = ff.NewItem("one", "text")
    task = client.submit(words, items=[item], options=said, metadata={"login": {"passwd": "s3cret"}})
    shown = sqlite_asker.get(f"/tasks/{task.id}")
    assert shown["options"] == {"openaiApiKey": HIDDEN, "max_tokens": 5}
    assert shown["metadata"] == {"login": {"passwd": HIDDEN}}
    assert client.get(task.id).options == said
    assert "s3cret" not in sqlite_asker.ask("GET", f"/tasks/{task.id}/item?key=one").text
