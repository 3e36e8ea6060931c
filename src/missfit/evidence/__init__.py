"""Every claim about missingness, computed once, from rows, weights and groups."""
