"""Signs deliveries as Standard Webhooks 1.0 says. Secrets come from the environment or fanfold.toml, and are stored nowhere."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re

from fanfold.errors import BadInput, HoldItem
from fanfold.model.text.sentences import say
from fanfold.settings import tables

PREFIX = "whsec_"
VARIABLE = "FANFOLD_WEBHOOK_SECRET"


def secret_of(name: str) -> bytes:
    """The secret of a webhook: its own, or that of the installation. HoldItem if this worker knows none."""
    own = f"{VARIABLE}_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    known = tables().get("webhooks", {})
    mine = known.get(name)
    written = mine.get("secret") if isinstance(mine, dict) else None
    text = os.environ.get(own) or written or os.environ.get(VARIABLE) or known.get("secret")
    if not isinstance(text, str) or not text:
        raise HoldItem(say("webhook_no_secret", webhook=name, variable=own))
    return decoded(text)


def decoded(secret: str) -> bytes:
    """The key of a secret such as `whsec_…`."""
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise BadInput(say("webhook_bad_secret")) from None


def signed(secret: bytes, message: str, moment: int, body: bytes) -> dict[str, str]:
    """The headers of a delivery."""
    text = b".".join([message.encode(), str(moment).encode(), body])
    signature = base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
    return {"webhook-id": message, "webhook-timestamp": str(moment), "webhook-signature": f"v1,{signature}"}
