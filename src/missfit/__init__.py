"""Predict from tables with missing values.

- `missfit.compare`, `fit_table`, `load_model`: which predictor for a table, a model of
  it, and a model from its file; for frames, files and arrays.
- `missfit.export`: a fitted model as an ONNX file, exact for every missing pattern.
- `missfit.AutoRegressor`: the default; picks among the others, says what and why.
- `missfit.ConditionalImputedLR`: conditional expectations, indicators, ridge.
- `missfit.ConstantImputedLR`, `FactorizedLR`, `ExpandedLR`, `EMLR`, `MICELR`,
  `PatternMixtureLR`, `SelfMaskedLR`: scikit-learn regressors that take NaN at fit and
  at predict.
- `missfit.MLP`, `NeuMiss`: networks in JAX, many trained at once;
  `missfit.MLPClassifier`, `NeuMissClassifier`: the same for classes.
- `missfit.AutoClassifier`: the default for classes.
- `missfit.PatternClassifier`, `PatternProbit`: linear predictors of them, for classes.
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

if TYPE_CHECKING:
    from missfit import bayes, estimators, simulate, study, theory
    from missfit.auto.classifier import AutoClassifier
    from missfit.auto.regressor import AutoRegressor
    from missfit.estimators import (
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
        PatternProbit,
        SelfMaskedLR,
        TableEncoder,
    )
    from missfit.moments.pattern_moments import PatternMoments
    from missfit.networks import MLP, MLPClassifier, NeuMiss, NeuMissClassifier
    from missfit.onnx_export.export import export
    from missfit.tables.chunks import TableFile
    from missfit.workflow.compared import compare
    from missfit.workflow.fit import fit_table
    from missfit.workflow.model_file import load_model

# Where the public names live that are not estimators. All names are imported on first
# use: `missfit --version` answers without numpy, scipy and scikit-learn.
HOMES = {
    "AutoClassifier": "missfit.auto.classifier",
    "AutoRegressor": "missfit.auto.regressor",
    "MLP": "missfit.networks",
    "MLPClassifier": "missfit.networks",
    "NeuMiss": "missfit.networks",
    "NeuMissClassifier": "missfit.networks",
    "PatternMoments": "missfit.moments.pattern_moments",
    "TableFile": "missfit.tables.chunks",
    "compare": "missfit.workflow.compared",
    "export": "missfit.onnx_export.export",
    "fit_table": "missfit.workflow.fit",
    "load_model": "missfit.workflow.model_file",
}
ROOMS = ("bayes", "estimators", "simulate", "study", "theory")


if not TYPE_CHECKING:  # else a misspelt name would pass a type checker

    def __getattr__(name: str) -> Any:
        """Import a public name when it is asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in ROOMS:
            return import_module(f"missfit.{name}")
        found = getattr(import_module(HOMES.get(name, "missfit.estimators")), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]


__all__ = [
    "EMLR",
    "MICELR",
    "MLP",
    "AutoClassifier",
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
    "PatternProbit",
    "SelfMaskedLR",
    "TableEncoder",
    "TableFile",
    "bayes",
    "compare",
    "estimators",
    "export",
    "fit_table",
    "load_model",
    "simulate",
    "study",
    "theory",
]
__version__ = "1.0.0"
