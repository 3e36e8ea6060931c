"""Boosted classifiers as flat trees: the same probabilities, and nothing strange."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from missfit.auto.flat_classifier import FlatClassifier


def boosted(n_classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.5])]
    y = y if n_classes == 3 else np.where(y == "a", "a", "b")
    X[rng.random(X.shape) < 0.3] = np.nan
    return HistGradientBoostingClassifier(max_iter=10).fit(X, y), X


@pytest.mark.parametrize("n_classes", [2, 3])
def test_flat_trees_give_the_probabilities_of_scikit_learn(n_classes):
    model, X = boosted(n_classes)
    flat = FlatClassifier.from_boosting(model)
    # sums in the same order; scikit-learn's softmax may round otherwise in the last bit
    np.testing.assert_allclose(
        flat.predict_proba(X), model.predict_proba(X), rtol=1e-14
    )
    assert (flat.predict(X) == model.predict(X)).all()


def test_trees_that_are_not_those_of_the_classes_are_refused():
    two, three = (FlatClassifier.from_boosting(boosted(k)[0]) for k in (2, 3))
    with pytest.raises(ValueError, match="1 sums of trees for 3 classes; two classes"):
        FlatClassifier(two.trees, three.classes_)
    with pytest.raises(ValueError, match="3 sums of trees for 2 classes"):
        three.__setstate__({"trees": three.trees, "classes_": two.classes_})
