"""A file is whole or not there."""

import errno
import os

import pytest

from missfit.files import whole_file


def write_half(target, error):
    with whole_file(target) as part:
        part.write_text("half of the new")
        raise error


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError):
        write_half(target, RuntimeError())
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_full_disk_is_named_with_the_file_and_what_became_of_it(tmp_path):
    target = tmp_path / "table.csv"
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match=r"No space.*table.csv is as it was") as caught:
        write_half(target, full)
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())


def test_a_new_file_keeps_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    with whole_file(tmp_path / "a" / "b.csv") as part:
        part.write_text("x")
    mode = (tmp_path / "a" / "b.csv").stat().st_mode
    assert mode == (tmp_path / "plain").stat().st_mode
