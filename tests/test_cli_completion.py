"""The words after Tab, asked of the shells themselves where they are installed."""

import argparse
import re
import shlex
import shutil
import subprocess

import pytest

from missfit.cli import main
from missfit.cli.command import command_parser
from missfit.cli.completion import SHELLS, completion_script

# What a shell shows after a command line, of which the last word is not finished.
BASH = """\
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_missfit
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh completes only in a terminal: its functions that show words print them instead.
ZSH = """\
compdef() { :; }
_describe() { print -rl -- "${(@P)2}"; }
_files() { print files; }
. "$1"; shift
words=("$@"); CURRENT=$#; PREFIX=$words[-1]
_missfit
"""
FISH = 'source $argv[1]; complete -C "$argv[2]"'
EXPECTED = {
    "missfit comp": {"compare", "--completion"},
    "missfit fit --tas": {"--task"},
    "missfit fit --task ": {"number", "class"},
    "missfit fit --predictor Pattern": {"PatternMixtureLR", "PatternClassifier(EMLR)"},
    "missfit fit --predictor mean": {"mean + indicator ridge"},
    "missfit simulate ": {"mixture1", "mixture3", "selfmasked"},
    "missfit --completion ": {"bash", "zsh", "fish"},
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(completion_script(command_parser(), shell))
    return folder


def offered(shell, script, line):
    """The words that a shell offers for the last word of a line, without their help."""
    words = line.split(" ")
    call = {
        "bash": ["bash", "--norc", "-c", BASH, "bash", script, *words],
        "zsh": ["zsh", "-f", "-c", ZSH, "zsh", script, *words],
        "fish": ["fish", "--no-config", "-c", FISH, script, line],
    }[shell]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    if shell == "bash":
        return {word for text in done.stdout.splitlines() for word in shlex.split(text)}
    cut = r"\t|(?<!\\):"
    return {re.split(cut, text)[0] for text in done.stdout.splitlines()}


@pytest.mark.parametrize("line", EXPECTED)
@pytest.mark.parametrize("shell", SHELLS)
def test_tab_offers_commands_options_and_their_values(shell, line, scripts):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    found = offered(shell, scripts / shell, line)
    word = line.rpartition(" ")[2]
    if shell == "bash":  # the other two leave the choice by the beginning to the shell
        assert all(one.startswith(word) for one in found)
    expected = {one for one in EXPECTED[line] if one.startswith(word)}
    assert expected <= found


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_the_script(shell, scripts):
    script = (scripts / shell).read_text()
    dashes = "" if shell == "fish" else "--"
    (commands,) = (
        action
        for action in command_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    for name, command in commands.choices.items():
        assert re.search(rf"\b{name}\b", script)
        for option in re.findall(r"(?<=--)[a-z][\w-]+", command.format_usage()):
            assert re.search(rf"{dashes}{option}\b", script), (name, option)


def test_the_command_prints_the_script_and_refuses_other_shells(scripts, capsys):
    for shell in SHELLS:
        with pytest.raises(SystemExit) as end:
            main(["--completion", shell])
        assert end.value.code == 0
        assert capsys.readouterr().out == (scripts / shell).read_text()
    with pytest.raises(SystemExit) as end:
        main(["--completion", "tcsh"])
    assert end.value.code == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
