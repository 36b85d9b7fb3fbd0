"""The tables of templates: every version of each, and the tasks that used them."""

from __future__ import annotations

from sqlalchemy import Column, Integer, String, Table, Text

from fanfold.store.dialects.schema import Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

templates = Table(
    "templates",
    metadata,
    Column("kind", String(63), primary_key=True),
    Column("name", String(100), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("actor", String(100), nullable=False),
    Column("at", UtcTime, nullable=False),
)
"""A version is never changed: what a task used can be looked up later."""

template_uses = Table(
    "template_uses",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("kind", String(63), primary_key=True),
    Column("name", String(100), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcTime, nullable=False),
)
"""The versions that tasks were submitted with, or changed to. They outlive a deleted template, so its numbers are not reused."""
