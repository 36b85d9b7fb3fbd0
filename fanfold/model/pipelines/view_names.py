"""The views of the page by name, and the shape of output that each takes; the page has a file for each."""

from __future__ import annotations

VIEWS = {
    "document": 'Markdown, as text or as `{"markdown": …}`; shown rendered, beside the item\'s picture where there is one',
    "text": 'text, or `{"text": …}`; shown as it is',
    "json": "any value; shown as JSON",
}
"""What a pipeline may choose for what its items make."""
