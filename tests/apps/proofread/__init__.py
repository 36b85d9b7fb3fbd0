"""Tests of the application that proofreads and translates."""
