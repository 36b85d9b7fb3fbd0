"""Changes many items in short transactions: drafts, copies, resets."""
