"""The interface of a database dialect. Each database has a subclass in its own file.

The rest of the store writes SQLAlchemy SQL, which is the same for all databases, and calls this interface where they differ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import sqlalchemy as sa

if TYPE_CHECKING:
    from fanfold.store.dialects.access import DatabaseAccess, Wishes
    from fanfold.store.dialects.sql_clock import SqlClock

Row = Mapping[str, Any]
Columns = Mapping[str, sa.types.TypeEngine[Any]]
Places = Callable[[sa.ColumnElement[int], sa.ColumnElement[str]], Sequence[sa.ColumnElement[Any]]]
"""The values of a new row, given its index in a list (from 0) and the text at that index."""


class Upsert(Protocol):
    """An INSERT that can update existing rows."""

    excluded: sa.ColumnCollection[str, Any]
    """The rows proposed for insertion."""

    def values(self, *rows: Any, **values: Any) -> Self:
        """Insert these values."""
        ...

    def from_select(self, names: Sequence[str], select: sa.Select[Any]) -> Self:
        """Insert the result of a SELECT."""
        ...

    def on_conflict_do_update(
        self,
        *,
        index_elements: Sequence[str],
        set_: Mapping[str, Any],
        where: sa.ColumnElement[bool] | None = None,
    ) -> sa.Insert:
        """Set these values where a row with the same key exists."""
        ...

    def on_conflict_do_nothing(self) -> sa.Insert:
        """Leave an existing row with the same key unchanged."""
        ...


class Version(NamedTuple):
    """The doctor's report on the database's own version."""

    fact: str
    advice: str = ""
    """What to do about it; empty if all is well."""


class Spoiled(NamedTuple):
    """What an error has made unusable: this connection, or all connections of the pool."""

    connection: bool
    pool: bool


class Errors(ABC):
    """Classifies the errors of a database driver, with the codes of ``database_errors``."""

    ways_out: Mapping[str, str] = {}
    """Error text of the database → what a person can do."""
    passing: tuple[str, ...] = ()
    """Error texts, in lower case, of a server that is not ready or has no free connection."""

    @abstractmethod
    def meaning(self, error: BaseException) -> str:
        """Classify a driver error: one of the four codes."""

    @abstractmethod
    def spoils(self, error: BaseException, connection: Any) -> Spoiled:
        """Whether this error makes the driver's connection unusable."""

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the transaction was rolled back in favour of another one, so that a retry may succeed."""
        return False

    def is_locked_out(self, error: BaseException) -> bool:
        """Whether waiting for a lock timed out."""
        return False


class Dialect(ABC):
    """One kind of database. A stateless singleton, so it can be the cache key of statements that are built once."""

    name: str
    """SQLAlchemy's name for it."""
    errors: Errors
    locks_rows: bool
    """Whether writers lock individual rows. If so, rows are locked in id order, so that writers cannot deadlock. If only one
    writes at a time, rows are read in index order instead, which saves a sort."""
    indexes_end_with_id: bool
    """Whether a range of any index is read in id order."""
    joins_updates: bool
    """Whether a statement can join the rows it has just updated."""
    time_type: sa.types.TypeEngine[Any]
    """Column type of a time."""
    beginning: Any
    """A time before any stored one, in the driver's type."""

    @abstractmethod
    def checked(self, url: sa.URL) -> sa.URL:
        """Check the URL and fill in the driver; DatabaseProblem says what is wrong with it."""

    @abstractmethod
    def access(self, url: sa.URL, wishes: Wishes) -> DatabaseAccess:
        """Access to the database at a URL."""

    @abstractmethod
    def clock(self, read: Callable[[], datetime] | None = None) -> SqlClock:
        """The database's clock, or ``read`` in its place."""

    @abstractmethod
    def time_sent(self, value: datetime) -> Any:
        """Convert a time for the database."""

    @abstractmethod
    def insert(self, table: sa.Table) -> Upsert:
        """An INSERT that can update existing rows."""

    @abstractmethod
    def unfolded(self, columns: Columns) -> sa.FromClause:
        """The parameter ``rows`` (a list of mappings) as a table with the given columns."""

    @abstractmethod
    def unnested(self, columns: Columns) -> sa.FromClause:
        """The same for short values; takes the parameters of ``short_values``."""

    @abstractmethod
    def short_values(self, names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
        """The parameters of ``unnested``."""

    @abstractmethod
    def listed(self, name: str) -> sa.Select[Any]:
        """The numbers of a list parameter, one per row."""

    @abstractmethod
    def among(self, column: sa.ColumnElement[Any], name: str = "ids") -> sa.ColumnElement[bool]:
        """The column is one of the numbers of a list parameter.

        One parameter for the whole list, so that the statement is built once. With one per number, Python would take several
        times as long as SQLite, while the transaction holds the write lock.
        """

    @abstractmethod
    def one_of(self, column: sa.ColumnElement[Any], limited: sa.Select[Any]) -> sa.ColumnElement[bool]:
        """The column is one of the values of a limited SELECT, which runs only once."""

    @abstractmethod
    def append_rows(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Insert many plain rows as fast as the database can."""

    @abstractmethod
    def put_rows(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
        """Insert rows with the same columns, or replace these columns where the primary key already exists."""

    @abstractmethod
    def add_listed(
        self, connection: sa.Connection, table: sa.Table, names: tuple[str, ...], places: Places, values: Row
    ) -> Sequence[int]:
        """Insert a row for each text of the parameter ``keys``, in order; returns their ids, ascending."""

    @abstractmethod
    def reserve_number(self, connection: sa.Connection, column: sa.Column[int]) -> int:
        """Reserve a unique number of the table."""

    @abstractmethod
    def json_list(self, document: sa.ColumnElement[str], field: str, name: str) -> sa.FromClause:
        """The list in a field of a JSON text, as a table with the single column ``value``."""

    @abstractmethod
    def json_field(self, value: sa.ColumnElement[Any], field: str) -> sa.ColumnElement[Any]:
        """A field of a JSON value."""

    @abstractmethod
    def whole(self, number: sa.ColumnElement[float]) -> sa.ColumnElement[Any]:
        """A number that is not negative, without its fraction."""

    @abstractmethod
    def day(self, moment: sa.ColumnElement[datetime]) -> sa.ColumnElement[str]:
        """The day of a time in UTC, as `2026-11-17`."""

    def hidden(self, number: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Keep the planner from using an index on this number, if it would choose the wrong index."""
        return number

    def only_checked(self, condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        """Keep the planner from using this condition as the access path: the rows must be found by id."""
        return condition

    def only_equal(self, column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
        """The same for the condition that a text has this value, which also appears in partial indexes."""
        return column == sa.literal_column(f"'{text}'")

    def analyze(self, connection: sa.Connection, table: sa.Table, new: int, *others: str) -> None:
        """Update the planner's statistics of a table that got ``new`` rows at once, and of others, if they need it."""
        return

    def announce(self, connection: sa.Connection) -> None:
        """Notify listeners on commit that something has changed, unless they notice by themselves."""
        return

    def is_read_only(self, connection: sa.Connection) -> bool:
        """Whether the database currently refuses writes."""
        return False

    def newest_schema(self) -> tuple[str, list[str]]:
        """A revision, and the statements that make an empty database of it; none if only the migrations can make one."""
        return "", []

    @abstractmethod
    def trigger_statements(self, refused: Mapping[str, str]) -> list[str]:
        """Triggers that refuse changes of state: table → condition over ``OLD`` and ``NEW``."""

    @abstractmethod
    def append_only_statements(self, table: str) -> list[str]:
        """Triggers that refuse to change or remove rows of a table."""

    @property
    def version(self) -> Version | None:
        """The doctor's report on the version in use, if any."""
        return None
