"""How does a program ask and command? The client: submit, look, wait, steer. Synchronous, safe to use from threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fanfold.engine.queries.tasks import Reader
from fanfold.engine.tasks.accept import Keep, accept
from fanfold.engine.tasks.commands import Commands
from fanfold.engine.tasks.external_decisions import Wish, decide
from fanfold.engine.tasks.submission import OWNER_LENGTH, Submission
from fanfold.engine.tasks.submit import submit_or_find
from fanfold.errors import NotFound
from fanfold.model.pipeline import Pipeline, TaskFunction, as_pipeline, by_name
from fanfold.model.task import Task
from fanfold.model.texts import check_keys, check_text
from fanfold.settings import load as load_settings
from fanfold.store.store import Store

if TYPE_CHECKING:
    from fanfold.engine.actions import ActionOutcome
    from fanfold.engine.forms import FormFile

ACTOR_LENGTH = 100


class Client(Reader):
    """Talks to one installation (a database and its data folder). Ids may be shortened as long as they are unambiguous.

    ``pipelines`` are needed to ``rerun`` tasks, for forms of a result, and for tasks whose pipeline keeps a mirror record
    (``on_move``). Installed ones are known anyway.
    """

    def __init__(
        self,
        database: str | None = None,
        data: str | None = None,
        *,
        store: Store | None = None,
        pipelines: Iterable[Pipeline | TaskFunction] = (),
        actor: str = "person",
        owner: str | None = None,
    ) -> None:
        check_text(actor, "The actor", least=1, most=ACTOR_LENGTH)
        if owner is not None:
            check_text(owner, "The owner", most=OWNER_LENGTH)
        super().__init__(store or Store.open(load_settings(database=database, data=data)), owner)
        self._owned = store is None
        self.pipelines = by_name(pipelines)
        self.actor = actor
        self.commands = Commands(self.store, self.pipelines, actor)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, if this client opened them."""
        if self._owned:
            self.store.close()

    def submit(
        self,
        pipeline: Pipeline | TaskFunction,
        *inputs: Any,
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        title: str | None = None,
        key: str | None = None,
        priority: int = 0,
        tags: Sequence[str] = (),
        owner: str | None = None,
        retry_limit: int | None = None,
        metadata: dict[str, Any] | None = None,
        straight_through: bool = False,
        literal: bool = False,
    ) -> Task:
        """Create a task with its first items, claimable at once; the same ``key`` gives the same task, never a second one.

        For a pipeline, text and paths among ``inputs`` are files, copied in; other values are kept as they are. For an
        ``@task`` function, ``inputs`` and ``options`` are its arguments. ``literal`` says that text is never a path.
        KeyReused when the key belongs to a task with another pipeline, other options, inputs or items.
        """
        wanted = Submission(
            inputs=inputs,
            items=items,
            options={} if options is None else options,
            title=title,
            key=key,
            priority=priority,
            tags=tags,
            owner=self.owner if self.owner is not None else (owner or ""),
            literal=literal,
            retry_limit=retry_limit,
            metadata={} if metadata is None else metadata,
            straight_through=straight_through,
            actor=self.actor,
        )
        return self.submit_or_find(pipeline, wanted)[0]

    def submit_or_find(self, pipeline: Pipeline | TaskFunction, wanted: Submission) -> tuple[Task, bool]:
        """The task of a submission, and whether it is a new one and not the one that has its key."""
        found = submit_or_find(self.store, as_pipeline(pipeline), wanted)
        return self._view(found.row), found.is_new

    def result(self, task_id: str, *, earlier: bool = False, form: str | None = None) -> Any:
        """What the last stage made: a value or a ``File``; for a pipeline that ends with `each`, the list of outputs.

        With ``form``, the result in that form of its application: text, or bytes for a form that is none. TaskStopped while
        the task is not completed; with ``earlier``, what it made before is given all the same.
        """
        if form is None:
            return super().result(task_id, earlier=earlier)
        with self.make_form(task_id, form, earlier=earlier) as made:
            return made.content()

    def make_form(self, task_id: str, form: str, *, earlier: bool = False) -> FormFile:
        """The result in one of the forms of its application, as a file that goes when it is closed (``with``)."""
        from fanfold.engine.forms import make_form

        return make_form(self, task_id, form, earlier=earlier)

    def pause(self, task_id: str, reason: str | None = None) -> Task:
        """Start nothing new and hand back what runs."""
        return self._command(task_id, lambda number: self.commands.pause(number, reason))

    def resume(self, task_id: str) -> Task:
        """Go on; through the gate, if the task waits at one."""
        return self._command(task_id, self.commands.resume)

    def cancel(self, task_id: str, reason: str | None = None) -> Task:
        """Stop for good."""
        return self._command(task_id, lambda number: self.commands.cancel(number, reason))

    def retry(
        self,
        task_id: str,
        items: Sequence[str] = (),
        *,
        stage: str | None = None,
        options: dict[str, Any] | None = None,
        degraded: bool = False,
    ) -> Task:
        """Redo what failed, or the named items (also done ones), with ``options`` laid over the task's own for them.

        ``degraded=True`` redoes just the items whose result is not what was asked for, of the first stage that has any.
        """
        return self._command(
            task_id, lambda number: self.commands.retry(number, items, stage, options, degraded=degraded)
        )

    def rerun(self, task_id: str) -> Task:
        """Start over, with the stages of the code as it is now: the pipeline must be among ``pipelines``, or installed."""
        return self._command(task_id, self.commands.rerun)

    def merge(self, task_id: str) -> Task:
        """Merge now, or again, with what there is."""
        return self._command(task_id, self.commands.merge)

    def accept(
        self, task_id: str, items: Sequence[str] = (), *, stage: str | None = None, reason: str | None = None
    ) -> Task:
        """Keep degraded results as they are: all of them, or those of the named items.

        They stay marked, and count in ``accepted``. A redo that is degraded again needs a person again.
        """
        keep = Keep(tuple(items), stage, reason)
        return self._command(task_id, lambda number: accept(self.store, number, keep, self.actor))

    def external(
        self,
        task_id: str,
        verb: str,
        items: Sequence[str] = (),
        *,
        stage: str | None = None,
        reason: str | None = None,
    ) -> Task:
        """Decide about external jobs whose outcome is unknown, or about those of the named items.

        ``check`` asks the service again now. ``lost`` says that no job was started, or that it was lost: the next one gets a
        new key. ``resend`` starts it again with the same key, for services that de-duplicate.
        """
        wish = Wish(verb, check_keys(items, "`items`"), stage, reason)
        return self._command(task_id, lambda number: decide(self.store, number, wish, self.actor))

    def do(self, task_id: str, action: str, options: dict[str, Any] | None = None) -> ActionOutcome:
        """Take an action that the task's application brings, here and now; it is kept as an event."""
        from fanfold.engine.actions import act

        return act(self, task_id, action, options)

    def delete(self, task_id: str) -> None:
        """Remove the task with all its files."""
        self.commands.delete(self._row(task_id).number)

    def _command(self, task_id: str, act: Any) -> Task:
        number = self._row(task_id).number
        act(number)
        with self.store.read() as tx:
            row = tx.tasks.get(number)
        if row is None:
            raise NotFound(f"Task {task_id} was deleted.")
        return self._view(row)
