"""Exported models against `predict`, which they must repeat for every pattern."""

import json
import sys

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import missfit
from conftest import hide
from exported import onnxruntime, outputs, session, trying_rows
from missfit import (
    EMLR,
    MICELR,
    AutoClassifier,
    AutoRegressor,
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
)
from missfit.auto.average import ClassAverage, LinearAverage
from missfit.auto.objective import SQUARED_ERROR
from missfit.auto.parts import Part
from missfit.auto.trees import FlatTrees
from missfit.estimators.filled_columns import FilledColumns
from missfit.onnx_export.distributions import inverse_mills, ndtr
from missfit.onnx_export.export import ExportError, onnx_model
from missfit.onnx_export.graph import Graph
from missfit.onnx_export.model_bytes import Input, Output, model_bytes
from missfit.onnx_export.patterns import of_pattern
from missfit.onnx_export.rows import Rows
from missfit.simulate import Probit, published

# Standard deviations of y. Both sides compute in float64 by different roads; what is
# left is rounding, and in SelfMaskedLR the 1e-8 that its own sweeps stop at.
CLOSE = 1e-10
BOOSTING = HistGradientBoostingRegressor(max_iter=30, random_state=0)
REGRESSORS = [
    ConstantImputedLR(),
    FactorizedLR(order=2, alphas=(1.0,)),
    ExpandedLR(alphas=(1.0,), min_rows=10),
    ExpandedLR(alphas=(1.0,), min_rows=10, fallback=EMLR()),
    ExpandedLR(alphas=(1.0,), min_rows=1000, fallback=ConstantImputedLR()),
    EMLR(),
    EMLR(algorithm="reference", max_iter=50),
    ConditionalImputedLR(),
    PatternMixtureLR(n_components=3, random_state=0, max_iter=30),
    PartialPooling(ConstantImputedLR(), taus=(1.0,)),
    MICELR(),
    MICELR(bounded=False),
    SelfMaskedLR(max_iter=3),
    FilledColumns(BOOSTING),
    LinearAverage([EMLR(), ConstantImputedLR()], (0.7, 0.3)),
    make_pipeline(
        SimpleImputer(add_indicator=True), StandardScaler(), RidgeCV((1.0, 10.0))
    ),
]
CLASSIFIERS = [
    ConditionalImputedLogistic(),
    EMProbit(),
    PatternClassifier(EMLR()),
    PatternClassifier(ConstantImputedLR()),
    PatternProbit(EMLR()),
    ClassAverage([ConditionalImputedLogistic(), PatternProbit(EMLR())], (0.7, 0.3)),
    PatternProbit(PatternMixtureLR(n_components=2, random_state=0, max_iter=30)),
    make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression(C=0.1)),
    HistGradientBoostingClassifier(max_iter=10, random_state=0),
]


def name_of(model):
    return str(model).replace(" ", "").replace("\n", "")[:60]


@pytest.fixture(scope="module")
def mixture():
    """Rows of three Gaussians, which patterns choose: nothing here is MAR."""
    return published("mixture3", 4).sample(600, random_state=0)


def largest_gap(model, path, Z, spread, dtype="float64"):
    """Return how far the file is from predict, and from its std, in units of y."""
    found = outputs(model, path, Z, dtype)
    told = Z.astype(dtype).astype(float)
    gaps = [np.abs(found["prediction"] - model.predict(told)).max()]
    if "std" in found:
        spread_told = model.predict(told, return_std=True)[1]
        gaps.append(np.abs(found["std"] - spread_told).max())
    return max(gaps) / spread


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
def test_an_exported_regressor_predicts_any_pattern_as_the_model_does(
    model, mixture, tmp_path, rng
):
    X, y = mixture
    model.fit(X, y)
    Z = trying_rows(rng, X, 400)
    path = tmp_path / "model.onnx"
    assert largest_gap(model, path, Z, y.std()) < CLOSE
    nothing = session(path).run(None, {"X": X[:0]})
    assert {len(one) for one in nothing} == {0}
    assert largest_gap(model, path, Z, y.std(), "float32") < CLOSE


@pytest.fixture(scope="module", params=[2, 3])
def labelled(request):
    """Rows and texts for labels, of two or three classes."""
    X, label = Probit(published("mixture1", 4), 1.0).sample(400, random_state=0)
    y = np.array(["no", "yes", "perhaps"])[label.astype(int)]
    if request.param == 3:
        y[::3] = "perhaps"
    return X, y


def check_classes(model, path, Z, tolerance=CLOSE):
    found = outputs(model, path, Z)
    np.testing.assert_allclose(
        found["probabilities"], model.predict_proba(Z), rtol=0, atol=tolerance
    )
    assert found["label"].tolist() == model.predict(Z).tolist()
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_an_exported_classifier_tells_the_same_probabilities_and_labels(
    model, labelled, tmp_path, rng
):
    X, y = labelled
    model = clone(model).fit(X, y)
    check_classes(model, tmp_path / "m.onnx", trying_rows(rng, X, 400))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_probit_on_a_self_masked_law_is_as_close_as_its_sweeps_are(
    labelled, tmp_path, rng
):
    X, y = labelled
    model = PatternProbit(SelfMaskedLR(max_iter=3)).fit(X, y)
    # predict_proba stops its sweeps at 1e-6 standard deviations
    check_classes(model, tmp_path / "m.onnx", trying_rows(rng, X, 200), 1e-6)


def test_the_default_classifier_is_exported_with_its_trees(labelled, tmp_path, rng):
    X, y = labelled
    base = ConditionalImputedLogistic()
    model = AutoClassifier([base], cv=2, random_state=0).fit(X, y)
    objective = model._objective_
    logits = objective.guess(model.base_, X)
    trees = [
        FlatTrees.from_boosting(clone(CLASSIFIERS[-1]).fit(inputs, y))
        for inputs in (np.column_stack([X, logits]), X)
    ]
    model.parts_ = [
        Part("X and the base", objective.tasks[0], trees[0], 10, 0.3),
        Part("X", objective.tasks[1], FlatTrees.joined([trees[1]] * 2), 10, 0.5),
    ]
    model._offset_ = 0.3 if len(model.classes_) == 2 else np.array([0.2, -0.3, 0.1])
    check_classes(model, tmp_path / "m.onnx", trying_rows(rng, X, 400))


@pytest.mark.parametrize("allow_empty", [True, False])
def test_sets_of_classes_are_those_of_the_model(labelled, allow_empty, tmp_path, rng):
    X, y = labelled
    base = ConditionalImputedLogistic()
    model = ConformalClassifier(base, random_state=0, allow_empty=allow_empty)
    model.fit(X, y)
    Z = trying_rows(rng, X, 400)
    found = check_classes(model, tmp_path / "m.onnx", Z)
    assert (found["set"] == model.predict_set(Z)).all()


def test_a_class_without_weight_has_the_same_small_probability(labelled, tmp_path, rng):
    X, y = labelled
    weight = (y != y[0]).astype(float)
    y = np.where(rng.random(len(y)) < 0.5, y, "other")  # two classes at least are left
    model = ConformalClassifier(ConditionalImputedLogistic(), random_state=0)
    model.fit(X, y, sample_weight=np.where(y == "other", 1.0, weight))
    assert len(model.estimator_.classes_) == len(model.classes_) - 1
    Z = trying_rows(rng, X, 400)
    check_classes(model, tmp_path / "m.onnx", Z)
    assert (model.predict_proba(Z) > 0).all()


@pytest.mark.parametrize("y", [np.array([0, 1, 2]), np.array([False, True])])
def test_labels_keep_their_type(y, tmp_path, rng):
    X = hide(rng, rng.standard_normal((200, 2)))
    model = ConditionalImputedLogistic().fit(X, rng.choice(y, 200))
    found = outputs(model, tmp_path / "model.onnx", X)["label"]
    assert found.dtype == y.dtype
    assert (found == model.predict(X)).all()


def test_far_rows_have_the_weights_of_the_model_to_the_last_digits(tmp_path, rng):
    """Two populations that differ along one axis, of condition 1,000, and rows far off.

    Squared distances are 10,000 there, and weights are differences of them. Where what
    rounding leaves of them is not put back, predictions differ by 2e-11.
    """
    n, d = 1500, 30
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.geomspace(1, 0.03, d)
    X, kind = rng.normal(size=(n, d)) @ axes.T, rng.integers(2, size=n)
    X += 2.5 * kind[:, None] * axes[:, 0]
    y = X[:, 0] * np.where(kind, 3, -1) + 5 * kind + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = PatternMixtureLR(n_components=2, random_state=0).fit(X, y)
    far = hide(rng, 3 * rng.normal(size=(4000, d)), 0.3)
    found = outputs(model, tmp_path / "m.onnx", far)["prediction"]
    assert np.abs(found - model.predict(far)).max() / y.std() < 4e-12


def test_several_targets_stay_several(mixture, tmp_path, rng):
    X, y = mixture
    model = EMLR().fit(X, np.column_stack([y, rng.random(len(y))]))
    Z = trying_rows(rng, X, 50)
    found = outputs(model, tmp_path / "model.onnx", Z)
    mean, spread = model.predict(Z, return_std=True)
    np.testing.assert_allclose(found["prediction"], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["std"], spread, rtol=1e-12)


@pytest.fixture(scope="module")
def boosted(mixture):
    """An AutoRegressor with both kinds of trees: on the residuals, and beside y."""
    X, y = mixture
    model = AutoRegressor([ConstantImputedLR()], cv=2, random_state=0).fit(X, y)
    base = model.base_.predict(X)
    on_y = clone(BOOSTING).fit(X, y)
    on_rest = clone(BOOSTING).fit(np.column_stack([X, base]), y - base)
    pairs = [FlatTrees.from_boosting(one) for one in (on_y, on_y, on_rest)]
    model.parts_ = [
        Part("on residuals", SQUARED_ERROR.tasks[0], pairs[2], 30, 0.7),
        Part("on y", SQUARED_ERROR.tasks[1], FlatTrees.joined(pairs[:2]), 30, 0.4),
    ]
    return model, X, y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_default_is_exported_with_its_trees(boosted, dtype, tmp_path, rng):
    model, X, y = boosted
    Z = trying_rows(rng, X, 1000)
    assert largest_gap(model, tmp_path / "m.onnx", Z, y.std(), dtype) < CLOSE


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_at_a_threshold_and_missing_ones_go_where_scikit_learn_sends_them(
    dtype, tmp_path, rng
):
    X = hide(rng, rng.integers(0, 50, (500, 2)) / 10, 0.3)
    y = np.nan_to_num(X[:, 0], nan=9.0) ** 2 + np.nan_to_num(X[:, 1], nan=-3.0)
    model = clone(BOOSTING).fit(X, y)
    nodes = np.concatenate([tree.nodes for (tree,) in model._predictors])
    cuts = nodes["num_threshold"][nodes["is_leaf"] == 0].astype(dtype)
    near = np.concatenate([cuts, np.nextafter(cuts, -9), np.nextafter(cuts, 9)])
    near = np.append(near, [np.nan, 0, 1e30]).astype(dtype)
    Z = np.array(np.meshgrid(near[:200], near[-40:])).reshape(2, -1).T
    found = outputs(model, tmp_path / "m.onnx", Z, dtype)["prediction"]
    np.testing.assert_allclose(found, model.predict(Z), rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [3, 62, 63, 130])
def test_a_table_of_patterns_finds_each_and_no_other(d, rng):
    patterns = np.unique(rng.random((40, d)) < 0.5, axis=0)
    table = rng.standard_normal((len(patterns), 2))
    mask = np.concatenate([patterns, rng.random((200, d)) < 0.5])
    flipped = patterns.copy()
    flipped[:, -1] ^= True  # the last bit of the last word
    mask = np.concatenate([mask, flipped, np.ones((1, d), dtype=bool)])
    graph = Graph()
    rows = Rows(graph.input("X"), d)
    value = of_pattern(rows, patterns, table, np.array([7.0, 8.0]))
    found = run_graph(graph, value, d, 2, np.where(mask, np.nan, 0.0))
    known = {
        pattern.tobytes(): row for pattern, row in zip(patterns, table, strict=True)
    }
    expected = [known.get(row.tobytes(), [7.0, 8.0]) for row in mask]
    np.testing.assert_array_equal(found, expected)


def run_graph(graph, value, d, width, X):
    ends = [Output("y", value, "f", width)]
    content = model_bytes(graph, [Input("X", "float64", d)], ends, {})
    return onnxruntime.InferenceSession(content).run(None, {"X": X})[0]


@pytest.mark.parametrize(
    ("law", "reference", "highest"),
    [
        (ndtr, special.ndtr, 40),
        (inverse_mills, lambda x: np.exp(-x * x / 2 - special.log_ndtr(x)), 30),
    ],
)
def test_the_normal_law_has_the_digits_of_float64(law, reference, highest):
    x = np.linspace(-highest, 35, 5000)[:, None]
    graph = Graph()
    found = run_graph(graph, law(graph.input("X")), 1, 1, x)
    scale = reference(x) if law is ndtr else reference(x) / np.sqrt(2 * np.pi)
    # exp(-x^2 / 2) at x = -40 has an exponent of 800, which costs three digits
    np.testing.assert_allclose(found, scale, rtol=1e-12, atol=1e-300)


def test_intervals_are_those_of_the_model_near_what_was_seen_and_infinite_elsewhere(
    tmp_path, rng
):
    X = hide(rng, rng.standard_normal((400, 12)), 0.1)
    y = np.nansum(X, axis=1) + rng.standard_normal(400)
    model = ConformalRegressor(ConstantImputedLR(), random_state=0).fit(X, y)
    seen = model.calibration_rows_
    nearby = seen[:12].copy()
    nearby[np.arange(12), np.arange(12)] = np.nan  # one more is missing
    far = np.full((1, 12), np.nan)
    far[0, 0] = 1.0
    Z = np.concatenate([seen, nearby, np.full((1, 12), np.nan), far])
    found = outputs(model, tmp_path / "model.onnx", Z)
    lower, upper = model.predict_interval(Z)
    np.testing.assert_allclose(found["lower"][:-1], lower[:-1], rtol=1e-12)
    np.testing.assert_allclose(found["upper"][:-1], upper[:-1], rtol=1e-12)
    assert [found["lower"][-1], found["upper"][-1]] == [-np.inf, np.inf]
    assert np.isfinite([lower[-1], upper[-1]]).all()  # predict can tell
    assert "infinite" in onnx_model(model).schema["intervals"]


def test_intervals_of_all_patterns_are_told_where_features_are_few(tmp_path, rng):
    X = hide(rng, rng.standard_normal((200, 3)), 0.1)
    model = ConformalRegressor(ConstantImputedLR(), random_state=0)
    model.fit(X, rng.standard_normal(200))
    Z = trying_rows(rng, X, 200)
    found = outputs(model, tmp_path / "model.onnx", Z)
    np.testing.assert_allclose(
        [found["lower"], found["upper"]], model.predict_interval(Z), rtol=1e-10
    )


def test_what_has_no_graph_is_refused_before_anything_is_written(tmp_path, rng):
    X = rng.standard_normal((50, 2))
    path = tmp_path / "model.onnx"
    forest = RandomForestRegressor(2, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ExportError, match=r"RandomForestRegressor cannot .* EMLR"):
        missfit.export(forest, path)
    assert not path.exists()


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        missfit.export(EMLR(), tmp_path / "model.onnx")


def test_a_dtype_that_is_not_known_is_refused(mixture, tmp_path):
    model = ConstantImputedLR().fit(*mixture)
    with pytest.raises(ValueError, match="'float16'; choose 'float64' or 'float32'"):
        missfit.export(model, tmp_path / "model.onnx", dtype="float16")


def test_without_onnx_the_way_to_install_it_is_said(mixture, tmp_path, monkeypatch):
    model = ConstantImputedLR().fit(*mixture)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"onnx.*pip install .missfit\[onnx\]"):
        missfit.export(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_the_schema_tells_the_inputs_and_outputs_of_the_file(mixture, tmp_path):
    path, beside = tmp_path / "model.onnx", tmp_path / "model.json"
    missfit.export(EMLR().fit(*mixture), path, dtype="float32", schema=beside)
    run, schema = session(path), json.loads(beside.read_text())
    kept = run.get_modelmeta().custom_metadata_map["missfit.schema"]
    assert json.loads(kept) == schema
    types = {"float32": "tensor(float)", "float64": "tensor(double)"}
    for ends, told in (
        (run.get_inputs(), schema["inputs"]),
        (run.get_outputs(), schema["outputs"]),
    ):
        assert [one.name for one in ends] == [one["name"] for one in told]
        assert [one.shape for one in ends] == [one["shape"] for one in told]
        assert [one.type for one in ends] == [types[one["type"]] for one in told]


def test_the_same_model_gives_the_same_file(mixture, tmp_path):
    model = EMLR().fit(*mixture)
    for name in "ab":
        missfit.export(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
