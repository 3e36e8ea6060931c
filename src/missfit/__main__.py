"""``python -m missfit`` is the command ``missfit``."""

import sys

from missfit.cli import main

if __name__ == "__main__":
    sys.exit(main())
