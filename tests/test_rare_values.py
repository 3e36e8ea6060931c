import numpy as np
import pytest

from missfit import (
    EMLR,
    ConditionalImputedLogistic,
    ConditionalImputedLR,
    ConstantImputedLR,
)


def table_with_an_idle_column(rng, observed, n_rare=1, n=200, d=3):
    """Rows whose last column, without any effect, is rarely observed or missing.

    And the same new rows with that column observed everywhere, and missing everywhere.
    """

    def draw(n):
        X = rng.standard_normal((n, d + 1)) + 0.7 * rng.standard_normal((n, 1))
        X[:, d] = rng.standard_normal(n)
        y = X[:, :d].sum(axis=1) / 2 + rng.standard_normal(n)
        X[:, :d][rng.random((n, d)) < 0.2] = np.nan
        return X, y

    X, y = draw(n)
    rare = np.arange(n) < n_rare
    X[rare != observed, d] = np.nan
    seen, _ = draw(100)
    hidden = seen.copy()
    hidden[:, d] = np.nan
    return X, y, seen, hidden


def mean_move(model, seed, n_tables, observed, n_rare):
    """Mean move of predictions, in standard deviations of y (or as probability)."""
    rng, moves = np.random.default_rng(seed), []
    for _ in range(n_tables):
        X, y, *new = table_with_an_idle_column(rng, observed, n_rare)
        if hasattr(model, "predict_proba"):
            fitted = model.fit(X, y > np.median(y))
            guess = [fitted.predict_proba(rows)[:, 1] for rows in new]
        else:
            fitted = model.fit(X, y)
            guess = [fitted.predict(rows) / y.std() for rows in new]
        moves.append(np.abs(guess[1] - guess[0]).mean())
    return np.mean(moves)


# The slope of a column of 200 values has an error of .07, which moves predictions by
# .07 x .8 x .7 = .04 where it is missing instead; the rest is the shift of one row.
@pytest.mark.parametrize("observed", [True, False], ids=["observed", "missing"])
@pytest.mark.parametrize(
    ("model", "n_tables"),
    [
        (ConstantImputedLR(), 200),
        (ConditionalImputedLR(), 30),
        pytest.param(ConditionalImputedLR(), 200, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_column_with_one_such_row_moves_predictions_by_a_tenth_of_sd_y_at_most(
    model, n_tables, observed
):
    assert mean_move(model, 0, n_tables, observed, 1) < 0.1


@pytest.mark.parametrize("n_rare", [2, 5])
@pytest.mark.parametrize(
    "model", [ConstantImputedLR(), ConditionalImputedLR()], ids=str
)
def test_a_few_observed_values_move_predictions_by_a_fifth_of_sd_y_at_most(
    model, n_rare
):
    assert mean_move(model, 1, 20, True, n_rare) < 0.2


@pytest.mark.parametrize("observed", [True, False], ids=["observed", "missing"])
@pytest.mark.parametrize(
    "n_tables", [6, pytest.param(200, marks=pytest.mark.slow)], ids=str
)
def test_a_column_with_one_such_row_moves_probabilities_by_a_twentieth_at_most(
    n_tables, observed
):
    model = ConditionalImputedLogistic()
    assert mean_move(model, 2, n_tables, observed, 1) < 0.05


def test_the_values_of_a_column_hardly_observed_are_ignored(rng):
    X, y, seen, hidden = table_with_an_idle_column(rng, True, n_rare=5)
    model = EMLR().fit(X, y)
    assert model.coef_[-1] == 0
    np.testing.assert_allclose(model.predict(seen), model.predict(hidden), rtol=1e-9)


def test_an_effect_of_missing_that_rests_on_many_rows_is_learned_in_full(rng):
    n = 400
    X = rng.standard_normal((n, 2))
    missing = rng.random(n) < 0.2
    y = X[:, 0] + 3.0 * missing
    X[missing, 1] = np.nan
    model = ConstantImputedLR().fit(X, y)
    guess = model.predict([[0.0, np.nan], [0.0, 0.0]])
    np.testing.assert_allclose(guess, [3.0, 0.0], atol=1e-9)
