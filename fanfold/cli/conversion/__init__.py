"""How does `fanfold convert` go about it? Which documents, how they run, what is shown, and where the results go."""
