"""Makes pictures with image services: external jobs in short steps, marked as made by AI, delivered to a folder or a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fanfold as ff

if TYPE_CHECKING:
    from fanfold.apps.photo.pipeline import photo as photo

__all__ = ["application", "photo"]

application = ff.Application(
    "photo",
    title="Pictures from image services",
    order=40,
    pipelines=("fanfold.apps.photo.pipeline:photo",),
    commands=(
        ff.AppCommand(
            "photo",
            "fanfold.apps.photo.command:command",
            help="Make pictures with an image service; run it again and it resumes.",
            example='photo "a red dress in a garden" -o out/',
        ),
        ff.AppCommand(
            "scenes",
            "fanfold.apps.photo.prompting.scenes_command:command",
            help="List, show, save and delete scenes: named templates of prompts.",
            example="scenes save studio studio.json",
        ),
    ),
)


def __getattr__(name: str) -> Any:
    """Import the pipeline on first use."""
    if name == "photo":
        from fanfold.apps.photo.pipeline import photo

        return photo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
