"""Tests of model services: correct answers, and nothing paid for twice."""
