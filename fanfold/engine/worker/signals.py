"""Delivers signals to a worker even while its event loop is blocked.

A loop receives signals through its own selector, and Python's signal handlers run between two instructions of the main thread.
A task handler that blocks the loop delays both, so a separate thread reads signals from the wakeup pipe.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HEEDED = (signal.SIGTERM, signal.SIGINT)


def in_main_thread() -> bool:
    """Whether this is the thread that may set signal handlers."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def heeded(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and Ctrl-C call ``stop`` in a separate thread. No effect outside the main thread."""
    if not in_main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    before = {number: signal.signal(number, _nothing) for number in HEEDED}
    listening = threading.Thread(target=_listen, args=(reader, stop), name="signals", daemon=True)
    listening.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before_fd)
        writer.close()
        listening.join()
        reader.close()


def _listen(reader: socket.socket, stop: Callable[[], None]) -> None:
    while numbers := reader.recv(64):
        for number in numbers:
            if number in HEEDED:
                stop()


def _nothing(_number: int, _frame: object) -> None:
    """Do nothing: the signal goes through the pipe."""
