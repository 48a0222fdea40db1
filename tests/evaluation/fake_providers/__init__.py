"""Tests of `backscroll.evaluation.fake_providers`."""
