"""`python manage.py work`: a worker with everything that Django sets up, beside the web server."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

import fanfold as ff
from books.pipeline import submit_forgotten, translate


class Command(BaseCommand):
    """Works until it is stopped. Start as many as you like."""

    help = "Translate books until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """What may be said to it."""
        parser.add_argument("--drain", action="store_true", help="Stop when there is nothing to do.")

    def handle(self, *arguments: Any, **options: Any) -> None:
        """Work."""
        submit_forgotten()
        worker = ff.Worker([translate])
        worker.run(signals=True, drain=options["drain"])
