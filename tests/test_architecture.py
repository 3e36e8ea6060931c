"""The layout defends itself: which room may import which, and what stays out.

The table below is the architecture on one screen; ``python tests/test_architecture.py``
prints it with what each room is for.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import missfit
from missfit.cli.command import command_parser

SRC = Path(missfit.__file__).parent

# Each room imports only rooms that stand above it in this table, and of those only the
# ones named. A room is a folder, or a file beside the folders.
MAY_IMPORT = {
    "start": "",
    "writing": "",
    "terminal": "",
    "processes": "",
    "markup": "",
    "part_files": "writing",
    "versions": "",
    "tables": "writing",
    "moments": "tables",
    "gaussian": "moments tables",
    "evidence": "gaussian moments tables",
    "estimators": "gaussian moments tables",
    "auto": "estimators evidence gaussian markup moments tables",
    "networks": "estimators moments tables",
    "simulate": "moments tables",
    "bayes": "gaussian moments simulate tables",
    "theory": "bayes moments simulate tables",
    "study": "bayes networks part_files processes simulate tables terminal theory "
    "versions writing",
    "suspicions": "estimators tables",
    "comparison": "auto estimators evidence moments networks processes simulate "
    "suspicions tables terminal",
    "report": "comparison evidence markup moments study suspicions terminal writing",
    "workflow": "auto bayes comparison estimators evidence moments part_files report "
    "simulate tables versions writing",
    "serve": "estimators evidence markup moments report tables terminal workflow",
    "onnx_export": "auto estimators gaussian moments tables workflow writing",
    "cli": "comparison onnx_export processes report serve simulate study suspicions "
    "tables terminal workflow writing",
    "__main__": "cli",
}
# Heavy imports, made on use, and the rooms in which they live.
HEAVY = {
    "jax": "networks",
    "optax": "networks",
    "dask": "estimators",
    "distributed": "study",
    "onnx": "onnx_export",
    "onnxruntime": "",
    "matplotlib": "estimators report study",
    "pandas": "cli comparison estimators study tables",
    "pyarrow": "tables",
    "skops": "workflow",
    "polars": "estimators",
    "starlette": "serve",
    "uvicorn": "serve",
    "h11": "serve",
}
FILES = sorted(SRC.rglob("*.py"))
ROOMS = [path for path in FILES if path != SRC / "__init__.py"]


def name_of(path):
    """Return the dotted name of a file, as `missfit.moments.patterns`."""
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


@cache
def imports_of(path):
    """Return what a file imports, wherever: pairs of a module and a name, or ""."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner in MODULES
                found.append((inner, "") if is_module else (node.module, alias.name))
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return found


def room_of(module):
    return module.split(".")[1]


def label(path):
    return str(path.relative_to(SRC))


def test_the_table_of_rooms_is_in_order_and_whole():
    seen = []
    for room, others in MAY_IMPORT.items():
        assert set(others.split()) <= set(seen), room
        seen.append(room)
    assert set(seen) == {room_of(name_of(path)) for path in ROOMS}


@pytest.mark.parametrize("path", ROOMS, ids=label)
def test_a_room_imports_only_the_rooms_it_may_and_only_public_names(path):
    room = room_of(name_of(path))
    for module, name in imports_of(path):
        if module == "missfit":
            assert name == "__version__", name
        elif module.startswith("missfit."):
            assert room_of(module) in {*MAY_IMPORT[room].split(), room}, module
            assert not name.startswith("_"), name


@pytest.mark.parametrize("path", ROOMS, ids=label)
def test_a_heavy_import_has_its_room(path):
    for module, _ in imports_of(path):
        package = module.split(".")[0]
        assert room_of(name_of(path)) in HEAVY.get(package, room_of(name_of(path)))


def test_no_file_imports_itself_by_way_of_others():
    graph = {
        name: {m for m, _ in imports_of(path) if m in MODULES and m != "missfit"}
        for name, path in MODULES.items()
        if name != "missfit"
    }
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"these files import each other: {' -> '.join(error.args[1])}")


def options():
    """Return the options of all commands, as `--target`."""
    commands = command_parser()._subparsers._group_actions[0].choices.values()
    actions = [action for command in commands for action in command._actions]
    found = {text for action in actions for text in action.option_strings}
    return sorted(text for text in found if text.startswith("--"))


@pytest.mark.parametrize("path", ROOMS, ids=label)
def test_only_the_command_line_mentions_its_options(path):
    if room_of(name_of(path)) != "cli":
        pattern = rf"(?<![-\w(])({'|'.join(options())})(?![-\w])"
        assert not re.findall(pattern, path.read_text())


def test_import_needs_numpy_scipy_and_scikit_learn_alone():
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({sorted(HEAVY)}))  # as if not installed\n"
        "import missfit\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def main():
    """Print the rooms, what each is for, and what it may import."""
    for room, others in MAY_IMPORT.items():
        spec = find_spec(f"missfit.{room}")
        doc = ast.get_docstring(ast.parse(Path(spec.origin).read_text())) or ""
        print(f"{room:<12}{doc.splitlines()[0] if doc else ''}")
        print(f"{'':<12}imports {', '.join(others.split()) or 'no other room'}")


if __name__ == "__main__":
    main()
