"""Answers of a model with classes, and what is kept of patterns."""

import json

import numpy as np
import pytest

from missfit import (
    ConditionalImputedLogistic,
    ConformalClassifier,
    ConformalRegressor,
    ConstantImputedLR,
    TableEncoder,
)
from missfit.workflow.missingness import Missingness
from missfit.workflow.model_file import TableModel
from served import make_table

pytest.importorskip("starlette", reason='pip install "missfit[serve]"')
pytest.importorskip("uvicorn", reason='pip install "missfit[serve]"')
from missfit.serve import answers
from missfit.serve.app import Service
from serving import Running


def table_model(conformal, y):
    frame = make_table().drop(columns="y")
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame)
    missingness = Missingness.of(encoder.mask(X))
    return TableModel(encoder, conformal.fit(X, y), "name", "y", missingness)


@pytest.fixture(scope="module")
def classes():
    y = np.where(make_table()["y"] > 7, "high", "low")
    base = ConformalClassifier(ConditionalImputedLogistic(), random_state=0)
    return table_model(base, y)


def new_rows(n=40):
    frame = make_table(n, seed=7).drop(columns="y")
    return frame, json.loads(frame.to_json(orient="records", date_format="iso"))


def test_classes_are_answered_by_the_probabilities_and_sets_of_the_library(classes):
    server = Running(classes)
    try:
        frame, rows = new_rows()
        frame["born"] = frame["born"].dt.strftime("%Y-%m-%d")
        for row, born in zip(rows, frame["born"], strict=True):
            row["born"] = born if isinstance(born, str) else None
        said = server.predict(rows)[0]
        asked = json.loads(server.ask("POST", "/ask", json.dumps({"age": 50}))[2])
        text = server.ask("POST", "/predict", "[{}]", accept="text/csv")[2].decode()
    finally:
        server.stop()
    X = classes.encoder.transform(frame)
    shares, sets = classes.regressor.predict_proba(X), classes.regressor.predict_set(X)
    labels = classes.regressor.classes_
    for row, share, inside in zip(said, shares, sets, strict=True):
        assert list(row["probabilities"]) == labels.tolist()
        np.testing.assert_allclose(
            list(row["probabilities"].values()), share, atol=6e-7
        )
        assert row["set"] == labels[inside].tolist()
        assert row["prediction"] == labels[share.argmax()]
    assert asked["ask"][0]["column"] == "city"
    assert 0 < asked["ask"][0]["log_loss"] < asked["log_loss"] < np.log(2) + 0.05
    assert text.startswith("prediction,probability_high,probability_low\n")


def test_an_answer_does_not_depend_on_which_patterns_are_kept(monkeypatch):
    base = ConformalRegressor(ConstantImputedLR(), random_state=0)
    service = Service(table_model(base, make_table()["y"].to_numpy()))
    rows = [{"age": 50.0}, {"dose": 1.0}, {}, {"age": 50.0, "dose": 1.0}] * 2
    try:
        expected = service.answers.of_rows(rows).rows
        assert len(service.answers._kept) == 4
        monkeypatch.setattr(answers, "MOST_KEPT", 2)
        found = [service.answers.of_rows([row]).rows[0] for row in rows]
    finally:
        service.close()
    assert found == expected
    assert len(service.answers._kept) <= 2
