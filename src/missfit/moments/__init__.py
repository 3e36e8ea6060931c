"""Rows with holes to statistics per pattern, and one affine map per pattern."""
