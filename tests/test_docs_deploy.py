"""The page on production: its commands run, and its container would start."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from missfit.cli.command import command_parser

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guide" / "deploy.md"
pytest.importorskip("onnxruntime")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the Python of the page has run, and programs to find."""
    found = tmp_path_factory.mktemp("deployed")
    (code,) = blocks("python")
    subprocess.run([sys.executable, "-c", code], cwd=found, check=True)
    programs = {
        "missfit": f'exec {sys.executable} -m missfit "$@"',
        "mail": 'echo "$2" >> mailed.txt; cat >> mailed.txt',
    }
    (found / "bin").mkdir()
    for name, line in programs.items():
        (found / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (found / "bin" / name).chmod(0o755)
    for block in blocks("bash"):
        done = shell(
            found, f"set -e\n{block}".replace("houses.onnx", "by_command.onnx")
        )
        assert done.returncode == 0, done.stderr
    return found


def shell(folder, text):
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", text],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow  # a command takes two seconds to start
def test_the_commands_of_the_page_write_the_files_that_it_names(folder):
    assert (folder / "by_command.onnx").stat().st_size > 1_000
    names = [
        one["name"]
        for one in json.loads((folder / "houses.json").read_text())["inputs"]
    ]
    assert names == ["area", "age", "city"]


@pytest.mark.slow  # a command takes two seconds to start
def test_the_line_of_the_crontab_writes_when_rows_change_and_only_then(folder):
    (line,) = blocks("text")
    command = line.split("* * * ")[1].replace("cd /srv", f"cd {folder}")
    table = (folder / "houses.csv").read_text().splitlines()
    (folder / "yesterday.csv").write_text("\n".join([*table[:200], ""]))
    assert shell(folder, command).returncode == 0
    assert not (folder / "mailed.txt").exists()
    changed = [table[0], *(f",{row.partition(',')[2]}" for row in table[1:200])]
    (folder / "yesterday.csv").write_text("\n".join([*changed, ""]))
    assert shell(folder, command).returncode == 0
    mailed = (folder / "mailed.txt").read_text()
    assert mailed.startswith("The rows of yesterday\n")
    assert "column 'area' is missing in 100.0% of these rows" in mailed
    (folder / "yesterday.csv").unlink()
    shell(folder, command)  # there is nothing to read
    assert (folder / "mailed.txt").read_text().count("The rows of yesterday") == 2


def test_the_container_installs_an_extra_that_exists_and_runs_a_command_that_does():
    (text,) = blocks("dockerfile")
    (extra,) = re.findall(r"missfit\[(\w+)\]", text)
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extra in about["optional-dependencies"]
    (version,) = re.findall(r"FROM python:3\.(\d+)", text)
    least = int(re.search(r"3\.(\d+)", about["requires-python"])[1])
    assert int(version) >= least
    command = json.loads(re.findall(r"^CMD (.*)$", text, re.M)[0])
    assert command.pop(0) == "missfit"
    arguments = command_parser().parse_args(command)
    (copied,) = re.findall(r"COPY houses.skops (\S+)", text)
    assert (arguments.model, arguments.host) == (copied, "0.0.0.0")
    check = json.loads(re.findall(r"HEALTHCHECK CMD (.*)$", text, re.M)[0])
    compile(check[2], "health", "exec")
    assert f":{arguments.port}/health" in check[2]
