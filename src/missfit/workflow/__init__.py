"""What the command line calls, and a Python user too: compare, fit, predict."""
