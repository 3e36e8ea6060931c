"""300 hostile model files: refused in one line, fast, small, and nothing runs."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hostile_models import KINDS, hostile_cases
from limited import Worker, faults_of_refusal, leftovers

from missfit.tables.training import TrainingTable
from missfit.workflow.fit import fit_table
from missfit.workflow.model_file import save_model

FAST = ("EMLR", "HistGradientBoosting")
CLASSES = (
    "AutoClassifier",
    "ConditionalImputedLogistic",
    "EMProbit",
    "PatternClassifier(EMLR)",
    "HistGradientBoosting",
)
SLOW = (
    *FAST,
    "AutoRegressor",
    "ExpandedLR",
    "FactorizedLR",
    "IterativeImputer + ridge",
    "NeuMiss",
    "PatternMixtureLR",
    "SelfMaskedLR",
)


def make_frame(n, seed):
    """A table whose target is not linear, so that the default keeps its trees."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = 3 * np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.15] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return frame.assign(city=rng.choice(["x", "y", None], n), y=y)


def labelled(table):
    """The same rows, and whether the target is above its median."""
    above = table.y > np.median(table.y)
    return replace(table, y=above.astype(float), classes=("no", "yes"))


def good_files(folder, predictors, *, classes=False):
    frame = make_frame(400, 0)
    table = TrainingTable(frame.drop(columns="y"), frame["y"].to_numpy(), "y", None, [])
    table = labelled(table) if classes else table
    make_frame(20, 1).drop(columns="y").to_csv(folder / "new.csv", index=False)
    for name in predictors:
        save_model(folder / "good.skops", fit_table(table, predictor=name))
        yield name, (folder / "good.skops").read_bytes()


def attack(folder, predictors, n_cases, seed, *, classes=False):
    """Predict with every hostile file; return what went wrong."""
    models = dict(good_files(folder, predictors, classes=classes))
    new, out, model = folder / "new.csv", folder / "out.csv", folder / "model.skops"
    known = [*os.listdir(folder), "model.skops"]
    worker = Worker()
    faults, honest = [], {}
    for name, content in models.items():
        model.write_bytes(content)
        outcome = worker.run(["predict", model, new, "--out", out])
        assert outcome.code == 0, outcome.err
        honest[name] = out.read_bytes()
    for name, case in hostile_cases(models, n_cases, seed):
        out.unlink(missing_ok=True)
        model.write_bytes(case.content)
        outcome = worker.run(["predict", model, new, "--out", out])
        found = faults_of_refusal(outcome)
        if outcome.code == 0 and case.must_refuse:
            found.append("was loaded")
        if outcome.code == 0 and case.same and out.read_bytes() != honest[name]:
            found.append("predicts something else")
        left = leftovers(folder, known if outcome.code else [*known, "out.csv"])
        faults += [f"{case.name}: {fault}" for fault in [*found, *left]]
    worker.close()
    return faults


def test_each_kind_of_hostile_model_file_is_refused_in_one_line(tmp_path):
    assert not attack(tmp_path, FAST, len(KINDS), seed=0)


@pytest.mark.slow
def test_300_hostile_model_files_of_nine_predictors_do_no_harm(tmp_path):
    assert not attack(tmp_path, SLOW, 324, seed=1)


@pytest.mark.slow
def test_200_hostile_model_files_of_five_classifiers_do_no_harm(tmp_path):
    assert not attack(tmp_path, CLASSES, 200, seed=2, classes=True)
