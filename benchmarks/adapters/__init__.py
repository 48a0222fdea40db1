"""Backscroll's adapters, each called as its framework calls it, and each framework by itself.

- `base.py`: what a benchmark asks of an adapter, and the clock
- `catalog.py`: which adapters are measured
- one file for each framework
"""
