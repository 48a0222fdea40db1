"""Backscroll inside other people's frameworks. One room each; nothing here is imported by `import backscroll`."""
