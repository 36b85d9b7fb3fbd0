"""Tests of Fanfold, in the same rooms as the package."""
