"""The type variables of what handlers get and give: ``ItemWork[In, Out]``, ``Result[In, Out]``, ``NewItem[In]``.

Each has the default ``Any``, so that a bare ``ItemWork`` stays correct.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar

In = TypeVar("In", default=Any)
"""The input of an item or a task."""
Out = TypeVar("Out", default=Any)
"""The output of an item."""
