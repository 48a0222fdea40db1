"""Sessions of odd histories: what late, second, cut and empty answers leave behind, in every dialect."""
