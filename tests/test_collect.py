"""What a study comes to: its findings and comparisons are computed once."""

from importlib import import_module

import pandas as pd

from missfit.report.study import study_page
from missfit.study import load, summary

room = import_module("missfit.study.collect")  # the package has a function so named


def one_cell():
    """Return the table of a study of one cell."""
    row = {"setting": "mixture1", "d": 10, "n": 75_000, "repetition": 0}
    row |= {"method": "EMLR", "r2": 0.7, "mse": 0.3, "status": "ok", "message": ""}
    row |= {"fit_seconds": 1.0, "predict_seconds": 0.1}
    row |= {"versions": "numpy", "device": "cpu"}
    return pd.DataFrame([row | {"split": split} for split in ("train", "test")])


def test_the_report_and_the_summary_share_findings_and_published_means(monkeypatch):
    calls = []
    for name in ("findings", "beside_published"):
        original = getattr(room, name)

        def counted(table, name=name, original=original):
            calls.append(name)
            return original(table)

        monkeypatch.setattr(room, name, counted)
    collected = room.Collected(one_cell(), {}, 1, 0, 0)
    page = study_page(load("quick"), collected)
    lines = summary(collected)
    assert "Sample-size regimes" in page
    assert "mixture1, d = 10, 75,000 training rows" in lines
    assert sorted(calls) == ["beside_published", "findings"]
