"""Check that the commit can be released: a clean tree, a version with its changes."""

import subprocess
import sys
from pathlib import Path

import missfit

ROOT = Path(__file__).parents[1]

status = ["git", "status", "--porcelain"]
changed = subprocess.run(status, cwd=ROOT, capture_output=True, text=True, check=True)
if changed.stdout:
    sys.exit(f"These files are not committed:\n{changed.stdout}")
changelog = (ROOT / "CHANGELOG.md").read_text()
if f"## {missfit.__version__}" not in changelog:
    sys.exit(f"CHANGELOG.md has no section for version {missfit.__version__}.")
print(f"Version {missfit.__version__} can be tagged.")
