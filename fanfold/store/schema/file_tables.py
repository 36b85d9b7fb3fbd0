"""The table of the buckets that hold files."""

from __future__ import annotations

from sqlalchemy import Column, String, Table

from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

file_places = Table(
    "file_places",
    metadata,
    Column("address", String(500), primary_key=True),
    Column("swept_to", String(300), nullable=False),
    Column("added_at", UtcTime, nullable=False),
)
"""Addresses without credentials. ``swept_to`` is the key at which the last cleanup stopped listing."""
