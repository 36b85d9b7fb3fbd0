"""The type variables of what handlers take and return: ``ItemWork[In, Out]``, ``Result[In, Out]``, ``NewItem[In]``.

Each defaults to ``Any``, so a bare ``ItemWork`` is correct too.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar

In = TypeVar("In", default=Any)
"""The input of an item or a task."""
Out = TypeVar("Out", default=Any)
"""The output of an item."""
