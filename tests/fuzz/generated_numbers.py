"""How far the predictions of a regressor leave the range of y on generated tables.

The predictors are those that a user is offered; the paper's own ways (`ExpandedLR()`,
`EMLR("reference")`, ``alphas=(0,)``, `MICELR(bounded=False)`, ``preset="paper"``) are
what they are.
"""

import warnings

from generated_tables import generated_table, ranges_outside
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from missfit import (
    EMLR,
    MICELR,
    MLP,
    AutoRegressor,
    ConditionalImputedLR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    NeuMiss,
    PartialPooling,
    PatternMixtureLR,
    SelfMaskedLR,
)

MOST_RANGES = 10.0
LINEAR = {
    "ConstantImputedLR": ConstantImputedLR(),
    "ConditionalImputedLR": ConditionalImputedLR(),
    "EMLR": EMLR(),
    "MICELR": MICELR(),
    "FactorizedLR": FactorizedLR(),
    "FactorizedLR order 0": FactorizedLR(order=0),
    "ExpandedLR": ExpandedLR(min_rows=30, fallback=ConstantImputedLR(), centred=True),
    "SelfMaskedLR": SelfMaskedLR(),
    "PartialPooling": PartialPooling(ConditionalImputedLR()),
    "PatternMixtureLR": PatternMixtureLR(random_state=0),
}
DEFAULT = {"AutoRegressor": AutoRegressor(random_state=0)}
NETWORKS = {  # several seconds a table
    "MLP": MLP(random_state=0),
    "NeuMiss": NeuMiss(depth=3, random_state=0),
}


def furthest(model, seed):
    """How far predictions leave the range of y, in ranges; None if rows are refused."""
    table = generated_table(seed)
    model, weights, X, y = clone(model), {}, table.X, table.y
    if table.weight is not None and has_fit_parameter(model, "sample_weight"):
        weights, counted = {"sample_weight": table.weight}, table.weight > 0
        X, y = X[counted], y[counted]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare patterns, few steps: the point of it
        try:
            model.fit(table.X, table.y, **weights)
        except ValueError as error:
            if "fewer than the" in str(error) or "no split" in str(error):
                return None  # too few rows for the folds of the cross-validation
            raise
        return max(ranges_outside(model.predict(rows), y) for rows in (X, table.new))


def wild(model, seeds):
    """List the seeds whose predictions go wild, with how far and with their columns."""
    found = []
    for seed in seeds:
        far = furthest(model, seed)
        if far is not None and far > MOST_RANGES:
            found.append((seed, far, generated_table(seed).kinds))
    return found
