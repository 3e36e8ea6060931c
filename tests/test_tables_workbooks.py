"""Excel workbooks: the table of a sheet as text files have it, and hostile ones."""

import datetime
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError
from missfit.tables.read import column_names, read_chunks, read_numbers, read_table
from missfit.tables.training import read_training

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")

FRAME = pd.DataFrame(
    {
        "n": [1.5, np.nan, -3e-7, 4.0],
        "count": [1, 2, 3, 4],
        "city": ["Köln", None, "a, b", "007"],
        "ok": [True, False, True, True],
        "y": [0.5, 1.5, 2.5, 3.5],
    }
)


def workbook(path, sheets):
    """Write sheets, each a list of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rows_of(frame):
    values = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    return [frame.columns.tolist(), *values]


def read(path, **options):
    problems = Problems()
    frame = read_table(path, ReadOptions(**options), problems=problems)
    return frame, problems.notes


def test_a_sheet_is_the_table_that_pandas_reads(tmp_path):
    path = workbook(tmp_path / "t.xlsx", {"Data": rows_of(FRAME)})
    found, notes = read(path)
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False)
    theirs = pd.read_excel(path, dtype={"city": str}, engine="openpyxl")
    pd.testing.assert_frame_equal(found, theirs, check_dtype=False)
    assert notes == []
    assert len(list(read_chunks(path, ["n"], rows=3))) == 2
    numbers = np.concatenate(list(read_numbers(path, ["n", "y"], 2**20)))
    np.testing.assert_array_equal(numbers, FRAME[["n", "y"]])
    assert read_training(path, "y", least_rows=2).y.tolist() == [0.5, 1.5, 2.5, 3.5]


def test_titles_blank_rows_and_empty_columns_are_left_out(tmp_path):
    rows = rows_of(FRAME)
    rows = [[], ["Report of 2024"], [], *rows, [], []]
    found, notes = read(workbook(tmp_path / "t.xlsx", {"Data": rows}))
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False)
    assert notes == [
        "t.xlsx: the header is in row 4: row 2 above it, with 'Report of 2024', left "
        "out"
    ]
    shifted = [[None, None, *row] for row in rows_of(FRAME)]
    found, _ = read(workbook(tmp_path / "t.xlsx", {"Data": shifted}))
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False)


def test_the_sheet_is_the_first_that_is_filled_or_that_is_named(tmp_path):
    other = FRAME.assign(y=FRAME["y"] + 1)
    sheets = {"Empty": [], "Data": rows_of(FRAME), "More": rows_of(other)}
    path = workbook(tmp_path / "t.xlsx", sheets)
    found, notes = read(path)
    assert found["y"].tolist() == FRAME["y"].tolist()
    assert notes == ["t.xlsx: sheet 'Data', of 3, is read"]
    found, notes = read(path, sheet="More")
    assert found["y"].tolist() == other["y"].tolist()
    assert notes == []
    words = "has no sheet 'Mor'; its sheets are 'Empty', 'Data', 'More'"
    with pytest.raises(TableError, match=words) as caught:
        read(path, sheet="Mor")
    assert caught.value.role == "sheet"
    with pytest.raises(TableError, match="sheet 'Empty' is empty"):
        read(path, sheet="Empty")


def test_a_cover_titles_over_columns_sums_and_remarks_are_left_out(tmp_path):
    frame = pd.concat([FRAME] * 6, ignore_index=True)
    titles = [["Costs"], ["by", "finance"], [], [None, "Order", None, "Result"]]
    end = [["Total", 60, None, None, 48], ["Mean", None, None, None, 2], [], ["Note"]]
    sheets = {"Read me": [["Export"], ["Author", "ERP"]]}
    sheets["Data"] = [*titles, *rows_of(frame), *end]
    sheets["Codes"] = rows_of(FRAME)
    found, notes = read(workbook(tmp_path / "t.xlsx", sheets))
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)
    assert notes == [
        "t.xlsx: sheet 'Data', of 3, is read",
        "t.xlsx: the header is in row 5: 3 rows above it, the first with 'Costs', left "
        "out",
        "a row near the end, with 'Total' in column 'n', is taken as a sum of the "
        "others and left out, with 2 rows below it",
    ]


def test_a_header_with_few_names_is_no_row_of_titles(tmp_path):
    rows = [["a", None, None, "y"], ["1", "2", "x", "3"], ["4", "5", "y", "6"]]
    found, _ = read(workbook(tmp_path / "t.xlsx", {"Data": rows}))
    assert found.columns.tolist() == ["a", "Unnamed: 1", "Unnamed: 2", "y"]
    assert len(found) == 2


def test_dates_and_errors_and_numbers_written_as_text(tmp_path):
    day = datetime.datetime(2024, 1, 31)
    rows = [["when", "at", "number", "bad", "y"]]
    rows += [[day, day.replace(hour=5), "12", "#DIV/0!", 1]]
    rows += [[day.replace(day=1), day, " 7.5", 3, 2]]
    frame, _ = read(workbook(tmp_path / "t.xlsx", {"Data": rows}))
    assert frame["when"].tolist() == ["2024-01-31", "2024-01-01"]
    assert frame["at"].tolist() == ["2024-01-31 05:00:00", "2024-01-31"]
    assert frame["number"].tolist() == [12.0, 7.5]
    assert frame["bad"].isna().tolist() == [True, False]


def changed(path, change):
    """Change the parts of a workbook, by a function of their name and content."""
    content = path.read_bytes()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return path


@pytest.fixture
def book(tmp_path):
    return workbook(tmp_path / "t.xlsx", {"Data": rows_of(FRAME)})


def test_a_cell_far_away_is_refused_before_room_is_made_for_it(book):
    old = b'<c r="E5" t="n"><v>3.5</v></c>'
    new = b'<c r="XFD1048576" t="n"><v>3.5</v></c>'
    changed(book, lambda name, part: part.replace(old, new))
    words = r"values up to row 1,048,576 and column 16,384.*delete what lies far"
    with pytest.raises(TableError, match=words):
        column_names(book)


def test_a_size_that_is_only_declared_costs_nothing(book):
    old, new = b'ref="A1:E5"', b'ref="A1:XFD1048576"'
    changed(book, lambda name, part: part.replace(old, new))
    assert read_table(book).shape == (4, 5)


def test_entities_are_not_expanded(book):
    bomb = b'<!DOCTYPE x [<!ENTITY a "9">'
    for letter, before in zip(b"bcdefghij", b"abcdefghi", strict=True):
        bomb += b'<!ENTITY %c "%s">' % (letter, b"&%c;" % before * 20)
    bomb += b"]><worksheet"

    def change(name, part):
        if "sheet1" not in name:
            return part
        return part.replace(b"<worksheet", bomb, 1).replace(b"3.5<", b"&j;<")

    try:
        frame = read_table(changed(book, change))
    except TableError:
        return
    assert frame.shape == (4, 5)


def test_a_workbook_made_to_fill_the_memory_is_refused(book, monkeypatch):
    monkeypatch.setattr("missfit.tables.workbooks.FREE_BYTES", 2**20)

    def change(name, part):
        rows = b"<row><c><v>1</v></c></row>" * 2**18  # 7 MB in less than 25 kB
        return part.replace(b"</sheetData>", rows + b"</sheetData>")

    with pytest.raises(TableError, match="unpacks to more than 100 times its size"):
        read_table(changed(book, change))


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_workbook_that_is_cut_is_refused(book, keep):
    content = book.read_bytes()
    end = keep if isinstance(keep, int) else int(len(content) * keep)
    book.write_bytes(content[: max(1, end)])
    with pytest.raises(TableError, match=r"is not a whole Excel workbook.*save it as"):
        read_table(book)


def test_without_the_package_the_way_to_install_it_is_said(book, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r'pip install "missfit\[excel\]"'):
        read_table(book)
