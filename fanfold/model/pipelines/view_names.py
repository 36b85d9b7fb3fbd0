"""The names of the page's views, and the shape of output that each shows. The page has a file for each."""

from __future__ import annotations

VIEWS = {
    "document": 'Markdown, as text or as `{"markdown": …}`; shown rendered, beside the item\'s picture where there is one',
    "record": 'fields with state and evidence, as `{"fields": {name: cell}}`; shown with the quote boxed on the page\'s picture',
    "table": "the same, and the task has a table of all its records",
    "changes": 'paragraphs before and after, as `{"paragraphs": [{"id", "before", "after", "changes"}]}`; the task has a list of '
    "all its changes, to accept or reject",
    "images": 'pictures, as `{"images": [{"file", "label", "kind"}], "before": file or null}`; shown before and after, with and '
    "without watermark, and the task has a gallery",
    "text": 'text, or `{"text": …}`; shown as it is',
    "json": "any value; shown as JSON",
}
"""Views that a pipeline may choose for the output of its items."""
