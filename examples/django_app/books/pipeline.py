"""How a book is translated, and how its task is submitted."""

from functools import cache, partial

from django.db import connection, transaction

import fanfold as ff
from books.models import Book

translate = ff.Pipeline("translate-book")


@translate.each(concurrency=20, timeout=60)
async def page(item: ff.ItemWork) -> str:
    """One page: a call to a service in real life."""
    return str(item.input).upper()


@translate.merge
def bind(task: ff.TaskWork, results: ff.Results) -> str:
    """Put the translation into the book. It may be done twice after a crash, and comes to the same."""
    text = "\n".join(str(result.output) for result in results)
    try:
        Book.objects.filter(pk=task.options["book"]).update(translation=text)
    finally:
        connection.close()  # Handlers run in threads of the worker, which are not those of requests.
    return text


@cache
def client() -> ff.Client:
    """One client for the process; requests may share it."""
    return ff.Client(pipelines=[translate])


def add_book(title: str, text: str) -> Book:
    """Keep a book, and submit its task as soon as the transaction of the book is committed.

    Submitted earlier, the task could run before anybody else can see the book, or outlive a book that is rolled back.
    """
    with transaction.atomic():
        book = Book.objects.create(title=title, text=text)
        transaction.on_commit(partial(submit_book, book))
    return book


def submit_book(book: Book) -> None:
    """Submit the task of a book. The key makes sure that there is only one, however often this is called."""
    pages = book.text.split("\n\n")
    book.task = client().submit(translate, items=pages, options={"book": book.pk}, key=f"book-{book.pk}").id
    book.save(update_fields=["task"])


def submit_forgotten() -> None:
    """Submit the books whose process died between the commit and the submission."""
    for book in Book.objects.filter(task=""):
        submit_book(book)
