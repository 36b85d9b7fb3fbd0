"""Stores templates by name and version, and which tasks used them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import tasks, template_uses, templates


class TemplateRow(NamedTuple):
    """A version of a template as stored; its body is JSON text."""

    kind: str
    name: str
    version: int
    body: str
    note: str
    actor: str
    at: datetime


class UseRow(NamedTuple):
    """A task that used a version of a template."""

    kind: str
    name: str
    version: int
    task: str
    title: str
    state: str
    at: datetime


class UsedTemplate(NamedTuple):
    """A version of a template that a task uses."""

    kind: str
    name: str
    version: int


SHOWN = tuple(templates.c[name] for name in TemplateRow._fields)


class StoredTemplates:
    """Verbs on templates, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, row: dict[str, Any]) -> TemplateRow | None:
        """Store a version; None if it exists, because somebody else stored it at the same time."""
        new = self.clock.dialect.insert(templates).values(**row, at=self.clock.now).on_conflict_do_nothing()
        found = self.connection.execute(new.returning(*SHOWN)).first()
        return None if found is None else TemplateRow(*found)

    def next_version(self, kind: str, name: str) -> int:
        """The number of the next version. Versions that tasks used count even if the template was deleted meanwhile."""
        numbers = [
            self.connection.execute(
                sa.select(sa.func.max(table.c.version)).where(table.c.kind == kind, table.c.name == name)
            ).scalar()
            for table in (templates, template_uses)
        ]
        return 1 + max(int(number or 0) for number in numbers)

    def get(self, kind: str, name: str, version: int | None = None) -> TemplateRow | None:
        """One version of a template, by default the newest."""
        found = sa.select(*SHOWN).where(templates.c.kind == kind, templates.c.name == name)
        if version is not None:
            found = found.where(templates.c.version == version)
        row = self.connection.execute(found.order_by(templates.c.version.desc()).limit(1)).first()
        return None if row is None else TemplateRow(*row)

    def newest(self, kind: str | None, limit: int) -> list[TemplateRow]:
        """The newest version of each template, by kind and name."""
        last = sa.select(templates.c.kind, templates.c.name, sa.func.max(templates.c.version).label("version"))
        if kind is not None:
            last = last.where(templates.c.kind == kind)
        chosen = last.group_by(templates.c.kind, templates.c.name).subquery("newest")
        same = sa.and_(*(templates.c[name] == chosen.c[name] for name in ("kind", "name", "version")))
        found = sa.select(*SHOWN).join(chosen, same).order_by(templates.c.kind, templates.c.name).limit(limit)
        return [TemplateRow(*row) for row in self.connection.execute(found)]

    def versions(self, kind: str, name: str, limit: int) -> list[TemplateRow]:
        """The versions of a template, the newest first."""
        found = sa.select(*SHOWN).where(templates.c.kind == kind, templates.c.name == name)
        return [
            TemplateRow(*row)
            for row in self.connection.execute(found.order_by(templates.c.version.desc()).limit(limit))
        ]

    def delete(self, kind: str, name: str) -> int:
        """Delete every version of a template; returns how many there were."""
        mine = sa.delete(templates).where(templates.c.kind == kind, templates.c.name == name)
        return self.connection.execute(mine).rowcount

    def use(self, task: int, used: Iterable[UsedTemplate]) -> None:
        """Record the versions that a task uses; existing records stay unchanged."""
        for one in used:
            values = {"task": task, **one._asdict()}
            new = self.clock.dialect.insert(template_uses).values(**values, at=self.clock.now)
            self.connection.execute(new.on_conflict_do_nothing())

    def users(self, kind: str, name: str, owner: str | None, limit: int) -> list[UseRow]:
        """The tasks that used a template, of one owner or of all, the newest first."""
        used = (template_uses.c.kind == kind, template_uses.c.name == name)
        return self._uses(used, owner, limit)

    def of_task(self, task: int, limit: int) -> list[UseRow]:
        """The versions that a task used, the latest first."""
        return self._uses((template_uses.c.task == task,), None, limit)

    def _uses(self, chosen: tuple[sa.ColumnElement[bool], ...], owner: str | None, limit: int) -> list[UseRow]:
        columns = (template_uses.c.kind, template_uses.c.name, template_uses.c.version)
        shown = sa.select(*columns, tasks.c.id, tasks.c.title, tasks.c.state, template_uses.c.at)
        found = shown.join(tasks, tasks.c.number == template_uses.c.task).where(*chosen)
        if owner is not None:
            found = found.where(tasks.c.owner == owner)
        ordered = found.order_by(template_uses.c.task.desc(), template_uses.c.at.desc(), template_uses.c.version.desc())
        return [UseRow(*row) for row in self.connection.execute(ordered.limit(limit))]
