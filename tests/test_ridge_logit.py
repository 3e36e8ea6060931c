"""Ridge logistic regression: against scikit-learn, and against fits without a row."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from missfit.estimators import ridge_logit as module
from missfit.estimators.ridge_logit import (
    LabelledColumns,
    best_ridge,
    held_top,
    ridge_logit,
)


def labelled(rng, n, d, size=1.0):
    X = rng.normal(size=(n, d))
    sign = np.where(size * X[:, 0] + rng.logistic(size=n) > 0.5, 1.0, -1.0)
    weight = rng.integers(1, 3, n).astype(float)
    return LabelledColumns(np.column_stack([X, np.ones(n)]), sign, weight)


def ridge_of(alpha, d):
    return np.append(np.full(d, alpha), 0.0)


@pytest.mark.parametrize("few_columns", [250, 0])  # by Newton and by quasi-Newton steps
@pytest.mark.parametrize("alpha", [0.03, 30.0])
def test_it_is_scikit_learn_s_logistic_regression(rng, monkeypatch, alpha, few_columns):
    monkeypatch.setattr(module, "FEW_COLUMNS", few_columns)
    rows = labelled(rng, 200, 4)
    theirs = LogisticRegression(C=1 / alpha, tol=1e-8)
    theirs.fit(rows.values[:, :-1], rows.sign, rows.weight)
    found = ridge_logit(rows, ridge_of(alpha, 4))
    expected = np.append(theirs.coef_, theirs.intercept_)
    # Newton steps end within a tenth of a standard error, which is .17 here, and the
    # last one is far closer
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_separated_classes_have_a_finite_fit(rng):
    X = np.column_stack([np.r_[-2 - rng.random(20), 2 + rng.random(20)], np.ones(40)])
    rows = LabelledColumns(X, np.sign(X[:, 0]), np.ones(40))
    coef = ridge_logit(rows, ridge_of(0.03, 1))
    theirs = LogisticRegression(C=1 / 0.03, tol=1e-8).fit(X[:, :1], rows.sign)
    # a tenth of a standard error, which is about 2: such rows do not tell the slope
    np.testing.assert_allclose(coef[0], theirs.coef_[0, 0], atol=0.2)


@pytest.mark.parametrize(("n", "d"), [(60, 5), (60, 40)])
def test_the_loss_of_rows_left_out_is_that_of_fits_to_the_others(rng, n, d):
    rows = labelled(rng, n, d, size=2.0)
    ridge = ridge_of(3.0, d)
    loss = 0.0
    for left in range(n):
        others = rows.weight.copy()
        others[left] -= 1  # one of the rows that a weight stands for
        coef = ridge_logit(rows._replace(weight=others), ridge)
        index = rows.sign[left] * (rows.values[left] @ coef)
        loss += rows.weight[left] * np.log1p(np.exp(-index))
    found = held_top(rows, ridge, np.zeros(d + 1))
    inside = -found.height - ridge @ found.point**2 / 2
    assert loss > 1.1 * inside  # there is something to correct
    # a step for each row, of which none is long where the ridge holds the columns
    assert rows.left_out_loss(found) == pytest.approx(loss, rel=0.02)


def test_columns_of_noise_get_a_strong_ridge_and_clear_ones_a_weak(rng):
    ridges = [ridge_of(alpha, 30) for alpha in (3000.0, 300.0, 30.0, 3.0, 0.3)]
    noise, clear = labelled(rng, 150, 30, size=0.0), labelled(rng, 2_000, 30, size=3.0)
    assert best_ridge(noise, ridges) <= 1
    assert best_ridge(clear, ridges) >= 3
