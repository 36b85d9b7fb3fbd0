"""Who may ask what, and how refusals look: access, guards, problems."""
