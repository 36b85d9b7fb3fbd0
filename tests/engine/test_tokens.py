"""A token works only for its owner and role, and only until it expires or is revoked."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine import tokens
from tests.installation import HandClock, Installation


def test_a_secret_finds_its_token(installation: Installation) -> None:
    made = tokens.create(installation.store, "ann")
    found = tokens.find(installation.store, made.secret)
    assert found is not None
    assert (found.name, found.owner, found.role, found.expires_at) == ("ann", "ann", "member", None)
    assert made.secret.startswith("ffk_")


def test_a_secret_is_kept_nowhere(installation: Installation) -> None:
    made = tokens.create(installation.store, "ann")
    assert made.secret not in str(installation.rows())
    assert made.secret.removeprefix("ffk_") not in str(installation.rows())
    assert "hash" not in tokens.every(installation.store)[0].__dataclass_fields__


def test_another_secret_finds_nothing(installation: Installation) -> None:
    tokens.create(installation.store, "ann")
    for secret in (
        "",
        "ffk_",
        "ffk_wrong",
        "x" * 43,
        "ffk_" + "x" * 1_000,
        "ffk_\0",
        "ffk_红",
        "ffk_\ud800",
        "ffk_'--",
    ):
        assert tokens.find(installation.store, secret) is None


def test_whose_tasks_a_token_sees(installation: Installation) -> None:
    def owner(name: str, **how: Any) -> str | None:
        return tokens.create(installation.store, name, **how).owner

    assert owner("ann") == "ann"
    assert owner("laptop", owner="ann") == "ann"
    assert owner("screen", role="viewer", owner="*") is None
    assert owner("boss", role="admin") is None
    assert owner("chief", role="admin", owner="*") is None
    assert owner("guest", owner="") == "guest"


def test_a_token_ends_at_its_time(installation: Installation, clock: HandClock) -> None:
    made = tokens.create(installation.store, "ann", days=2)
    clock.advance(2 * 86_400 - 1)
    assert tokens.find(installation.store, made.secret) is not None
    clock.advance(2)
    assert tokens.find(installation.store, made.secret) is None
    assert [token.name for token in tokens.every(installation.store)] == ["ann"]


def test_a_revoked_token_is_worthless_and_its_name_is_free(installation: Installation) -> None:
    old = tokens.create(installation.store, "ann")
    with pytest.raises(ff.BadInput, match="already a token ann"):
        tokens.create(installation.store, "ann")
    tokens.revoke(installation.store, "ann")
    assert tokens.find(installation.store, old.secret) is None
    assert tokens.create(installation.store, "ann").secret != old.secret
    with pytest.raises(ff.NotFound, match="no token bob"):
        tokens.revoke(installation.store, "bob")


BAD: list[tuple[str, dict[str, Any]]] = [
    ("", {}), ("a b", {}), ("a\n", {}), ("a\0", {}), ("x" * 101, {}), ("\ud800", {}), ("ann", {"role": "king"}),
    ("ann", {"days": 0}), ("ann", {"days": float("nan")}), ("ann", {"days": 1e9}), ("ann", {"owner": "x" * 201}),
    ("ann", {"owner": "a\0b"}), ("ann", {"owner": "\ud800"}), ("ann", {"role": "admin", "owner": "ann"}),
]  # fmt: skip


def test_a_token_that_makes_no_sense_is_not_made(installation: Installation) -> None:
    for name, how in BAD:
        with pytest.raises(ff.BadInput):
            tokens.create(installation.store, name, **how)
    assert tokens.every(installation.store) == []
