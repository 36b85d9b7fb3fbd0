"""What requests and answers of every kind share: text, sentences, problems."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.model.text.sentences import Sentence

API = "/api/v1"
Command = Literal["pause", "resume", "cancel", "retry", "accept", "rerun", "merge", "delete"]
TASK_ID = "t-8hk2mq"
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""Text that every database can store and compare: anything without NUL."""


class Said(BaseModel):
    """Code and parameters of a message, for programs and other languages. A parameter may be a message itself."""

    code: str
    parameters: dict[str, JsonValue]

    @classmethod
    def of(cls, text: str | None) -> Said | None:
        """Code and parameters of a text, if it has them."""
        return cls(code=text.code, parameters=dict(text.parameters)) if isinstance(text, Sentence) else None


def said_in(sentences: dict[str, Any]) -> dict[str, Said]:
    """Codes and parameters of a record's texts."""
    return {name: Said.model_construct(**known) for name, known in sentences.items()}


SENTENCES: Any = Field(default={}, description="Codes and parameters of Fanfold's own texts, by field.")


class Problem(BaseModel):
    """An error: a stable code, a fact and a way out."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    sentence: Said | None = Field(default=None, description="Code and parameters of the detail, if it has them.")
    available_commands: list[str] = Field(
        default=[], description="With `illegal_move` and `task_stopped`: the commands possible instead."
    )

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not possible now",
                    "status": 409,
                    "detail": f"Task {TASK_ID} is completed: pause needs an active task.",
                    "code": "illegal_move",
                    "available_commands": ["merge", "rerun", "delete"],
                }
            ]
        },
    )
