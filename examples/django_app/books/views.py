"""Submit a book with POST, and look at it with GET."""

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from books.models import Book
from books.pipeline import add_book, client


@csrf_exempt  # For curl; a form of your own has its token.
@require_POST
def create(request: HttpRequest) -> JsonResponse:
    """Keep a book and begin its translation."""
    book = add_book(request.POST["title"], request.POST["text"])
    return JsonResponse({"book": book.pk, "task": book.task}, status=202)


@require_GET
def show(request: HttpRequest, number: int) -> JsonResponse:
    """A book, and how far its translation is."""
    book = get_object_or_404(Book, pk=number)
    found = {"title": book.title, "translation": book.translation}
    if not book.task:
        return JsonResponse({**found, "state": "not submitted yet"})
    task = client().get(book.task)
    return JsonResponse({**found, "state": task.state, "done": task.done, "total": task.total})
