"""Saves, finds and deletes templates, and lists the tasks that used them.

Before a template is saved, the check of its application runs, outside any transaction.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fanfold.engine.queries.lookup import check_limit
from fanfold.errors import BadInput, BadTemplate, HandlerError, NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.pipelines.template_kinds import TemplateKind
from fanfold.model.template import Template, TemplateUse, check_name, is_reference, parse_reference
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import check_text, is_storable
from fanfold.model.values import serial
from fanfold.store.rows.templates import TemplateRow, UsedTemplate, UseRow
from fanfold.store.store import Store

if TYPE_CHECKING:
    from fanfold.engine.client import Client

BODY_BYTES = 500_000
NOTE_LENGTH = 1_000
SHOWN = 1_000
TRIES = 100
"""Maximum retries because others store a version of the same template between our query and our insert."""


class Templates:
    """The templates of an installation: ``client.templates``. Everybody who uses the installation shares them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._store = client.store

    def save(self, kind: str, name: str, body: Any, *, note: str = "") -> Template:
        """Save a template, as version 1 or as the next one; a body equal to the newest makes no new version.

        BadTemplate has a sentence for each mistake that its application finds; then nothing is saved.
        """
        check_name(name)
        check_text(note, "The note", most=NOTE_LENGTH)
        text = canonical(body)
        if problems := self.check(kind, json.loads(text)):
            raise BadTemplate(say("template_refused", name=name, problems=problems), tuple(problems))
        row = {"kind": kind, "name": name, "body": text, "note": note, "actor": self._client.actor}
        return _template(self._store_next(row))

    def _store_next(self, row: dict[str, Any]) -> TemplateRow:
        kind, name = row["kind"], row["name"]
        for _ in range(TRIES):
            with self._store.write() as tx:
                newest = tx.templates.get(kind, name)
                if newest is not None and newest.body == row["body"]:
                    return newest
                version = tx.templates.next_version(kind, name)
                if (kept := tx.templates.add(row | {"version": version})) is not None:
                    return kept
        raise BadInput(say("template_contended", name=name), code="busy")

    def check(self, kind: str, body: Any) -> builtins.list[str]:
        """A sentence for each mistake that the application of this kind finds in a body; nothing is saved."""
        found = self.kind(kind)
        if found.check is None:
            return []
        try:
            return [sentence for sentence in found.check(body) or () if sentence]
        except HandlerError as problem:
            return [problem.message]

    def get(self, kind: str, reference: str) -> Template:
        """The template that `name` (its newest version) or `name@2` means."""
        name, version = parse_reference(reference)
        with self._store.read() as tx:
            row = tx.templates.get(kind, name, version) if is_storable(kind) else None
        if row is None:
            raise NotFound(say("no_template", kind=kind[:100], reference=reference))
        return _template(row)

    def list(self, kind: str | None = None, *, limit: int = SHOWN) -> builtins.list[Template]:
        """The newest version of each template, by kind and name."""
        check_limit(limit)
        with self._store.read() as tx:
            rows = tx.templates.newest(kind, limit) if kind is None or is_storable(kind) else []
        return [_template(row) for row in rows]

    def versions(self, kind: str, name: str, *, limit: int = SHOWN) -> builtins.list[Template]:
        """The versions of a template, the newest first."""
        check_limit(limit)
        with self._store.read() as tx:
            rows = tx.templates.versions(kind, check_name(name), limit) if is_storable(kind) else []
        return [_template(row) for row in rows]

    def delete(self, kind: str, name: str) -> int:
        """Delete a template with all its versions, and return how many there were. Tasks that used it are not changed."""
        with self._store.write() as tx:
            count = tx.templates.delete(kind, check_name(name)) if is_storable(kind) else 0
        if not count:
            raise NotFound(say("no_template", kind=kind[:100], reference=name))
        return count

    def use(self, task_id: str, kind: str, reference: str) -> Template:
        """Record that a task uses a template from now on; for applications that change the template of a task."""
        found = self.get(kind, reference)
        number = self._client.lookup.row(task_id).number
        with self._store.write() as tx:
            if tx.tasks.lock(number) is not None:
                tx.templates.use(number, [UsedTemplate(kind, found.name, found.version)])
        return found

    def tasks(self, kind: str, name: str, *, limit: int = SHOWN) -> builtins.list[TemplateUse]:
        """The tasks that used a template in any version, the newest first."""
        check_limit(limit)
        with self._store.read() as tx:
            found = tx.templates.users(kind, check_name(name), self._client.owner, limit) if is_storable(kind) else []
        return [_use(row) for row in found]

    def used_by(self, task_id: str) -> builtins.list[TemplateUse]:
        """The versions that a task used, the latest first."""
        number = self._client.lookup.row(task_id).number
        with self._store.read() as tx:
            return [_use(row) for row in tx.templates.of_task(number, SHOWN)]

    def kinds(self) -> builtins.list[TemplateKind]:
        """The kinds of templates that the pipelines of this client, and installed ones, take."""
        from fanfold.engine.installed import installed

        others = (one.pipeline for one in installed() if one.pipeline is not None and not one.hidden_by)
        known = [*self._client.pipelines.values(), *others]
        return builtins.list(
            {kind.name: kind for one in reversed(known) for kind in one.template_kinds.values()}.values()
        )

    def kind(self, name: str) -> TemplateKind:
        """The kind with this name. NotFound lists the existing kinds."""
        known = {kind.name: kind for one in self._client.pipelines.values() for kind in one.template_kinds.values()}
        if name not in known:
            known = {kind.name: kind for kind in self.kinds()}
        if name not in known:
            raise NotFound(say("no_template_kind", kind=str(name)[:100], known=sorted(known)), code="no_template_kind")
        return known[name]


def with_templates(
    store: Store, pipeline: Pipeline, options: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[UsedTemplate, ...]]:
    """The options of a submission, with each template's name replaced by its text, and the versions used."""
    found, used = dict(options), []
    for kind in pipeline.template_kinds.values():
        reference = found.get(kind.option) if kind.option else None
        if not is_reference(reference):
            continue
        name, version = parse_reference(reference)
        with store.read() as tx:
            row = tx.templates.get(kind.name, name, version)
        if row is None:
            raise NotFound(say("no_template", kind=kind.name, reference=str(reference)), code="no_template")
        body = json.loads(row.body)
        found[kind.option] = body if isinstance(body, str) else row.body
        used.append(UsedTemplate(row.kind, row.name, row.version))
    return found, tuple(used)


def canonical(body: Any) -> str:
    """A body as text; equal for equal bodies. The order of names is kept, since table columns may depend on it."""
    serial.dump(body, "The template", BODY_BYTES, typed=False)
    if serial.has_marks(body):
        raise BadInput(say("template_marks"))
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _template(row: TemplateRow) -> Template:
    return Template(row.kind, row.name, row.version, json.loads(row.body), row.note, row.actor, row.at)


def _use(row: UseRow) -> TemplateUse:
    return TemplateUse(*row[:5], TaskState(row.state), row.at)
