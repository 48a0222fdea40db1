"""Tests of the adapter for Google ADK, in the framework itself."""
