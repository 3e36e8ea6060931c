"""Messy twins: the same table, written as people write tables.

`clean_table` makes a table of typed columns, and each function in `VARIANTS` returns
its twin as text, with the options of `DataFrame.to_csv` that belong to it.
"""

import numpy as np
import pandas as pd

TARGET = "price"
NARROW, WIDE = "\u202f", "\u00a0"  # spaces that people put between thousands
MONTHS = {
    "en": "January February March April May June July August September October "
    "November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November "
    "Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre "
    "décembre",
}


def clean_table(n=300, seed=0):
    """Return a table with numbers, truth values, dates and categories, with holes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10.3, 0.5, n).round(2),
            "area": rng.uniform(30, 250, n).round(1),
            "distance": (rng.integers(100, 40_000, n) / 1000).round(3),
            "balance": rng.normal(0, 3000, n).round(2),
            "rate": rng.uniform(0.5, 99, n).round(1),
            "rooms": rng.integers(1, 9, n).astype(float),
            "garden": pd.array(rng.random(n) < 0.4, dtype="boolean"),
            "renovated": pd.array(rng.random(n) < 0.6, dtype="boolean"),
            "built": np.datetime64("1985-01-01") + rng.integers(0, 12_000, n),
            "city": rng.choice(["Lyon", "Paris", "Nice"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    days = (frame["built"] - pd.Timestamp("1985-01-01")).dt.days.to_numpy()
    price = (
        2 * frame["income"]
        + 900 * frame["area"]
        - 2_000 * frame["distance"]
        + 5 * frame["balance"]
        + 300 * frame["rate"]
        + 9_000 * frame["rooms"]
        + 30_000 * frame["garden"].astype(float)
        - 20_000 * frame["renovated"].astype(float)
        + 5 * days
        + 40_000 * (frame["city"] == "Paris")
    )
    holes = rng.random(frame.shape) < 0.08
    frame = frame.mask(pd.DataFrame(holes, columns=frame.columns))
    frame[TARGET] = (price + rng.normal(0, 20_000, n)).round(2)
    return frame


def written(series, write, missing=""):
    """Return a column as text, value by value."""
    return pd.Series(
        [missing if pd.isna(v) else write(v) for v in series], dtype=object
    )


def as_text(frame):
    """Return a frame as plain text, as `DataFrame.to_csv` would write it."""
    text = pd.DataFrame(index=frame.index)
    for name, series in frame.items():
        if series.dtype.kind == "M":
            text[name] = written(series, lambda day: f"{day:%Y-%m-%d}")
        elif series.dtype.kind == "f":
            text[name] = written(series, plain)
        else:
            text[name] = written(series, str)
    return text


def plain(value):
    return f"{value:.10g}" if value != int(value) else str(int(value))


def grouped(value, separator=",", decimal="."):
    text = f"{value:,.2f}" if value != int(value) else f"{value:,.0f}"
    return text.replace(",", "_").replace(".", decimal).replace("_", separator)


def currency(frame, rng):
    text = as_text(frame)
    text["income"] = written(frame["income"], lambda v: f"${v:,.2f}")
    text["balance"] = written(
        frame["balance"], lambda v: f"{'-' * (v < 0)}€{abs(v):,.2f}"
    )
    text[TARGET] = written(frame[TARGET], lambda v: f"USD {v:,.2f}")
    return text, {}


def percent(frame, rng):
    text = as_text(frame)
    text["rate"] = written(frame["rate"], lambda v: f"{v:.1f} %")
    return text, {}


def decimal_comma(frame, rng):
    text = as_text(frame)
    for name in ("income", "balance", TARGET):
        text[name] = written(frame[name], lambda v: grouped(v, ".", ","))
    for name in ("area", "distance", "rate"):
        text[name] = written(frame[name], lambda v: plain(v).replace(".", ","))
    return text, {"sep": ";"}


def thousands(frame, rng):
    text = as_text(frame)
    text["income"] = written(frame["income"], lambda v: grouped(v, "'"))
    text["balance"] = written(frame["balance"], lambda v: grouped(v, NARROW, ","))
    text[TARGET] = written(frame[TARGET], lambda v: grouped(v, WIDE))
    return text, {}


def negatives(frame, rng):
    text = as_text(frame)
    text["balance"] = written(
        frame["balance"], lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}"
    )
    text[TARGET] = written(
        frame[TARGET], lambda v: f"{v:,.2f}".lstrip("-") + "-" * (v < 0)
    )
    return text, {}


def units(frame, rng):
    text = as_text(frame)
    text["area"] = written(frame["area"], lambda v: f"{plain(v)} m²")
    text["rooms"] = written(frame["rooms"], lambda v: f"{v:.0f} rooms")
    text["distance"] = written(
        frame["distance"],
        lambda v: f"{1000 * v:.0f} m" if v < 1 else f"{plain(v)}km",
    )
    return text, {}


def booleans(frame, rng):
    text = as_text(frame)
    text["garden"] = written(
        frame["garden"], lambda v: rng.choice(["Oui", "oui"] if v else ["non", "NON"])
    )
    text["renovated"] = written(
        frame["renovated"],
        lambda v: rng.choice(
            ["yes", "Y", "TRUE", "1"] if v else ["No", "n", "false", "0"]
        ),
    )
    return text, {}


def days_first(frame, rng):
    text = as_text(frame)
    text["built"] = written(frame["built"], lambda day: f"{day:%d/%m/%Y}")
    return text, {}


def months_first(frame, rng):
    text = as_text(frame)
    text["built"] = written(
        frame["built"], lambda day: f"{day.month}/{day.day}/{day.year} 00:00"
    )
    return text, {}


def month_names(frame, rng):
    text = as_text(frame)

    def name(day):
        language = rng.choice(list(MONTHS))
        month = MONTHS[language].split()[day.month - 1]
        if language == "en":
            return rng.choice(
                [
                    f"{month} {day.day}, {day.year}",
                    f"{day.day:02}-{month[:3]}-{day.year}",
                ]
            )
        return f"{day.day}{'.' * (language == 'de')} {month} {day.year}"

    text["built"] = written(frame["built"], name)
    return text, {}


def short_years(frame, rng):
    text = as_text(frame)
    text["built"] = written(
        frame["built"],
        lambda day: rng.choice(["{:%d.%m.%y}", "{:%d/%m/%y}", "{:%d-%m-%y}"]).format(
            day
        ),
    )
    return text, {}


def marks(frame, rng):
    text = as_text(frame)
    some = ["NA", "N/A", "n/a", "null", "none", "-", "--", "?", ".", "#N/A", "nan", ""]
    some += ["n.a.", "missing", "Unknown", "#DIV/0!"]
    for name in frame.columns:
        words = some if frame[name].dtype.kind in "fM" else ["NA", "", "null", "#N/A"]
        lost = frame[name].isna().to_numpy()
        text.loc[lost, name] = rng.choice(words, lost.sum())
    return text, {}


def sentinels(frame, rng):
    text = as_text(frame)
    for name, mark in {
        **{"income": "-999", "area": "-1", "distance": "9999", "rate": "999"},
        **{"rooms": "99", "balance": "-99999", "built": "1900-01-01"},
    }.items():
        text.loc[frame[name].isna(), name] = mark
    return text, {}


def codes(frame, rng):
    text = as_text(frame)
    n = len(frame)
    text.insert(0, "Unnamed: 0", np.arange(n).astype(str))
    text.insert(1, "customer_id", rng.permutation(10 * n)[:n].astype(str))
    text["zip"] = [f"{code:05}" for code in rng.choice([501, 2138, 10001, 94105], n)]
    text["reference"] = [f"R-{k:06x}" for k in rng.permutation(n)]
    return text, {}


def mixed_column(frame, rng):
    text = as_text(frame)

    def price(v):
        ways = [f"${v:,.2f}", f"{v:,.2f}", plain(v), f"{v:,.2f} USD", f"$ {v:.2f}"]
        return rng.choice(ways)

    text["income"] = written(frame["income"], price)
    text["rate"] = written(
        frame["rate"], lambda v: rng.choice([f"{v:.1f}%", f"{v:.1f} %", f"{v:.1f}"])
    )
    text["built"] = written(
        frame["built"],
        lambda day: rng.choice(["{:%Y-%m-%d}", "{:%d.%m.%Y}", "{:%d %b %Y}"]).format(
            day
        ),
    )
    return text, {}


def spreadsheet(frame, rng):
    text = as_text(frame)
    for name in ("income", "balance", TARGET):
        text[name] = written(
            frame[name], lambda v: f"{grouped(v, '.', ',')} €", "#DIV/0!"
        )
    for name in ("area", "distance"):
        text[name] = written(frame[name], lambda v: plain(v).replace(".", ","), "#REF!")
    text["rate"] = written(
        frame["rate"], lambda v: f"{v:.1f}%".replace(".", ","), "#N/A"
    )
    text["built"] = written(frame["built"], lambda day: f"{day:%d.%m.%Y}", "-")
    for name in ("garden", "renovated"):
        text[name] = written(frame[name], lambda v: "ja" if v else "nein", "")
    return text, {"sep": ";", "encoding": "utf-8-sig"}


def everything(frame, rng):
    text, _ = codes(frame, rng)
    for change, names in (
        (currency, ["income", "balance", TARGET]),
        (percent, ["rate"]),
        (units, ["area", "distance"]),
        (booleans, ["garden", "renovated"]),
        (days_first, ["built"]),
    ):
        text[names] = change(frame, rng)[0][names]
    lost = frame.isna()
    text.loc[lost["rooms"], "rooms"] = "-999"
    text.loc[lost["income"], "income"] = "n/a"
    text.loc[lost["area"], "area"] = "?"
    text.loc[lost["built"], "built"] = "unknown"
    return text, {"sep": "\t"}


VARIANTS = {
    one.__name__: one
    for one in (
        *(currency, percent, decimal_comma, thousands, negatives, units, booleans),
        *(days_first, months_first, month_names, short_years, marks, sentinels, codes),
        *(mixed_column, spreadsheet, everything),
    )
}


def messy_twin(variant, frame, path=None, seed=1):
    """Return the twin of a frame as text, and write it to a file where one is given."""
    text, options = VARIANTS[variant](frame, np.random.default_rng(seed))
    if path is not None:
        text.to_csv(path, index=False, **options)
    return text
