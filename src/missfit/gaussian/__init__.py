"""Gaussian laws of (X, y), and how they are learned from rows with holes."""
