"""A task whose item failed in an earlier stage can be looked at in its later stages."""

import fanfold as ff
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.testing import Engine

chained = ff.Pipeline("chained")


@chained.each(tolerate=0.99, retry=ff.Retry(limit=0))
def first(item: ff.ItemWork) -> str:
    """Fails for one item."""
    if item.input == "bad":
        raise ff.Permanent("bad")
    return str(item.input)


@chained.each(tolerate=0.99)
def second(item: ff.ItemWork) -> str:
    """Gets what is left."""
    return str(item.input)


def test_a_gap_in_a_later_stage_is_a_failed_cell(engine: Engine) -> None:
    task = engine.submit(chained, items=["a", "bad", "c"])
    engine.run()
    cells = WebQueries(engine.client.lookup).cells(task.id, "second")
    assert (engine.task(task).state, cells.total, cells.letters) == ("completed", 3, "dfd")
