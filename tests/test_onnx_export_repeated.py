"""Graphs that repeat steps until nothing moves, and the operators that files hold."""

import numpy as np
import pytest

from conftest import hide
from exported import outputs, session, trying_rows
from missfit import EMLR, MICELR, SelfMaskedLR
from missfit.onnx_export.export import onnx_model

onnx = pytest.importorskip("onnx")
CLOSE = 1e-10  # standard deviations of y, as for every exported model
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def written(model):
    return onnx.load_from_string(onnx_model(model).content)


def operators(graph):
    """Return all operators of a graph and of its loops."""
    inside = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return [*graph.node, *(one for body in inside for one in operators(body))]


@pytest.fixture(scope="module")
def chain():
    """Features that each follow the one before: a round of MICELR passes all on."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((300, 24)), axis=1)
    y = X[:, -1] + rng.standard_normal(300)
    # MICELR takes the features in the order of how often they are missing
    return hide(rng, X, np.linspace(0.05, 0.3, 24)), y


def test_long_chains_of_regressions_end_where_the_model_does(chain, tmp_path, rng):
    X, y = chain
    model = MICELR(max_iter=3).fit(X, y)
    # all features at once need as many steps as a value takes from first to last
    assert any(node.op_type == "Loop" for node in written(model).graph.node)
    Z = trying_rows(rng, X, 600)
    found = outputs(model, tmp_path / "m.onnx", Z)["prediction"]
    assert np.abs(found - model.predict(Z)).max() / y.std() < CLOSE


def test_a_feature_of_one_value_is_imputed_by_it(chain, tmp_path, rng):
    X, y = chain[0][:, :4].copy(), chain[1]
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 7.0)
    model = MICELR(max_iter=3).fit(X, y)
    Z = trying_rows(rng, X, 200)
    Z[:, 1] = np.where(np.isnan(Z[:, 1]), np.nan, rng.choice([7.0, 9.0], 200))
    found = outputs(model, tmp_path / "m.onnx", Z)["prediction"]
    assert np.abs(found - model.predict(Z)).max() / y.std() < CLOSE


@pytest.fixture(scope="module")
def masked():
    """Two models of self-masked features, one with twice as many."""
    rng = np.random.default_rng(0)
    models = []
    for d in (4, 8):
        X = rng.multivariate_normal(np.zeros(d), 0.3 * np.eye(d) + 0.7, 400)
        y = X.sum(axis=1) + rng.standard_normal(400)
        X[rng.random(X.shape) < 1 / (1 + np.exp(1 - 3 * X))] = np.nan
        models.append((SelfMaskedLR(max_iter=3).fit(X, y), X, y))
    return models


def test_steep_and_correlated_masking_settles_where_the_model_does(
    masked, tmp_path, rng
):
    model, X, y = masked[1]
    Z = trying_rows(rng, X, 400)
    found = outputs(model, tmp_path / "m.onnx", Z)
    mean, spread = model.predict(Z, return_std=True)
    assert np.abs(found["prediction"] - mean).max() / y.std() < CLOSE
    assert np.abs(found["std"] - spread).max() / y.std() < CLOSE
    one = session(tmp_path / "m.onnx")
    alone = [one.run(None, {"X": z[None]})[0][0] for z in Z[:40]]
    assert np.abs(alone - mean[:40]).max() / y.std() < CLOSE


def test_the_operators_of_self_masking_do_not_grow_with_the_features(masked):
    numbers = [len(operators(written(model).graph)) for model, *_ in masked]
    assert numbers[0] == numbers[1]


def test_only_self_masking_needs_an_operator_beside_the_standard(masked):
    model, X, y = masked[0]
    beside = {"com.microsoft"}

    def domains(model):
        return {one.domain for one in written(model).opset_import}

    assert beside <= domains(model)
    assert {one.op_type for one in operators(written(model).graph) if one.domain} == {
        "Inverse"
    }
    for other in (EMLR(), MICELR(max_iter=2)):
        assert not beside & domains(other.fit(X, y))
