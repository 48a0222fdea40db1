"""A long conversation of odd situations: every view is what a partner's provider accepts."""
