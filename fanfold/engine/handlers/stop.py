"""What an attempt is given to notice that it must stop, and to stop its clock while it waits."""

from __future__ import annotations


class Stop:
    """A flag that a result is no longer wanted. No thread waits for it, so it is lighter than an event."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said = False

    def set(self) -> None:
        """Set it."""
        self._said = True

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._said


class NoClock:
    """Used instead of a time limit if there is none."""

    def hold(self) -> None:
        """Nothing to stop."""

    def go_on(self) -> None:
        """Nothing to start."""
