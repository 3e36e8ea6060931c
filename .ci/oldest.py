"""Print the oldest versions that pyproject.toml allows, as constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = (
    "networks",
    "study",
    "table",
    "excel",
    "serve",
    "dask",
    "onnx",
)  # what users install; not dev, not docs
# of dev: scikit-learn has to know what it is given, and exported models are run
BESIDE = ("polars", "onnxruntime")


def oldest(requirement: str) -> str | None:
    """Return ``name==version`` of a requirement ``name[extras]>=version``.

    >>> oldest("dask[array]>=2025.1"), oldest("missfit[study]")
    ('dask==2025.1', None)
    """
    match = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?(?:>=([\w.]+))?", requirement)
    if match is None:
        sys.exit(f"{requirement!r} is not of the form name>=version")
    name, version = match.groups()
    return f"{name}=={version}" if version else None


def main() -> None:
    """Print one line for each package."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    requirements = list(project["dependencies"])
    for extra in EXTRAS:
        requirements += project["optional-dependencies"][extra]
    for requirement in project["optional-dependencies"]["dev"]:
        if requirement.startswith(BESIDE):
            requirements.append(requirement)
    print("\n".join(filter(None, map(oldest, requirements))))


if __name__ == "__main__":
    main()
