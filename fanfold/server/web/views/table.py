"""Shows the records of a task as a table. A single item of such a task is shown as a record."""

from __future__ import annotations

from fanfold.server.web.views.record import shown

__all__ = ["shown"]
