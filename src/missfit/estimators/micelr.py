"""MICELR: chained regressions to impute, then least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LinearRegression

from missfit.estimators.base import NanRegressor
from missfit.sources import comes_in_chunks


class MICELR(NanRegressor):
    """Impute by chained regressions, then regress: what people do.

    scikit-learn's IterativeImputer and LinearRegression, as in the paper. It sees rows:
    there is no `fit_moments`, no `partial_fit`, no ``sample_weight`` (IterativeImputer
    takes none) and no affine map per pattern (its imputations are clipped, and the
    rounds of a row's imputation depend on the other rows' convergence).

    Parameters
    ----------
    bounded : bool
        Keep each imputed value within the range of its feature at fit. The paper's
        imputations are unbounded and explode now and then: ``bounded=False``.
    max_iter : int
        Most rounds of imputation.

    Attributes
    ----------
    imputer_ : IterativeImputer
    n_iter_ : int
        Rounds of imputation at fit.
    coef_, intercept_
        Of the regression on imputed features.

    Notes
    -----
    Any pattern can be imputed, seen or not; a row with nothing observed gets the
    chained predictions from the means. A feature all missing at fit is imputed by 0 and
    so ignored. Constant or collinear features and fewer rows than features get the
    least squares solution of least norm. Its scale is not free: the regularisation
    inside IterativeImputer's BayesianRidge depends on the units.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X.sum(axis=1)
    >>> X[:50, 1] = np.nan
    >>> MICELR().fit(X, y).predict([[1.0, 2.0]]).round().tolist()
    [3.0]
    """

    is_linear = True

    def __init__(self, *, bounded: bool = True, max_iter: int = 10):
        self.bounded = bounded
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> MICELR:
        """Fit to rows, NaN in X where missing."""
        trial = self._trial()
        trial._fit_rows(*trial._check_fit(X, y))
        return self._become(trial)

    def _fit_rows(self, X, y) -> None:
        bounds: Any = _ranges(X) if self.bounded else (-np.inf, np.inf)
        # Nothing here is random: no posterior is sampled and all features are used.
        self.imputer_ = IterativeImputer(
            max_iter=self.max_iter,
            min_value=bounds[0],
            max_value=bounds[1],
            keep_empty_features=True,
            random_state=0,
        )
        imputed = self.imputer_.fit_transform(X.copy())  # it writes into its input
        self.n_iter_ = max(1, self.imputer_.n_iter_)
        self._regression_ = LinearRegression().fit(imputed, y)
        self.coef_ = self._regression_.coef_
        self.intercept_ = self._regression_.intercept_

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Impute and predict rows, NaN where missing."""
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        return self._regression_.predict(self.imputer_.transform(X.copy()))


def _ranges(X: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """Smallest and largest observed value of each feature, a little apart."""
    seen = ~np.isnan(X)
    low = np.min(X, axis=0, initial=np.inf, where=seen)
    high = np.max(X, axis=0, initial=-np.inf, where=seen)
    empty = ~seen.any(axis=0)
    low, high = np.where(empty, 0.0, low), np.where(empty, 0.0, high)
    # IterativeImputer asks for a range that is not empty
    return low, np.where(high > low, high, np.nextafter(low, np.inf))
