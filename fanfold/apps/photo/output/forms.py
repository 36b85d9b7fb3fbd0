"""The forms of a result: all pictures in an archive, and what is known of each as JSON."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import fanfold as ff


def as_archive(work: ff.FormWork) -> Path:
    """All pictures, and a list of them."""
    path = work.scratch / "pictures.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for image in work.result["images"]:
            archive.writestr(image["file"].name, image["file"].read_bytes())
        archive.writestr("pictures.json", _listed(work.result))
    return path


def as_list(work: ff.FormWork) -> str:
    """Prompt, seed, service, cost and place of each picture, and the ones that are missing."""
    return _listed(work.result)


def _listed(result: dict[str, Any]) -> str:
    images = [{**image, "file": image["file"].name} for image in result["images"]]
    return json.dumps({"images": images, "missing": result["missing"]}, ensure_ascii=False, indent=2) + "\n"


def declare(pipeline: ff.Pipeline) -> None:
    """Declare the forms of a pipeline."""
    pipeline.form("zip", label="All pictures", media_type="application/zip", ending=".zip")(as_archive)
    pipeline.form("list", label="List", media_type="application/json", ending=".json")(as_list)
