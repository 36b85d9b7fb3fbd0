"""Writes displayed formulas of TeX documents as LaTeX, where fonts and places leave no doubt."""
