"""`python -m tests.chaos.next_version KIND …` is the command of a next version: this one, with one more revision.

`additive` adds to the tables and lets today's code continue; `breaking` says that today's code cannot; `renaming` ensures it.
"""

import os
import sys
from pathlib import Path

from alembic.config import Config

from fanfold.store.upgrade import revisions

NEXT = "9000"
KINDS = {"additive": revisions.HISTORY[-1].compatible_from, "breaking": NEXT, "renaming": NEXT}


def become(kind: str) -> None:
    """Know one revision more; before anything else has looked at those that are known."""
    revisions.HISTORY = (*revisions.HISTORY, revisions.Revision(NEXT, KINDS[kind]))
    revisions.REVISIONS = (*revisions.REVISIONS, NEXT)
    revisions.NEWEST = NEXT
    from fanfold.store.upgrade import migrate

    ours, theirs = migrate.config, Path(__file__).parent / "next_versions" / kind

    def config() -> Config:
        made = ours()
        place = Path(str(made.get_main_option("script_location"))) / "versions"
        made.set_main_option("path_separator", "os")
        made.set_main_option("version_locations", os.pathsep.join(map(str, (place, theirs))))
        return made

    migrate.config = config


if __name__ == "__main__":
    become(sys.argv.pop(1))
    from fanfold.cli import main

    main()
