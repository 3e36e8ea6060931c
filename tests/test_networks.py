"""The networks as regressors: MLP and NeuMiss."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import hide, random_cov
from missfit import EMLR, MLP, NeuMiss
from missfit.bayes import BayesPredictor
from missfit.networks import fit_many
from missfit.networks.mlp import n_units
from missfit.simulate import MCARGaussian, SelfMaskedGaussian, published_data

pytest.importorskip(
    "missfit.networks.trainer", reason='pip install "missfit[networks]"'
)


def rows(rng, n=600, d=3):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X.sum(axis=1) + 0.3 * rng.standard_normal(n)
    return hide(rng, X, 0.3), y


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_preset_is_scikit_learn_s_network_in_law():
    # 100 seeds of each on one table of the paper: scores and epochs follow one law.
    # Two samples of one law are this far apart (p < 0.01) in one draw of a hundred
    X, y = published_data("selfmasked", 4, 0, 1000)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    seeds = range(100)
    ours = [
        MLP(16, preset="paper", weight_decay=0.1, random_state=seed) for seed in seeds
    ]
    fit_many(ours, [(X, y)] * len(seeds))
    Z, Z_test = (np.hstack([np.nan_to_num(T), np.isnan(T)]) for T in (X, X_test))
    scaler = StandardScaler().fit(Z)
    Z, Z_test = scaler.transform(Z), scaler.transform(Z_test)
    theirs = [
        MLPRegressor(
            hidden_layer_sizes=16, alpha=0.1, max_iter=1000, random_state=seed
        ).fit(Z, y)
        for seed in seeds
    ]
    scores = [m.score(X_test, y_test) for m in ours]
    assert ks_2samp(scores, [m.score(Z_test, y_test) for m in theirs]).pvalue > 0.01
    epochs = [[m.n_iter_ for m in models] for models in (ours, theirs)]
    assert ks_2samp(*epochs).pvalue > 0.01


@pytest.mark.slow
def test_many_tables_at_once_are_as_many_fits(rng):
    tables = [rows(rng, n) for n in (450, 300)]
    decays = {"weight_decay": (0.1, 10.0), "cv": KFold(2)}
    models = [MLP(width=w, random_state=w, **decays) for w in (6, 20)]
    together = [clone(model) for model in models]
    done = []
    fit_many(together, tables, done=lambda i: done.append((i, together[i].n_iter_)))
    assert sorted(done) == [(i, model.n_iter_) for i, model in enumerate(together)]
    for model, other, (X, y) in zip(models, together, tables, strict=True):
        model.fit(X, y)
        assert model.weight_decay_ == other.weight_decay_
        assert model.params_["W1"].shape == other.params_["W1"].shape
        np.testing.assert_allclose(
            model.predict(X), other.predict(X), atol=0.02 * y.std()
        )


# --- the regressors -----------------------------------------------------------------


@parametrize_with_checks([MLP(width=8, weight_decay=1.0)])
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


# Most checks have rows of a shape of their own, for which a program is compiled: one to
# two seconds each. NeuMiss shares with MLP all code but that of the layers.
@pytest.mark.slow
@parametrize_with_checks(
    [NeuMiss(weight_decay=1.0), MLP(), MLP(preset="paper"), NeuMiss(), NeuMiss(head=8)],
)
def test_scikit_learn_s_own_suite_on_every_network(estimator, check):
    check(estimator)


BOTH = pytest.mark.parametrize(
    "model",
    [
        pytest.param(MLP(width=10, weight_decay=1.0), id="MLP"),
        pytest.param(NeuMiss(weight_decay=1.0), id="NeuMiss"),
        pytest.param(NeuMiss(head="2d"), id="NeuMiss-head", marks=pytest.mark.slow),
    ],
)


@BOTH
def test_nan_goes_in_and_good_predictions_come_out(model, rng):
    X, y = rows(rng, 2000)
    model = clone(model).set_params(random_state=0).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.6
    assert np.isfinite(model.predict(np.full((1, 3), np.nan))).all()
    again = clone(model).fit(X[:1500], y[:1500])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    assert len(model.loss_curve_) == model.n_iter_


@BOTH
def test_several_targets_frames_and_float32(model, rng):
    X, y = rows(rng)
    model = clone(model).set_params(random_state=0, weight_decay=1.0)
    frame = pd.DataFrame(X, columns=list("abc")).astype("Float64")
    two = model.fit(frame, np.column_stack([y, -y])).predict(frame)
    assert two.shape == (600, 2)
    assert np.corrcoef(two[:, 0], y)[0, 1] > 0.7
    small = clone(model).fit(X.astype(np.float32), y.astype(np.float32))
    large = clone(model).fit(X.astype(np.float32).astype(float), y.astype(np.float32))
    np.testing.assert_array_equal(small.predict(X), large.predict(X))


@pytest.mark.slow
@BOTH
def test_more_passes_over_a_stream_learn_more(model, rng):
    X, y = rows(rng, 2000)
    model = clone(model).set_params(random_state=0, weight_decay=0.1)
    model.partial_fit(X, y)
    first = model.score(X, y)
    for _ in range(30):
        model.partial_fit(X, y)
    assert model.score(X, y) > first or first > 0.8
    assert model.n_iter_ == 31


@BOTH
def test_zero_weights_leave_rows_out(model, rng):
    X, y = rows(rng, 150)  # one batch, in float64
    weight = (np.arange(150) < 100).astype(float)
    model = clone(model).set_params(random_state=0, weight_decay=1.0)
    weighted = clone(model).fit(X, y, weight).predict(X)
    without = clone(model).fit(X[:100], y[:100]).predict(X)
    np.testing.assert_allclose(weighted, without, rtol=1e-5, atol=1e-5)


def test_neumiss_starts_as_the_neumann_series_of_em(rng):
    # deep enough, the series is EM's predictor; before any step, so it is all there is
    X, y = rows(rng)
    model = NeuMiss(depth=300)
    (start,) = model._job(X, y).finals
    model._keep(start.params, [])
    em = EMLR().fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(X), em, atol=0.01 * y.std())


@BOTH
@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_columns_whose_squares_leave_the_range_of_floats_are_refused(model, scale, rng):
    X, y = rows(rng, 50)
    X[:, 1] *= scale
    for fit in (clone(model).fit, clone(model).partial_fit):
        with pytest.raises(ValueError, match=r"Rescale|rescale"):
            fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["MCAR", "Gaussian self-masking"])
def test_neumiss_comes_near_the_bayes_predictor_and_above_the_mlp(mechanism, rng):
    d = 20
    cov = random_cov(rng, d)
    beta, sd = np.ones(d), np.sqrt(np.diag(cov))
    noise = np.sqrt(beta @ cov @ beta / 10)
    law = (np.zeros(d), cov, beta)
    if mechanism == "MCAR":
        model = MCARGaussian(*law, rate=0.5, noise=noise)
    else:
        model = SelfMaskedGaussian.with_rate(
            *law, rate=0.5, centre=sd, width=1.5 * sd, noise=noise
        )
    X, y = model.sample(100_000, random_state=0)
    X_test, y_test = model.sample(30_000, random_state=1)
    best = BayesPredictor(model).score(X_test, y_test)
    ours = NeuMiss(weight_decay=1.0, random_state=0).fit(X, y).score(X_test, y_test)
    mlp = MLP(width=100, weight_decay=1.0, random_state=0).fit(X, y)
    assert ours > best - 0.015
    assert ours > mlp.score(X_test, y_test)


def noise(seed, n=60, d=12):
    rng = np.random.default_rng(seed)
    return hide(rng, rng.normal(size=(n, d)), 0.2), rng.normal(size=n)


@pytest.mark.slow
def test_the_scores_of_neumiss_are_those_of_scikit_learn_s_cross_validation():
    # on pure noise they were 1.1 too high on average. 30 rows are one batch, in
    # float64, so that the two agree but for rounding
    X, y = noise(0)
    folds = KFold(2)
    model = NeuMiss(weight_decay=(1e2, 1e4), cv=folds, random_state=0).fit(X, y)
    for decay, ours in model.cv_scores_.items():
        one = NeuMiss(weight_decay=decay, random_state=0)
        theirs = cross_val_score(one, X, y, cv=folds).mean()
        assert ours == pytest.approx(theirs, abs=1e-8)
    # on noise there is nothing to score; single values may lie a little above 0
    assert np.mean(list(model.cv_scores_.values())) < 0


def test_neither_origin_nor_unit_of_x_changes_what_the_default_mlp_predicts(rng):
    # 150 rows are trained in float64: what is left is the rounding of X + 2,000, which
    # 1,000 steps enlarge
    X, y = rows(rng, 150)
    model = MLP(6, weight_decay=1.0, random_state=0)
    expected = clone(model).fit(X, y).predict(X)
    for moved in (X + 2000, 1e-3 * X - 70):
        ours = clone(model).fit(moved, y).predict(moved)
        np.testing.assert_allclose(ours, expected, atol=1e-4 * y.std())


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.1, -1234.56, 1e9])
def test_a_target_that_does_not_vary_is_predicted_exactly(value, rng):
    X, y = rows(rng, 150)
    for model in (MLP(5, weight_decay=1.0), NeuMiss(weight_decay=1.0)):
        constant = model.fit(X, np.full(150, value)).predict(X)
        np.testing.assert_array_equal(constant, value)
    two = MLP(5, weight_decay=1.0).fit(X, np.column_stack([y, np.full(150, value)]))
    np.testing.assert_array_equal(two.predict(X)[:, 1], value)
    assert np.corrcoef(two.predict(X)[:, 0], y)[0, 1] > 0.8


@pytest.mark.slow
@BOTH
def test_a_feature_that_is_never_seen_at_fit_has_hardly_a_say_later(model, rng):
    X, y = rows(rng, 300)
    X[:, 1] = np.nan
    model = clone(model).set_params(random_state=0, weight_decay=1.0).fit(X, y)
    there = X.copy()
    there[:, 1] = 1e6
    # not quite the same: NeuMiss's ReLU layer takes a mask of 1 in all rows for a bias
    gap = np.abs(model.predict(there) - model.predict(X)).max()
    assert gap < 0.1 * y.std()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MLP(width="wide"), r"width='wide'; give a number of units, or a multiple"),
        (MLP(width=0), r"width=0 gives 0 units"),
        (MLP(width="0.01*2^d"), r"gives 0 units; at least 1"),
        (MLP(preset="fast"), r"preset='fast'; choose 'paper' or None"),
        (MLP(weight_decay=-1.0), r"weight_decay=-1.0; give one or more numbers >= 0"),
        (MLP(cv=1000), r"n_samples=600, fewer than the 1000 folds"),
        (NeuMiss(depth=-1), r"depth=-1; give a whole number of layers"),
    ],
)
def test_bad_parameters_are_refused(model, message, rng):
    X, y = rows(rng)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_widths_are_the_papers_multiples():
    assert [n_units(w, 10) for w in (7, "d", "0.3d", "2 * d", "0.1*2^d")] == [
        7,
        10,
        3,
        20,
        102,
    ]


@pytest.mark.parametrize("preset", [None, "paper"])
def test_the_tries_start_alike_but_in_the_preset(preset, rng):
    # two penalties that are all but equal: what is left is where the tries start
    X, y = rows(rng)
    model = MLP(4, preset=preset, weight_decay=(0.1, 0.1 + 1e-9), random_state=0)
    one, other = model.fit(X, y).cv_scores_.values()
    assert (abs(one - other) > 1e-4) == (preset == "paper")


def test_splits_may_be_lists_of_rows(rng):
    X, y = rows(rng, 300)
    train, test = np.arange(200), np.arange(200, 300)
    of_arrays, of_lists = (
        MLP(4, cv=[split], random_state=0).fit(X, y).cv_scores_
        for split in ((train, test), (train.tolist(), test.tolist()))
    )
    assert of_arrays == of_lists


def test_progress_is_shown_on_request(rng, capsys):
    X, y = rows(rng)
    MLP(width=4, random_state=0, verbose=True).fit(X, y)
    shown = capsys.readouterr().err
    assert "18 of 18 networks" in shown


def test_without_jax_the_error_has_the_line_that_mends_it():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import missfit\n"
        "try:\n"
        "    missfit.MLP().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])\n"
        "except ImportError as error:\n"
        "    assert 'pip install \"missfit[networks]\"' in str(error)\n"
        "else:\n"
        "    raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
