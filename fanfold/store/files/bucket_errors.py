"""Turns errors of the S3 client into sentences. Only status, code and kind are quoted: the full text may name a key id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.files.address import S3Address
from fanfold.store.files.file_store import FILES_REFUSED, FILES_UNREACHABLE

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


@contextmanager
def telling(address: S3Address) -> Iterator[None]:
    """Raise DatabaseProblem for an error of the S3 client; FileNotFoundError for a missing object stays one.

    The original error is not chained: it would be stored with the item, and may name a key id.
    """
    from obstore.exceptions import AlreadyExistsError, BaseError

    problem: DatabaseProblem
    try:
        yield
        return
    except AlreadyExistsError:
        raise
    except FileNotFoundError as error:
        if _code(error) != NO_BUCKET:
            raise FileNotFoundError("not found") from None
        problem = _refused(address, say("bucket_missing", bucket=address.bucket))
    except (BaseError, PermissionError, TimeoutError, ConnectionError) as error:
        problem = _problem(address, error)
    raise problem


def truncated(address: S3Address) -> DatabaseProblem:
    """The problem of an answer that is shorter than it should be."""
    return _unreachable(address, "the answer was cut off")


def _problem(address: S3Address, error: Exception) -> DatabaseProblem:
    text, code = str(error), _code(error)
    if code == NO_BUCKET:
        return _refused(address, say("bucket_missing", bucket=address.bucket))
    if code in REFUSED or type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError", "PermissionError"):
        return _refused(address, code or "access denied")
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
