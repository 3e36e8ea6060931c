"""The layout defends itself: which module may import which, and what stays out."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import missfit

SRC = Path(missfit.__file__).parent

MAY_IMPORT = {
    "tables": set(),
    "columns": {"tables"},
    "patterns": set(),
    "sources": {"files", "tables"},
    "folds": set(),
    "moments": {"patterns", "tables"},
    "maps": {"patterns", "tables"},
    "gaussian": {"maps", "patterns", "tables"},
    "em": {"moments", "ridge", "tables"},
    "mixture": {"em"},
    "selfmasking": {"em", "gaussian", "tables"},
    "ridge": set(),
    "engine": {"folds", "moments", "sources", "tables"},
    "simulate": {"patterns", "tables"},
    "bayes": {"gaussian", "maps", "patterns", "simulate", "tables"},
    "theory": {"bayes", "patterns", "simulate", "tables"},
    "evidence": {"gaussian", "patterns", "tables"},
    "estimators": {
        "columns",
        "em",
        "engine",  # on use, for tables that come in chunks
        "evidence",
        "gaussian",
        "maps",
        "mixture",
        "moments",
        "patterns",
        "ridge",
        "selfmasking",
        "sources",
        "tables",
    },
    "networks": {"engine", "estimators", "moments", "sources", "tables"},
    "files": set(),
    "start": set(),
    "terminal": set(),
    "study": {"columns", "files", "networks", "simulate", "terminal", "theory"},
    "report": {"compare", "evidence", "files", "patterns", "study"},
    "tableio": {"columns", "files"},
    "candidates": {"estimators", "networks"},
    "archive": set(),
    "modelfile": {"archive", "estimators", "files", "patterns"},
    "serve": {
        "candidates",
        "columns",
        "estimators",
        "files",
        "modelfile",
        "patterns",
        "tableio",
    },
    "compare": {"candidates", "estimators", "evidence", "patterns", "tableio"},
    "advise": {"candidates", "compare", "files", "report", "tableio"},
    "cli": {
        "advise",
        "candidates",
        "columns",
        "files",
        "modelfile",
        "report",
        "serve",
        "simulate",
        "study",
        "tableio",
        "terminal",
    },
    "__main__": {"cli"},
}
HEAVY = {
    "jax",
    "optax",
    "dask",
    "distributed",
    "matplotlib",
    "pandas",
    "pyarrow",
    "skops",
}


LIVES_IN = {
    ("jax", "networks"),
    ("matplotlib", "estimators"),
    ("optax", "networks"),
    ("distributed", "study"),
    ("matplotlib", "report"),
    ("matplotlib", "study"),
    ("pandas", "study"),
    ("pandas", "cli"),
    ("pandas", "tableio"),
    ("pyarrow", "tableio"),
    ("skops", "modelfile"),
    ("pandas", "sources"),
    ("pyarrow", "sources"),
    ("dask", "engine"),
    ("pandas", "engine"),
}


def imported_names(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""


def room(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


MODULES = [p for p in sorted(SRC.rglob("*.py")) if p != SRC / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_a_room_imports_only_the_rooms_above_it_and_only_public_names(path):
    for module, name in imported_names(path):
        parts = module.split(".")
        if parts[0] == "missfit" and len(parts) > 1:
            assert parts[1] in MAY_IMPORT[room(path)] | {room(path)}
            assert not name.startswith("_")
        assert parts[0] not in HEAVY or (parts[0], room(path)) in LIVES_IN


def test_import_needs_numpy_scipy_and_scikit_learn_alone():
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({sorted(HEAVY)}))  # as if not installed\n"
        "import missfit\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
