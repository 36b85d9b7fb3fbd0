"""The application's own data."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Book(models.Model):
    """A book, and the task that translates it."""

    title: models.CharField[str, str] = models.CharField(max_length=200)
    text: models.TextField[str, str] = models.TextField()
    translation: models.TextField[str, str] = models.TextField(default="")
    task: models.CharField[str, str] = models.CharField(max_length=50, default="")
    """The id of its task; empty until it is submitted."""

    objects: ClassVar[models.Manager[Book]] = models.Manager()
