"""Check that missfit is imported from where it was installed, with its data files."""

import sys
from importlib.metadata import version
from pathlib import Path

import missfit

folder = Path(missfit.__file__).parent
if "site-packages" not in folder.parts:
    sys.exit(f"missfit was imported from {folder}, not from the installed package.")
if version("missfit") != missfit.__version__:
    sys.exit(f"installed {version('missfit')}, imported {missfit.__version__}.")
for name in ("py.typed", "published/means.csv", "report/page.css", "study/studies"):
    if not (folder / name).exists():
        sys.exit(f"{name} is not in the installed package.")
print(f"missfit {missfit.__version__}, as installed, has all its files.")
