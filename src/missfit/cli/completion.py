"""``missfit --completion SHELL``: print a script that completes words after Tab.

The script is written from the parser once and names all words itself, so that a shell
that completes them never starts Python.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SHELLS = ("bash", "zsh", "fish")
BASH = """\
# Completes the words of missfit in bash; made by missfit --completion bash.
_missfit() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local offered=() one
    if (( COMP_CWORD == 1 )); then
        offered=({commands})
    else
        case "${{COMP_WORDS[1]}} $before" in
{values}
        esac
        if [[ ${{#offered[@]}} == 0 && $word == -* ]]; then
            case "${{COMP_WORDS[1]}}" in
{options}
            esac
        fi
    fi
    COMPREPLY=()
    for one in "${{offered[@]}}"; do
        [[ $one == "$word"* ]] && COMPREPLY+=("$(printf %q "$one")")
    done
}}
complete -o default -F _missfit missfit
"""
ZSH = """\
#compdef missfit
# Completes the words of missfit in zsh; made by missfit --completion zsh.
_missfit() {{
    local -a offered
    if (( CURRENT == 2 )); then
        offered=({commands})
    else
        case "$words[2] $words[CURRENT-1]" in
{values}
        esac
        if (( $#offered == 0 )) && [[ $PREFIX == -* ]]; then
            case $words[2] in
{options}
            esac
        fi
    fi
    if (( $#offered )); then
        _describe missfit offered
    else
        _files
    fi
}}
if [[ $funcstack[1] == _missfit ]]; then
    _missfit "$@"
else
    compdef _missfit missfit
fi
"""


class Word(NamedTuple):
    """A word that can be completed, what it means, and the values that follow it."""

    text: str
    help: str
    values: tuple[str, ...] = ()
    takes_value: bool = False


class Command(NamedTuple):
    """A command, its options, and the values of its first argument if they are few."""

    word: Word
    options: tuple[Word, ...]


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script with which one of the `SHELLS` completes a command line."""
    commands = tuple(_commands(parser))
    first = (*(command.word for command in commands), *_options(parser))
    if shell == "fish":
        return _fish(first, commands)
    # an option before any command is, to its values, what a command is to its first
    commands += tuple(Command(option, ()) for option in _options(parser))
    template, written = (BASH, _plain) if shell == "bash" else (ZSH, _described)
    return template.format(
        commands=written(first),
        values="\n".join(_value_cases(commands, written)),
        options="\n".join(
            _case(command.word.text, written(command.options))
            for command in commands
            if command.options
        ),
    )


def _commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    (action,) = (
        a for a in parser._actions if isinstance(a, argparse._SubParsersAction)
    )
    helps = {one.dest: one.help or "" for one in action._choices_actions}
    for name, command in action.choices.items():
        values = next((a.choices for a in command._actions if not a.option_strings), ())
        word = Word(name, helps.get(name, ""), tuple(values or ()))
        yield Command(word, tuple(_options(command)))


def _options(parser: argparse.ArgumentParser) -> Iterator[Word]:
    for action in parser._actions:
        for text in action.option_strings:
            if text.startswith("--") and action.help != argparse.SUPPRESS:
                yield Word(
                    text,
                    _first_sentence(action.help or ""),
                    tuple(action.choices or ()),
                    takes_value=action.nargs != 0,
                )


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".")


def _value_cases(commands: Iterable[Command], written) -> Iterator[str]:
    """Yield what follows a command, or an option of one, where its values are few."""
    for command, options in commands:
        for before in (command, *options):
            if before.values:
                offered = written(Word(value, "") for value in before.values)
                yield _case(f"{command.text} {before.text}", offered)


def _case(words: str, offered: str) -> str:
    return f"                {shlex.quote(words)}) offered=({offered}) ;;"


def _plain(words: Iterable[Word]) -> str:
    return " ".join(shlex.quote(word.text) for word in words)


def _described(words: Iterable[Word]) -> str:
    """Return words as zsh's ``_describe`` reads them: ``word:what it means``."""
    return " ".join(
        shlex.quote(":".join(part.replace(":", r"\:") for part in word[:2] if part))
        for word in words
    )


def _fish(first: Iterable[Word], commands: Iterable[Command]) -> str:
    lines = [
        "# Completes the words of missfit in fish; made by missfit --completion fish.",
        *(_fish_line("__fish_use_subcommand", word) for word in first),
    ]
    for word, options in commands:
        seen = f"__fish_seen_subcommand_from {word.text}"
        if word.values:
            lines.append(_fish_line(seen, *(Word(value, "") for value in word.values)))
        lines += [_fish_line(seen, option) for option in options]
    return "\n".join(lines) + "\n"


def _fish_line(condition: str, *words: Word) -> str:
    """Return the line for one option, or for words that stand without dashes."""
    parts = ["complete", "-c", "missfit", "-n", condition]
    option = words[0].text.startswith("--")
    offered = words[0].values if option else tuple(word.text for word in words)
    if option:
        parts += ["-l", words[0].text.removeprefix("--")]
        parts += ["-r"] if words[0].takes_value else []
    if offered:  # -f: no names of files among them
        parts += ["-f", "-a", " ".join(shlex.quote(one) for one in offered)]
    parts += ["-d", words[0].help] if words[0].help else []
    return shlex.join(parts)


class PrintCompletion(argparse.Action):
    """The option that prints the script of a shell and ends the command."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        """Print the script of the shell that was named."""
        print(completion_script(parser, str(values)), end="")
        parser.exit()
