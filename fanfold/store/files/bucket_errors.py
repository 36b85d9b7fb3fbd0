"""Turns errors of the S3 client into sentences. Only status, code and kind are quoted: the full text may name a key id."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.files.address import S3Address
from fanfold.store.files.file_store import FILES_REFUSED, FILES_UNREACHABLE, FILES_UNSAFE

Answer = TypeVar("Answer")
STATUS = re.compile(r"status code: (\d{3}|\w+)")
CODE = re.compile(r"<Code>(\w{1,60})</Code>")
KINDS = (
    ("Connection refused", "connection refused"),
    ("dns error", "its name cannot be resolved"),
    ("operation timed out", "no answer in time"),
    ("deadline has elapsed", "no answer in time"),
    ("onnection reset", "connection reset"),
    ("connection closed", "connection closed"),
    ("end of file before message length", "the answer was cut off"),
    ("error decoding response body", "the answer was cut off"),
    ("certificate", "its certificate is not accepted"),
    ("169.254.169.254", "no credentials were found"),
    ("credential", "no credentials were found"),
)
"""Parts of error texts, and what they mean for people."""
REFUSED = ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AuthFailure")
NO_BUCKET = "NoSuchBucket"
UNKNOWN_CONDITION = "NotImplemented"
"""How services answer (501) that know conditions only for reading. Waiting for them would be in vain."""
NOT_FROM_S3 = re.compile(r"status code: 404[^:\n]*: *[^\s]")
"""A 404 with a body; those of S3 have a code in it, except for HEAD, which has no body."""


def asked(address: S3Address, request: Callable[[], Answer]) -> Answer:
    """The answer to a request; DatabaseProblem for an error of the S3 client. A missing object stays a FileNotFoundError.

    The original error is neither cause nor context of the problem: it would be stored with the item, and may name a key id.
    So the problem is raised here and not by a context manager, which would keep the error as its context.
    """
    from obstore.exceptions import AlreadyExistsError, BaseError

    problem: Exception
    try:
        return request()
    except AlreadyExistsError:
        problem = NameTaken()
    except FileNotFoundError as error:
        problem = _missing(address, error)
    except (BaseError, PermissionError, TimeoutError, ConnectionError) as error:
        problem = _problem(address, error)
    raise problem


class NameTaken(Exception):
    """There is an object of this name already."""


def _missing(address: S3Address, error: Exception) -> Exception:
    """A 404 that is not S3's comes from something before the service, and says nothing about the object."""
    code = _code(error)
    if code == NO_BUCKET:
        return _refused(address, say("bucket_missing", bucket=address.bucket))
    if not code and NOT_FROM_S3.search(str(error)):
        return _unreachable(address, "404")
    return FileNotFoundError("not found")


def written(address: S3Address, request: Callable[[], Answer]) -> Answer:
    """The answer to a request that writes. Nothing that is written can be missing, so a 404 is a problem of the service."""
    try:
        return asked(address, request)
    except FileNotFoundError:
        problem = _unreachable(address, "404")
    raise problem


def truncated(address: S3Address) -> DatabaseProblem:
    """The problem of an answer that is shorter than it should be."""
    return _unreachable(address, "the answer was cut off")


def unsafe(address: S3Address) -> DatabaseProblem:
    """The problem of a service without conditional writes."""
    said = say("files_unsafe", place=str(address))
    return DatabaseProblem(said, code=FILES_UNSAFE, public=say("files_unreachable_public"))


def _problem(address: S3Address, error: Exception) -> DatabaseProblem:
    text, code = str(error), _code(error)
    if code == NO_BUCKET:
        return _refused(address, say("bucket_missing", bucket=address.bucket))
    if code in REFUSED or type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError", "PermissionError"):
        return _refused(address, code or "access denied")
    if code == UNKNOWN_CONDITION:
        return unsafe(address)
    status = STATUS.search(text)
    if code or status:
        return _unreachable(address, " ".join(one for one in (status[1] if status else "", code) if one))
    kind = next((said for part, said in KINDS if part in text), type(error).__name__)
    return _unreachable(address, kind)


def _code(error: Exception) -> str:
    found = CODE.search(str(error))
    return found[1] if found else ""


def _unreachable(address: S3Address, why: str) -> DatabaseProblem:
    said = say("files_unreachable", place=str(address), why=why)
    return DatabaseProblem(said, code=FILES_UNREACHABLE, public=say("files_unreachable_public"))


def _refused(address: S3Address, why: str | Sentence) -> DatabaseProblem:
    said = say("files_refused", place=str(address), why=why)
    return DatabaseProblem(said, code=FILES_REFUSED, public=say("files_unreachable_public"))
