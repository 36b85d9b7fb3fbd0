"""Services with the protocol of OpenAI's images: the answer to the request has the picture itself, after a minute or so."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.requests import PICTURE_BYTES, UnknownOutcome, multipart
from fanfold.apps.photo.services.service import Job, Order, Pictures, Service, noted


class OpenAIImages(Service):
    """There is nothing to poll. The picture is stored before the job counts as started, so that it is never lost."""

    def start(self, order: Order, key: str, wake: str | None) -> Job:
        """POST and wait for the picture."""
        given = {**order.parameters, "n": 1, **self.settings.parameters}
        given |= {"model": self.settings.model, "prompt": order.prompt}
        if order.images:
            field = self.settings.image_field or "image[]"
            files = [(field, image.name, image.read(), image.media_type) for image in order.images]
            body, kind = multipart({name: str(value) for name, value in given.items()}, files)
            answer = self._asked("/v1/images/edits", body, key, {"Content-Type": kind})
        else:
            answer = self._asked("/v1/images/generations", given, key, {})
        return self._kept(answer)

    def _asked(self, path: str, body: Any, key: str, headers: dict[str, str]) -> Any:
        return self.requests.start(path, body, key=key, headers=headers, most_bytes=PICTURE_BYTES * 2)

    def _kept(self, answer: Any) -> Job:
        found = answer.get("data") if isinstance(answer, dict) else None
        one = found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}
        link = one.get("url")
        if isinstance(link, str):
            return noted({"id": str(answer.get("created", "")), "link": link})
        try:
            content = base64.b64decode(one.get("b64_json") or "", validate=True)
        except (binascii.Error, TypeError, ValueError):
            content = b""
        if not content:
            raise UnknownOutcome(say_of_photo("no_pictures"))
        return noted({"id": str(answer.get("created", "")), "file": self.keep("answer", content)})

    def look(self, job: Job) -> Pictures | None:
        """The picture is there already."""
        return Pictures(links=(job["link"],)) if "link" in job else Pictures(files=(job["file"],))
