"""The page of one task: header, stream, failures, timeline, forms and result."""
