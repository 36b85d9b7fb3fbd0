"""How fast is Fanfold beside other engines, and how near to the database? `python -m benchmarks.engines` measures it."""
