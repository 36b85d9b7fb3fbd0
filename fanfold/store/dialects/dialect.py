"""What a database is asked for: one subclass for each database, in a file of its own.

Everything else in this package writes SQLAlchemy's SQL, which is the same for all of them, and asks here for the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import sqlalchemy as sa

if TYPE_CHECKING:
    from fanfold.store.dialects.access import DatabaseAccess, Wishes
    from fanfold.store.dialects.clock import Clock

Row = Mapping[str, Any]
Columns = Mapping[str, sa.types.TypeEngine[Any]]
Places = Callable[[sa.ColumnElement[int], sa.ColumnElement[str]], Sequence[sa.ColumnElement[Any]]]
"""The values of a new row, given its place in a list (from 0) and the text that stands there."""


class Upsert(Protocol):
    """An INSERT that can update the rows that are there already."""

    excluded: sa.ColumnCollection[str, Any]
    """The rows that were to be inserted."""

    def values(self, *rows: Any, **values: Any) -> Self:
        """Insert these values."""
        ...

    def from_select(self, names: Sequence[str], select: sa.Select[Any]) -> Self:
        """Insert what a SELECT gives."""
        ...

    def on_conflict_do_update(
        self,
        *,
        index_elements: Sequence[str],
        set_: Mapping[str, Any],
        where: sa.ColumnElement[bool] | None = None,
    ) -> sa.Insert:
        """Where there is a row with the same key, set these values."""
        ...

    def on_conflict_do_nothing(self) -> sa.Insert:
        """Where there is a row with the same key, leave it as it is."""
        ...


class Version(NamedTuple):
    """What the doctor says of the database's own version."""

    fact: str
    advice: str = ""
    """What to do about it; empty when all is well."""


class Spoiled(NamedTuple):
    """What an error has spoiled: this connection, or all connections of the pool."""

    connection: bool
    pool: bool


class Errors(ABC):
    """What the errors of a database's driver mean; the codes are those of ``database_errors``."""

    ways_out: Mapping[str, str] = {}
    """What the database says → what a person can do."""
    passing: tuple[str, ...] = ()
    """What is said, in lower case, when a server is not there yet or has no connection left."""

    @abstractmethod
    def meaning(self, error: BaseException) -> str:
        """What an error of the driver means: one of the four codes."""

    @abstractmethod
    def spoils(self, error: BaseException, connection: Any) -> Spoiled:
        """Whether the driver's connection must not be used again after this error."""

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the transaction was ended only so that another could go on: the same again may well succeed."""
        return False

    def is_locked_out(self, error: BaseException) -> bool:
        """Whether a lock was not given in time."""
        return False


class Dialect(ABC):
    """One kind of database. There is one object of each, without state, so statements that are built once are kept by it."""

    name: str
    """As SQLAlchemy calls it."""
    errors: Errors
    locks_rows: bool
    """Whether writers lock single rows. These are taken in the order of their ids then, so that no two writers wait for each
    other. Where one writes at a time, they are taken in the order of an index instead, which spares a sort."""
    indexes_end_with_id: bool
    """Whether a range of any index is read in the order of the rows' ids."""
    joins_updates: bool
    """Whether a statement can join what it has just updated."""
    time_type: sa.types.TypeEngine[Any]
    """How a time is kept."""
    beginning: Any
    """A time before any that is kept, as the driver gives it."""

    @abstractmethod
    def checked(self, url: sa.URL) -> sa.URL:
        """The URL with the driver filled in; DatabaseProblem says what is wrong with it."""

    @abstractmethod
    def access(self, url: sa.URL, wishes: Wishes) -> DatabaseAccess:
        """The way to the database at a URL."""

    @abstractmethod
    def clock(self, read: Callable[[], datetime] | None = None) -> Clock:
        """The database's clock, or one that is read in its place."""

    @abstractmethod
    def time_sent(self, value: datetime) -> Any:
        """A time on its way to the database."""

    @abstractmethod
    def insert(self, table: sa.Table) -> Upsert:
        """An INSERT that can update the rows that are there already."""

    @abstractmethod
    def unfolded(self, columns: Columns) -> sa.FromClause:
        """The parameter ``rows`` (a list of mappings) as a table with the given columns."""

    @abstractmethod
    def unnested(self, columns: Columns) -> sa.FromClause:
        """The same for short values, whose parameters are ``short_values``."""

    @abstractmethod
    def short_values(self, names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
        """The parameters of ``unnested``."""

    @abstractmethod
    def listed(self, name: str) -> sa.Select[Any]:
        """The numbers of a parameter, one per row."""

    @abstractmethod
    def among(self, column: sa.ColumnElement[Any], name: str = "ids") -> sa.ColumnElement[bool]:
        """The column is one of the numbers of a parameter.

        One parameter for all of them, in a statement that is built once: with one for each, Python would take several times as
        long as SQLite, while the transaction holds the write lock.
        """

    @abstractmethod
    def one_of(self, column: sa.ColumnElement[Any], limited: sa.Select[Any]) -> sa.ColumnElement[bool]:
        """The column is one of the values of a SELECT with a limit, which is run once."""

    @abstractmethod
    def append_rows(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Insert many plain rows as fast as the database can."""

    @abstractmethod
    def put_rows(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
        """Insert rows of equal shape, or replace the columns they name where the primary key exists already."""

    @abstractmethod
    def add_listed(
        self, connection: sa.Connection, table: sa.Table, names: tuple[str, ...], places: Places, values: Row
    ) -> Sequence[int]:
        """Insert a row for each text of the parameter ``keys``, in this order; returns their ids, ascending."""

    @abstractmethod
    def reserve_number(self, connection: sa.Connection, column: sa.Column[int]) -> int:
        """A number of the table's own that no other row gets."""

    @abstractmethod
    def json_list(self, document: sa.ColumnElement[str], field: str, name: str) -> sa.FromClause:
        """The list in a field of a JSON text, as a table with the one column ``value``."""

    @abstractmethod
    def json_field(self, value: sa.ColumnElement[Any], field: str) -> sa.ColumnElement[Any]:
        """A field of a JSON value."""

    def hidden(self, number: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """A number that the planner is not to look for in an index, where it would choose the wrong one."""
        return number

    def only_checked(self, condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        """A condition on rows that are found by their ids, where the planner would rather find them by this one."""
        return condition

    def only_equal(self, column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
        """The same for the condition that a text has this value, which is written as in the partial indexes."""
        return column == sa.literal_column(f"'{text}'")

    def analyze(self, connection: sa.Connection, table: sa.Table, new: int, *others: str) -> None:
        """Have the planner look at a table to which so many rows were added at once, and at others, if it has to be told."""
        return

    def announce(self, connection: sa.Connection) -> None:
        """Tell those who listen, when this commits, that something has changed, if they do not see it by themselves."""
        return

    def is_read_only(self, connection: sa.Connection) -> bool:
        """Whether the database takes no writes now."""
        return False

    @abstractmethod
    def trigger_statements(self, refused: Mapping[str, str]) -> list[str]:
        """The triggers that refuse changes of state: table → condition over ``OLD`` and ``NEW``."""

    @property
    def version(self) -> Version | None:
        """What the doctor says of the version in use, if there is anything to say."""
        return None
