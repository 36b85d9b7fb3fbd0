"""The forms of a result: the book, differences, lists of changes, bilingual texts and reports."""
