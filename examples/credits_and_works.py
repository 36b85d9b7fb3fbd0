"""Users pay with credits; a table of the program's own changes in the same transactions as its tasks.

python examples/credits_and_works.py
"""

import os
import tempfile
from typing import Any

import fanfold as ff

photo = ff.Pipeline("portraits", title="Portraits")


@photo.each(tolerate=0.99, retry=ff.Retry(limit=0))
def paint(item: Any) -> str:
    """One picture; a service may refuse some."""
    if item.input == "forbidden":
        raise ff.Permanent("the service refuses this prompt")
    return f"a picture of {item.input}"


@photo.price
def price(work: ff.PriceWork) -> ff.Price:
    """Five credits for each picture."""
    return ff.Price(per_item=5)


@photo.on_move
def mirror(connection: Any, change: ff.Change) -> None:
    """Keep the program's own table `works` in step; called inside the transaction of each move."""
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS works (task TEXT PRIMARY KEY, state TEXT)")
    wish = "INSERT INTO works (task, state) VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET state = excluded.state"
    connection.exec_driver_sql(wish, (change.task_id, change.target or "deleted"))


def main() -> None:
    """Ann has 20 credits, and asks for three pictures, of which one cannot be painted."""
    os.environ["FANFOLD_CREDITS"] = "on"
    with tempfile.TemporaryDirectory() as folder, ff.Client(data=folder, pipelines=[photo]) as client:
        client.credits.grant("ann", 20)
        task = client.submit(photo, items=["a fox", "forbidden", "a hare"], owner="ann")
        print(f"{client.credits.balance('ann')} credits left after submit")
        ff.Worker([photo], store=client.store).run(drain=True)
        print(f"{client.credits.balance('ann')} credits left: one picture was refunded")
        try:
            client.submit(photo, items=["a fox"] * 5, owner="ann")
        except ff.NotEnoughCredits as problem:
            print(f"{problem.price} credits are more than {problem.balance}")
        with client.store.read() as tx:
            [(state,)] = tx.connection.exec_driver_sql("SELECT state FROM works").fetchall()
        print(f"works says that the task is {state}, and so does the client: {client.get(task.id).state}")


if __name__ == "__main__":
    main()
