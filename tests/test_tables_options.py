"""What a user says about a table: how it is said, and what is refused."""

import pytest

from missfit.cli.command import command_parser
from missfit.cli.options import UsageError, read_options
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError


def said(*options):
    """Return what options of the command line say."""
    line = ["fit", "t.csv", "--target", "y", "--model", "m", *options]
    return read_options(command_parser().parse_args(line))


def test_options_of_the_command_line_are_one_object():
    options = ["--na", "-999", "--na", "?", "--encoding", "cp1252", "--sheet", "Data"]
    options += ["--as", "zip=category", "--as", "a=b=number", "--categorical", "code"]
    assert said(*options, "--drop", "a,b", "--drop", "c") == ReadOptions(
        na=("-999", "?"),
        encoding="cp1252",
        sheet="Data",
        kinds={"code": "category", "zip": "category", "a=b": "number"},
        drop=("a,b", "c"),
    )


def test_predict_takes_what_is_said_of_the_file_alone():
    line = ["predict", "m", "t.csv", "--na", "x", "--encoding", "utf-16"]
    options = read_options(command_parser().parse_args(line))
    assert options == ReadOptions(na=["x"], encoding="utf-16")


def test_its_text_is_code_that_makes_it_again():
    options = said("--as", "zip=category", "--drop", "it's", "--na", "-1")
    assert eval(repr(options)) == options
    assert repr(ReadOptions()) == "ReadOptions()"


@pytest.mark.parametrize(
    ("options", "role", "message"),
    [
        ({"encoding": "utf-9"}, "encoding", "'utf-9' is no encoding .* such as utf-8"),
        ({"encoding": "base64"}, "encoding", "no encoding of text"),
        ({"encoding": "a\0b"}, "encoding", "no encoding of text"),
        ({"kinds": {"a": "float"}}, "as", "choose one of number, category"),
        ({"kinds": {"a": "date"}, "drop": ["a"]}, "drop", "say one of the two"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_way_out(options, role, message):
    with pytest.raises(TableError, match=message) as caught:
        ReadOptions(**options)
    assert caught.value.role == role


def test_one_string_is_not_taken_as_its_letters():
    with pytest.raises(TypeError, match=r"drop='ab' is one string; give a list"):
        ReadOptions(drop="ab")


def test_two_kinds_of_one_column_are_refused():
    with pytest.raises(UsageError, match=r"--as 'a': .* as category and as number"):
        said("--as", "a=number", "--categorical", "a")


def test_a_kind_without_a_column_is_refused(capsys):
    with pytest.raises(SystemExit):
        said("--as", "number")
    assert "write COLUMN=KIND" in capsys.readouterr().err
