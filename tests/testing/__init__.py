"""Tests of the room that users test their pipelines with."""
