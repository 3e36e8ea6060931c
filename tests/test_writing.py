"""A file is whole or not there."""

import errno
import os
import subprocess
import sys

import pytest

from missfit.writing import check_writable, same_file, whole_file


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


def write(path, text="new"):
    with whole_file(path) as part:
        part.write_text(text)


def test_the_permissions_of_the_old_file_stay(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    target.chmod(0o600)
    with whole_file(target) as part:
        assert part.stat().st_mode & 0o777 == 0o600  # nobody may read it meanwhile
        part.write_text("new")
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_text() == "new"


def test_a_link_stays_a_link_and_the_file_behind_it_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "table.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [p.name for p in target.parent.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_refused_and_stays(tmp_path, kind):
    place = tmp_path / "place.csv"
    {"pipe": os.mkfifo, "folder": os.mkdir}.get(
        kind, lambda path: path.symlink_to(os.devnull)
    )(place)
    before = os.stat(place)
    for use in (write, check_writable):
        with pytest.raises(OSError, match=f"is a {kind}; give the name of a file"):
            use(place)
    assert os.stat(place) == before
    assert [p.name for p in tmp_path.iterdir()] == ["place.csv"]


WRITER = """
import sys, time
from missfit.writing import whole_file
with whole_file(sys.argv[1]) as part:
    part.write_text("half")
    print("half", flush=True)
    time.sleep(60)
"""


def test_the_part_of_a_killed_writer_is_cleared_and_that_of_a_living_one_stays(
    tmp_path,
):
    target = tmp_path / "table.csv"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(target)],
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
    assert len(list(tmp_path.iterdir())) == 2
    writers[0].kill()
    writers[0].communicate()
    assert len(list(tmp_path.iterdir())) == 2  # nobody could clear it
    write(target)
    assert target.read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2  # the file, and the part of the other
    writers[1].kill()
    writers[1].communicate()
    write(target)
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_name_of_any_length_and_kind_can_be_written(tmp_path):
    for name in ("x" * 251 + ".csv", "é" * 120 + ".csv", "a." + "b" * 200, "a\nb"):
        write(tmp_path / name)
        assert (tmp_path / name).read_text() == "new"


def test_one_file_is_known_by_all_its_names(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("old")
    (tmp_path / "link.csv").symlink_to(table)
    os.link(table, tmp_path / "hard.csv")
    for name in ("link.csv", "hard.csv", "table.csv", "../" + tmp_path.name):
        known = same_file(tmp_path / name, [tmp_path / "absent.csv", table])
        assert (known == table) is ("csv" in name)
