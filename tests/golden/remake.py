"""Predictions that a rebuilding must not change: every estimator on six fixed tables.

``python tests/golden/remake.py`` writes ``golden.json`` anew, which is right only where
numbers were meant to change; `tests/test_golden.py` compares with it.
"""

from __future__ import annotations

import csv
import json
import platform
import tempfile
import warnings
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
import sklearn
from threadpoolctl import threadpool_info

import missfit
from missfit.cli import main

FILE = Path(__file__).parent / "golden.json"
LINEAR = {
    "ConstantImputedLR": missfit.ConstantImputedLR,
    "FactorizedLR": missfit.FactorizedLR,
    "ExpandedLR": missfit.ExpandedLR,
    "EMLR": missfit.EMLR,
    "EMLR reference": lambda: missfit.EMLR(algorithm="reference"),
    "ConditionalImputedLR": missfit.ConditionalImputedLR,
    "PartialPooling": lambda: missfit.PartialPooling(missfit.EMLR()),
}
BY_ROWS = {
    "MICELR": missfit.MICELR,
    "SelfMaskedLR": missfit.SelfMaskedLR,
    "PatternMixtureLR": lambda: missfit.PatternMixtureLR(random_state=0),
}
DEFAULT = {"AutoRegressor": lambda: missfit.AutoRegressor(random_state=0)}
NETWORKS = {
    "MLP": lambda: missfit.MLP(width=8, random_state=0),
    "MLP paper": lambda: missfit.MLP(width=8, preset="paper", random_state=0),
    "NeuMiss": lambda: missfit.NeuMiss(depth=2, random_state=0),
}
N_TRAIN, N_TEST = 240, 12


def rows(setting: str, d: int = 4):
    """Return training and test rows of one of the paper's settings."""
    X, y = missfit.simulate.published(setting, d).sample(
        N_TRAIN + N_TEST, random_state=7
    )
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]


def frame(X):
    """Return an array as a frame of named columns."""
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def predictions() -> dict[str, list[float]]:
    """Return the predictions of every estimator, by table and estimator."""
    return quick_predictions() | slow_predictions()


def quick_predictions() -> dict[str, list[float]]:
    """Return the predictions of what is fitted in a moment."""
    found = on_every_setting(LINEAR | BY_ROWS)
    X, y, new = rows("mixture1")
    found |= on_frames(LINEAR)
    for name, make in LINEAR.items():
        if name == "PartialPooling":
            continue  # it reads rows in memory
        chunks = iter([(X[k::6], y[k::6]) for k in range(6)])
        found[f"mixture1, stream: {name}"] = make().fit(chunks).predict(new)
    return found | with_weights_and_groups(X, y, new)


def slow_predictions() -> dict[str, list[float]]:
    """Return the predictions of the default and of networks, which take seconds."""
    return on_every_setting(DEFAULT) | on_frames(NETWORKS)


def on_every_setting(estimators) -> dict:
    """Return predictions from arrays, for each of the paper's settings."""
    found = {}
    for setting in ("mixture1", "mixture3", "selfmasked"):
        X, y, new = rows(setting)
        for name, make in estimators.items():
            found[f"{setting}, arrays: {name}"] = make().fit(X, y).predict(new)
    return found


def on_frames(estimators) -> dict:
    """Return predictions from a frame."""
    X, y, new = rows("mixture1")
    return {
        f"mixture1, frame: {name}": make().fit(frame(X), y).predict(frame(new))
        for name, make in estimators.items()
    }


def with_weights_and_groups(X, y, new) -> dict:
    """Return predictions and intervals where rows have weights, or groups."""
    weight, groups = 0.5 + np.arange(len(X)) % 3, np.arange(len(X)) // 6
    found = {}
    for name, make in LINEAR.items():
        model = make().fit(X, y, sample_weight=weight)
        found[f"mixture1, weights: {name}"] = model.predict(new)
    auto = missfit.AutoRegressor(random_state=0, cv=3)
    found["mixture1, groups: AutoRegressor"] = auto.fit(X, y, groups=groups).predict(
        new
    )
    intervals = missfit.ConformalRegressor(missfit.EMLR(), random_state=0)
    ends = intervals.fit(X, y, groups=groups).predict_interval(new)
    found["mixture1, groups: ConformalRegressor"] = np.concatenate(ends)
    return found


def study_table(folder: Path) -> dict[str, float]:
    """Return the test R2 of the cells of the study `quick` without networks.

    EM goes on until its end: where it stops by default differs by up to 2e-4 of R2
    between processors, since the leaps of two runs part after a few dozen steps; at its
    end by 7e-6.
    """
    quick = (files("missfit.study") / "studies" / "quick.toml").read_text()
    em = 'estimator = "missfit.EMLR"\n'
    assert em in quick
    folder.mkdir(exist_ok=True)
    study = folder / "quick.toml"
    study.write_text(quick.replace(em, f"{em}parameters = {{ tol = 1e-10 }}\n"))
    methods = "ConstantImputedLR,EMLR,ExpandedLR"
    main(["study", str(study), "--methods", methods, "--out", str(folder)])
    table = pd.read_parquet(folder / "results.parquet")
    keys = ["setting", "d", "n", "repetition", "method", "split"]
    names = table[keys].astype(str).agg(" ".join, axis=1)
    return dict(zip(names, table["r2"].astype(float), strict=True))


def compare_table(folder: Path, setting: str) -> dict[str, float]:
    """Return R2 by predictor and fold of `missfit compare` on a small table."""
    X, y, _ = rows(setting)
    frame(X).assign(y=y).to_csv(folder / "table.csv", index=False)
    quick = ["--skip", "MLP", "--skip", "NeuMiss", "--skip", "PatternMixtureLR"]
    out = folder / "report"
    # --all: which predictors are left out for their time depends on the machine
    command = ["compare", f"{folder / 'table.csv'}", "--target", "y", "--all"]
    main([*command, "--out", f"{out}", *quick])
    with (out / "results.csv").open() as file:
        return {
            f"{r['predictor']} {r['fold']}": float(r["r2"])
            for r in csv.DictReader(file)
        }


def made_on() -> dict[str, str]:
    """Return what the last digits may depend on.

    OpenBLAS and numpy add up in another order on each kind of processor, and an EM that
    stops a step earlier differs by 1e-7.
    """
    vectors = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    versions = {m.__name__: m.__version__ for m in (np, scipy, sklearn)}
    kinds = {one["architecture"] for one in threadpool_info() if "architecture" in one}
    processor = {"blas": " ".join(sorted(kinds)), "vectors": " ".join(vectors)}
    return {"machine": platform.machine(), **processor, **versions}


def remake() -> None:
    """Write the file anew."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        content = {
            "made on": made_on(),
            "predictions": {k: list(map(float, v)) for k, v in predictions().items()},
            "study": study_table(Path(folder) / "study"),
            "compare": {
                setting: compare_table(Path(folder), setting)
                for setting in ("mixture1", "selfmasked")
            },
        }
    FILE.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    remake()
