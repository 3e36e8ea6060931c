"""What cannot be exported, and the way out."""

from __future__ import annotations

from typing import Any

CAN = (
    "AutoRegressor, AutoClassifier, EMLR, ConditionalImputedLR, ConstantImputedLR, "
    "FactorizedLR, ExpandedLR, PatternMixtureLR, SelfMaskedLR, MICELR, PartialPooling, "
    "ConditionalImputedLogistic, PatternClassifier, PatternProbit, EMProbit, "
    "ConformalRegressor, ConformalClassifier, scikit-learn's "
    "HistGradientBoostingRegressor and HistGradientBoostingClassifier, and pipelines "
    "of a TableEncoder and one of these"
)


class ExportError(ValueError):
    """The reason why a model is not exported."""


def no_export_of(model: Any) -> ExportError:
    """Return the error of a model that has no graph."""
    return ExportError(
        f"{type(model).__name__} cannot be exported to ONNX. What can be: {CAN}. Fit "
        "one of these, or use the model from Python with predict."
    )
