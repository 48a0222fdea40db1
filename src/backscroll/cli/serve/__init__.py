"""The command `backscroll serve`, and what it prints."""
