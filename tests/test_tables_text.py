"""Text files as people have them: encodings, separators, headers, ends, damage."""

import bz2
import csv
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, SeveralTableError, TableError
from missfit.tables.read import column_names, read_chunks, read_table
from missfit.tables.training import read_training

CITIES = ["Orléans", "Köln", "Málaga", None, "Łódź", "a, b", 'say "no"']
FRAME = pd.DataFrame({"ville": CITIES, "größe": [1.5, np.nan, 3, 4, 5, 6, 7.25]})
FRAME["y"] = np.arange(7)
WESTERN = FRAME.assign(ville=FRAME["ville"].replace("Łódź", "Liège"))


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path, **options):
    """Return a table and what was said about it."""
    problems = Problems()
    frame = read_table(path, ReadOptions(**options), problems=problems)
    return frame, problems.notes


def assert_same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"],
)
def test_an_encoding_is_found_and_said_unless_it_is_utf_8(
    tmp_path, encoding, separator
):
    expected = WESTERN if encoding == "cp1252" else FRAME
    text = expected.to_csv(index=False, sep=separator)
    frame, notes = read(written(tmp_path, text.encode(encoding)))
    assert_same(frame, expected)
    said = [f"t.csv is read as {encoding}, not as UTF-8"]
    assert notes == ([] if encoding.startswith("utf-8") else said)


@pytest.mark.parametrize("encoding", ["cp1251", "shift_jis", "gb18030", "utf-8"])
def test_an_encoding_that_is_named_is_used(tmp_path, encoding):
    word = "東京" if encoding in ("shift_jis", "gb18030") else "Москва"
    text = f"{word},y\n{word},1\n"
    frame, notes = read(written(tmp_path, text.encode(encoding)), encoding=encoding)
    assert frame.to_dict("list") == {word: [word], "y": [1]}
    assert notes == []


def test_bytes_beyond_ascii_may_come_late(tmp_path):
    lines = ["name,y", *(f"{'x' * 20},{k}" for k in range(60_000))]  # over 1 MB
    text = "\n".join([*lines, "Zoé,7"])
    for encoding in ("utf-8", "cp1252"):
        frame = read_table(written(tmp_path, text.encode(encoding)))
        assert frame["name"].iloc[-1] == "Zoé"
        assert len(frame) == 60_001


def test_all_bytes_are_text_in_cp1252_as_browsers_read_it(tmp_path):
    values = bytes(byte for byte in range(32, 256) if byte not in b'",')
    frame = read_table(written(tmp_path, b"text,y\n" + values + b",1\n"))
    expected = "".join(
        bytes([byte]).decode("cp1252", "ignore") or bytes([byte]).decode("latin-1")
        for byte in values
    )
    assert frame["text"][0] == expected


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zip"])
def test_a_packed_table_is_the_table(tmp_path, name):
    content = FRAME.to_csv(index=False).encode()
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    ending = name.rpartition(".")[2]
    content = pack[ending](content) if ending in pack else zipped({"a.csv": content})
    assert_same(read_table(written(tmp_path, content, name)), FRAME)


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_an_archive_holds_one_table_or_says_what_it_holds(tmp_path):
    table = FRAME.to_csv(index=False)
    members = {"__MACOSX/._a.csv": b"\0", "a.csv": table, "readme.md": "x", "in/": ""}
    assert_same(read_table(written(tmp_path, zipped(members), "t.zip")), FRAME)
    for names, words in (
        (["a.csv", "b.csv"], r"holds 2 tables.*It holds a\.csv, b\.csv\."),
        (["a.md", "b.png"], r"holds no \.csv, \.tsv, \.txt file.*a\.md, b\.png"),
        ([], "It holds nothing"),
    ):
        path = written(tmp_path, zipped(dict.fromkeys(names, table)), "t.zip")
        with pytest.raises(TableError, match=words):
            column_names(path)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.xz", "t.zip"])
def test_a_file_made_to_fill_the_memory_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr("missfit.tables.packed.FREE_BYTES", 2**20)
    text = b"a,y\n" + b"1,2\n" * 2**20  # 4 MB in less than 6 kB
    pack = {"gz": lambda t: gzip.compress(t, 9), "xz": lambda t: lzma.compress(t)}
    ending = name.rpartition(".")[2]
    content = pack[ending](text) if ending in pack else zipped({"a.csv": text})
    with pytest.raises(TableError, match="unpacks to more than 100 times its size"):
        for _ in read_chunks(written(tmp_path, content, name), ["a"]):
            pass


BODY = "1;2,5;x\n2;3,5;y\n3;;x\n"
PLAIN = pd.DataFrame({"a": [1, 2, 3], "b": [2.5, 3.5, np.nan], "c": ["x", "y", "x"]})


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("sep=;\na;b;c\n" + BODY, None),
        ('"sep=;"\r\na;b;c\r\n' + BODY, None),
        ("\n\n  \na;b;c\n" + BODY, None),
        ("Sales 2024\n\na;b;c\n" + BODY, "header is in line 3: line 1 above it, with"),
        ("Sales;;\nof 2024;;\na;b;c\n" + BODY, "line 3: 2 lines above it, the first"),
        ("# made by hand\na;b;c\n" + BODY, "with '# made by hand', left out"),
        ("a;b;c;;\n" + BODY.replace("\n", ";;\n"), "2 empty columns at the end left"),
        ("a;b;c\n" + BODY.replace("\n", ";\n"), "1 empty column at the end left out"),
        ("a;b;c\n" + BODY + "\n\n;;\n  \n", None),
        (' a ; "b";c\n' + BODY, None),
    ],
)
def test_what_stands_around_a_table_is_left_out_and_said(tmp_path, text, note):
    text = text.replace(' "b"', '"b"')
    frame, notes = read(written(tmp_path, text))
    assert_same(frame.dropna(how="all"), PLAIN)
    assert (note is None and notes == []) or (len(notes) == 1 and note in notes[0])


def test_numbers_below_a_short_header_are_no_header(tmp_path):
    frame = read_table(written(tmp_path, "y,\n1,2\n3,4\n"))
    assert frame.columns.tolist() == ["y", "Unnamed: 1"]


@pytest.mark.parametrize(
    ("header", "names", "note"),
    [
        ("p,p,p", ["p", "p (2)", "p (3)"], "2 columns have the name of another"),
        ("p,p,p (2)", ["p", "p (3)", "p (2)"], "is called 'p (3)'"),
        ("p,,q", ["p", "Unnamed: 1", "q"], "1 column without a name is called"),
        ('"p, q","r\ns",t', ["p, q", "r s", "t"], None),
    ],
)
def test_every_column_has_a_name_of_its_own(tmp_path, header, names, note):
    frame, notes = read(written(tmp_path, f"{header}\n1,2,3\n4,5,6\n"))
    assert frame.columns.tolist() == names
    assert frame.to_numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert note is None or note in notes[0]


def test_the_separator_is_that_of_the_rows_not_of_the_names(tmp_path):
    text = '"a, b, c";"d, e, f"\n1,5;2,5\n3,5;4,5\n'
    frame = read_table(written(tmp_path, text))
    assert frame.to_dict("list") == {"a, b, c": [1.5, 3.5], "d, e, f": [2.5, 4.5]}


def test_short_lines_are_filled_and_long_lines_are_listed(tmp_path):
    lines = ["a,b,y", *(f"{k},{k},{k}" for k in range(100))]
    lines[10], lines[20] = "1", "1,2,3,,"
    path = written(tmp_path, "\n".join(lines))
    frame, notes = read(path)
    assert frame.shape == (100, 3)
    assert frame.iloc[9].isna().tolist() == [False, True, True]
    assert notes[0].startswith("line 11 is shorter than the header (1 of 3 values)")
    for k in (30, 31, *range(40, 60)):
        lines[k] += ",9"
    path = written(tmp_path, "\n".join(lines))
    words = r"lines 31, 32, 41, 42, 43, 44, 45, 46, 47, 48 and 12 more are longer .*"
    with pytest.raises(TableError, match=words + r"put quotes around values that hold"):
        read_table(path)
    with pytest.raises(TableError, match=words):
        list(read_chunks(path, ["a"], rows=7))


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    path = written(tmp_path, "a,b\n1,2\n3,4,5\n6,7\n")
    options = ReadOptions(drop=["z"], kinds={"w": "number"})
    with pytest.raises(SeveralTableError) as caught:
        read_training(path, "y", options, group="g")
    told = str(caught.value)
    assert [error.role for error in caught.value.errors] == [
        *("target", "group", "drop", "as", "")
    ]
    for words in (
        "no column 'y'",
        "no column 'g'",
        "no column 'z'",
        "line 3 is longer",
    ):
        assert words in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a,y\n1,2\n3,"4\n5,6\n', "a quote that begins in line 3 is not closed"),
        ('a,y\n1,2\n"3\n5,6\n', "a quote that begins in line 3 is not closed"),
        ('a,y\n1,"' + "x\n" * 600_000, "line 2 holds a value of more than 1,048,576"),
    ],
)
def test_a_quote_that_is_not_closed_is_found(tmp_path, text, words):
    with pytest.raises(TableError, match=words):
        read_table(written(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04...", r"zip archive or an Excel workbook.*rename it to end in"),
        (b"\x1f\x8b...", r"packed by gzip.*\.csv\.gz"),
        (b"PAR1...", r"a Parquet file.*\.parquet"),
        (b"a,y\n\0\1\2\3,4\n", "binary data"),
        (bytes(range(1, 32)) * 9 + b"\xff", "binary data"),
    ],
)
def test_what_is_no_text_is_called_by_its_name(tmp_path, content, words):
    with pytest.raises(TableError, match=words):
        read_table(written(tmp_path, content))


def test_a_last_row_of_sums_is_left_out_and_said(tmp_path):
    rows = "city,n\nKöln,1\nBonn,2\n"
    frame, notes = read(written(tmp_path, rows + "Total:,3\n"))
    assert frame.to_dict("list") == {"city": ["Köln", "Bonn"], "n": [1, 2]}
    assert notes[0].startswith("the last row, with 'Total:' in column 'city', is taken")
    frame, notes = read(written(tmp_path, "city,n\nTotal,1\nBonn,2\nTotal,3\n"))
    assert len(frame) == 3  # the name of a category
    assert notes == []


def test_codes_keep_their_zeros_and_their_digits(tmp_path):
    text = "zip,card,n,y\n00501,9007199254740993,1,0.5\n10001,,2,07.5\n"
    frame = read_table(written(tmp_path, text))
    assert frame["zip"].tolist() == ["00501", "10001"]
    assert frame["card"][0] == "9007199254740993"  # 2^53 + 1, no float64
    assert frame["n"].dtype.kind == "i"
    assert frame["y"].tolist() == [0.5, 7.5]


def test_thousands_and_decimals_are_not_taken_for_each_other(tmp_path):
    frame = read_table(written(tmp_path, "a;b;c\n1,234;1.234;1,5\n2,345;5;2,25\n"))
    assert frame["c"].tolist() == [1.5, 2.25]
    assert frame["b"].tolist() == ["1.234", "5"]  # left to who sees the whole column
    frame = read_table(written(tmp_path, "a;b\n1,234;1.5\n2,345;5\n"))
    assert frame["a"].tolist() == ["1,234", "2,345"]
    assert frame["b"].tolist() == [1.5, 5.0]


@pytest.mark.parametrize("mark", ["-999", "missing", "-999.0"])
def test_a_mark_that_is_named_is_missing_in_every_format(tmp_path, mark):
    frame = pd.DataFrame({"a": [1.0, -999.0, 3.0], "b": ["u", "v", "missing"]})
    number = mark != "missing"
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        found = read_table(tmp_path / name, ReadOptions(na=[mark]))
        assert found["a"].isna().tolist() == [False, number, False]
        assert found["b"].isna().tolist() == [False, False, not number]


def random_table(rng):
    """Return rows of values as a person might have them, and how they are written."""
    n_rows, n_columns = rng.integers(1, 40), rng.integers(2, 6)
    words = ["x", "a,b", 'q"q', "two\nlines", " pad ", "é", "NA", "", "1;2", "-", "0"]
    kinds = rng.choice(["int", "float", "text", "mixed", "bool"], n_columns)
    columns = []
    for kind in kinds:
        column = {
            "int": rng.integers(-99, 99, n_rows).astype(str),
            "float": rng.normal(size=n_rows).astype(str),
            "text": rng.choice(words, n_rows),
            "mixed": rng.choice([*words, "7", "1.5"], n_rows),
            "bool": rng.choice(["True", "False"], n_rows),
        }[kind]
        gaps = rng.random(n_rows) < rng.choice([0, 0.2])
        columns.append(np.where(gaps, "", column).tolist())
    return [[f"c{j}" for j in range(n_columns)], *map(list, zip(*columns, strict=True))]


@pytest.mark.parametrize("ragged", [False, True])
def test_random_tables_are_read_as_pandas_reads_them(tmp_path, rng, ragged):
    """Quotes, line breaks in values, gaps, short lines, four separators."""
    for _ in range(60):
        rows, separator = random_table(rng), str(rng.choice(list(",;\t|")))
        if ragged:
            rows[-1] = [rows[-1][0] or "7"]
        end = str(rng.choice(["\n", "\r\n"]))
        file = io.StringIO(newline="")
        csv.writer(file, delimiter=separator, lineterminator=end).writerows(rows)
        path = written(tmp_path, file.getvalue())
        expected = pd.read_csv(path, sep=separator, dtype=str)
        found = read_table(path, text=expected.columns)
        assert_same(found, expected)
        typed, theirs = read_table(path), pd.read_csv(path, sep=separator)
        for name in theirs.select_dtypes("number"):
            # the numbers of Python: pandas 2 reads the last bit wrongly
            np.testing.assert_array_equal(typed[name], expected[name].astype(float))
