"""The list of items that a batch handler gets: it can be read like any list, but not changed in place.

Results are assigned by position. A handler that sorted the list itself would give each item the result of another one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from fanfold.model.text.sentences import say


class FixedItems(list[Any]):
    """A list that refuses to be changed; copies of it are ordinary lists."""

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy made by `copy` or `pickle` is an ordinary list too."""
        return list, (list(self),)

    def _refuse(self, *given: object, **named: object) -> NoReturn:
        raise TypeError(say("batch_list_fixed"))

    sort = reverse = clear = pop = append = extend = insert = remove = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
