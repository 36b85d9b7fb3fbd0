"""Recognises headings: by the outline, the tags, their type, their wording and the white space around them."""
