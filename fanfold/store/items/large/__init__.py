"""Many items in short transactions: drafts, copies, resets."""
