"""Context managers side by side, each set up as its own documentation does it. Only benchmarks import this."""
