"""Does work here and now: runs one task or many, shows how they are doing, and saves what came out.

Used by `fanfold.run`, by the CLI and by the commands of applications.
"""
