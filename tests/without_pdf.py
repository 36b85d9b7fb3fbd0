"""A pytest plugin that hides the PDF application, as if it were not there: `pytest -p tests.without_pdf`."""

import importlib.metadata
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

found = importlib.metadata.entry_points


def entry_points(**wanted: Any) -> Any:
    """All entry points but that of the application."""
    points: Any = found(**wanted)
    return type(points)(point for point in points if (point.group, point.name) != ("fanfold.apps", "pdf"))


class Hidden:
    """Refuses to import the application."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Nothing, but an error for what is hidden."""
        if name == "fanfold.apps.pdf" or name.startswith("fanfold.apps.pdf."):
            raise ModuleNotFoundError(f"{name} is hidden", name=name)


importlib.metadata.entry_points = entry_points
sys.meta_path.insert(0, Hidden())
