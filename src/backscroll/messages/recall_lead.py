"""The words before a reference where a model has the tool `recall`."""

LEAD = ", recall "
"""What comes between what is left out and its reference."""
