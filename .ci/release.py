"""Check that the commit can be released: a clean tree, a version with its changes."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def faults(version: str, changelog: str, classifiers: list[str]) -> list[str]:
    """Return what keeps a version from being released.

    >>> faults("0.2.0", "## 0.2.0 (2030-01-31)", [])
    []
    """
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        found.append(f"{version} is not a version such as 1.2.0.")
    newest = next(iter(re.findall(r"^## (.*)$", changelog, re.M)), "nothing")
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", newest):
        found.append(
            f"The newest section of CHANGELOG.md is {newest!r}; a release has "
            f"'{version} (YEAR-MONTH-DAY)'."
        )
    young = [name for name in classifiers if re.search("Alpha|Beta|Planning", name)]
    if young and not version.startswith("0."):
        found.append(f"pyproject.toml calls {version} {young[0]!r}.")
    return found


def main() -> None:
    """Print that the version can be tagged, or say what is in the way."""
    import missfit

    status = ["git", "status", "--porcelain"]
    run = subprocess.run(status, cwd=ROOT, capture_output=True, text=True, check=True)
    changed = [f"not committed: {line}" for line in run.stdout.splitlines()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    found = changed + faults(missfit.__version__, changelog, project["classifiers"])
    if found:
        sys.exit("\n".join(found))
    print(f"Version {missfit.__version__} can be tagged.")


if __name__ == "__main__":
    main()
