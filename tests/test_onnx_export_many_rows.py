"""Exported models on 100,000 rows each, of simulated and real tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from exported import outputs, trying_rows
from missfit import (
    EMLR,
    MICELR,
    AutoClassifier,
    AutoRegressor,
    ConditionalImputedLogistic,
    ConditionalImputedLR,
    ConstantImputedLR,
    EMProbit,
    ExpandedLR,
    FactorizedLR,
    PartialPooling,
    PatternClassifier,
    PatternMixtureLR,
    PatternProbit,
    SelfMaskedLR,
)
from missfit.simulate import Probit, published

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
N_ROWS = 100_000
CLOSE = 1e-10  # standard deviations of y, or probability: rounding is 1e-13 and less
SETTINGS = ("mixture1", "mixture3", "selfmasked")
TABLES = ("math_placement", "brandsma_lang", "star_math3", "nhanes_sbp")
CLASS_TABLES = ("pima_diabetes", "acath_event", "chile_yes", "credit_bad")
REGRESSORS = {
    "ConstantImputedLR": ConstantImputedLR(),
    "FactorizedLR": FactorizedLR(),
    "ExpandedLR": ExpandedLR(min_rows=30, fallback=EMLR(), centred=True),
    "EMLR": EMLR(),
    "ConditionalImputedLR": ConditionalImputedLR(),
    "PatternMixtureLR": PatternMixtureLR(random_state=0),
    "PartialPooling": PartialPooling(ConditionalImputedLR()),
    "MICELR": MICELR(),
    "SelfMaskedLR": SelfMaskedLR(),
    "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
    "AutoRegressor": AutoRegressor(random_state=0),
}
CLASSIFIERS = {
    "ConditionalImputedLogistic": ConditionalImputedLogistic(),
    "EMProbit": EMProbit(),
    "PatternClassifier": PatternClassifier(EMLR()),
    "linked": PatternClassifier(ConstantImputedLR()),
    "PatternProbit": PatternProbit(EMLR()),
    "AutoClassifier": AutoClassifier(random_state=0),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*patterns have fewer rows than coefficients"),
]


def rows_of(table, folder, suffix):
    path = folder / f"{table}{suffix}"
    if not path.exists():
        pytest.skip(f"the real table {path.name} is not at hand")
    values = pd.read_csv(path).to_numpy(float)
    return values[:, :-1], values[:, -1]


def tried(X):
    """Rows that float32 holds, so that both types of input are given the same."""
    rng = np.random.default_rng(0)
    return trying_rows(rng, X, N_ROWS).astype(np.float32).astype(float)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("table", [*SETTINGS, *TABLES])
def test_a_hundred_thousand_rows_are_predicted_as_by_the_model(table, name, tmp_path):
    if table in SETTINGS:
        X, y = published(table, 10).sample(3000, random_state=0)
    else:
        X, y = rows_of(table, SHARED, ".csv")
    if name == "FactorizedLR" and X.shape[1] > 30:
        pytest.skip("FactorizedLR has too many coefficients on this table")
    model, Z = REGRESSORS[name].fit(X, y), tried(X)
    expected = model.predict(Z)
    # sweeps are repeated until all rows of a batch have settled
    batch = 20 if name == "SelfMaskedLR" else 2000
    for dtype in ("float64", "float32"):
        found = outputs(model, tmp_path / "m.onnx", Z, dtype, batch)["prediction"]
        assert np.abs(found - expected).max() / y.std() < CLOSE, dtype


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("table", [*SETTINGS, *CLASS_TABLES])
def test_a_hundred_thousand_rows_have_the_probabilities_of_the_model(
    table, name, tmp_path
):
    if table in SETTINGS:
        X, y = Probit(published(table, 10), 1.0).sample(3000, random_state=0)
    else:
        X, y = rows_of(table, SHARED / "classes", ".csv.gz")
    model, Z = CLASSIFIERS[name].fit(X, y), tried(X)
    expected = model.predict_proba(Z)
    for dtype in ("float64", "float32"):
        found = outputs(model, tmp_path / "m.onnx", Z, dtype)["probabilities"]
        # a probit on SelfMaskedLR's law stops its own sweeps at 1e-6
        close = 1e-6 if "SelfMasked" in str(getattr(model, "base_", "")) else CLOSE
        assert np.abs(found - expected).max() < close, dtype
