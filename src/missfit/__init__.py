"""Predict from tables with missing values.

- `missfit.compare`, `fit_table`, `load_model`: which predictor for a table, a model of
  it, and a model from its file; for frames, files and arrays.
- `missfit.AutoRegressor`: the default; picks among the others, says what and why.
- `missfit.ConditionalImputedLR`: conditional expectations, indicators, ridge.
- `missfit.ConstantImputedLR`, `FactorizedLR`, `ExpandedLR`, `EMLR`, `MICELR`,
  `PatternMixtureLR`, `SelfMaskedLR`: scikit-learn regressors that take NaN at fit and
  at predict.
- `missfit.MLP`, `NeuMiss`: networks in JAX, many trained at once.
- `missfit.MLPClassifier`, `NeuMissClassifier`: the same networks for classes.
- `missfit.PatternClassifier`: any linear predictor of them, for classes.
- `missfit.TableEncoder`: columns of any kind to numbers, one mask bit per variable.
- `missfit.ConformalRegressor`, `ConformalClassifier`: intervals, and sets of classes,
  calibrated for each missing pattern.
- `missfit.PartialPooling`: any of them, corrected pattern by pattern where rows say so.
- `missfit.PatternMoments`: rows with holes, reduced to moments per missing pattern.
- `missfit.TableFile`: some columns of a file, to fit from and to predict.
- `missfit.simulate`: laws whose Bayes predictor is known, and the paper's data.
- `missfit.bayes`: the Bayes predictor and the Bayes risk of these laws.
- `missfit.theory`: parameter counts, risk bounds, regimes, the network of Theorem 6.1.
- `missfit.study`: the paper's study and your own: run, resume, figures.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from missfit.start import prepare_command

prepare_command()  # before the imports that take seconds

from missfit import bayes, simulate, study, theory  # noqa: E402
from missfit.auto.regressor import AutoRegressor  # noqa: E402
from missfit.estimators import (  # noqa: E402
    EMLR,
    MICELR,
    ConditionalImputedLogistic,
    ConditionalImputedLR,
    ConformalClassifier,
    ConformalRegressor,
    ConstantImputedLR,
    EMProbit,
    ExpandedLR,
    FactorizedLR,
    PartialPooling,
    PatternClassifier,
    PatternMixtureLR,
    SelfMaskedLR,
    TableEncoder,
)
from missfit.moments.pattern_moments import PatternMoments  # noqa: E402
from missfit.networks import (  # noqa: E402
    MLP,
    MLPClassifier,
    NeuMiss,
    NeuMissClassifier,
)
from missfit.tables.chunks import TableFile  # noqa: E402

if TYPE_CHECKING:
    from missfit.workflow.compared import compare
    from missfit.workflow.fit import fit_table
    from missfit.workflow.model_file import load_model

# Names that are imported on first use: what they need takes a while to import.
LAZY = {
    "compare": "missfit.workflow.compared",
    "fit_table": "missfit.workflow.fit",
    "load_model": "missfit.workflow.model_file",
}


def __getattr__(name: str) -> Any:
    """Import a name of `LAZY` when it is asked for."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(LAZY[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return all names, also those that are imported on first use."""
    return sorted({*globals(), *__all__})


__all__ = [
    "EMLR",
    "MICELR",
    "MLP",
    "AutoRegressor",
    "ConditionalImputedLR",
    "ConditionalImputedLogistic",
    "ConformalClassifier",
    "ConformalRegressor",
    "ConstantImputedLR",
    "EMProbit",
    "ExpandedLR",
    "FactorizedLR",
    "MLPClassifier",
    "NeuMiss",
    "NeuMissClassifier",
    "PartialPooling",
    "PatternClassifier",
    "PatternMixtureLR",
    "PatternMoments",
    "SelfMaskedLR",
    "TableEncoder",
    "TableFile",
    "bayes",
    "compare",
    "fit_table",
    "load_model",
    "simulate",
    "study",
    "theory",
]
__version__ = "0.1.0"
