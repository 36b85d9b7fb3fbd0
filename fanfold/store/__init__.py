"""How is it remembered? The only room with SQL: tables, verbs on them, blobs and migrations."""
