"""
Diabetes: predict with blanks instead of filling them in
========================================================

442 patients, ten measurements, and how far the disease has progressed a year later. We
make holes in the table, more and more of them, and predict patients who have holes too.
The measurements are related: what is known about a patient says something about what is
missing. ``EMLR`` learns these relations from the incomplete rows and uses them. Filling
in the means does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

import missfit

plt.style.use("petroff10")
X, y = load_diabetes(return_X_y=True)
models = {
    "EMLR": missfit.EMLR(),
    "means, then linear": make_pipeline(SimpleImputer(), LinearRegression()),
    "boosting": HistGradientBoostingRegressor(max_iter=30, random_state=0),
}
rates = [0, 0.1, 0.2, 0.3, 0.4, 0.5]


def r2(model, rate, seed):
    """R2 of predicting every patient from the other folds."""
    holes = missfit.simulate.ampute(X, "MAR", rate, random_state=seed)
    folds = KFold(5, shuffle=True, random_state=seed)
    predicted = cross_val_predict(model, holes, y, cv=folds)
    return 1 - np.mean((y - predicted) ** 2) / np.var(y)


scores = {
    name: [np.mean([r2(model, rate, seed) for seed in range(2)]) for rate in rates]
    for name, model in models.items()
}
for name, score in scores.items():
    print(f"{name:20s}", np.round(score, 3))

# %%
# Without holes, ``EMLR`` is linear regression. The more is missing, the more it pays to
# use what is left. 442 rows are few for boosting.
fig, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for (name, score), marker in zip(scores.items(), "osD", strict=True):
    ax.plot(rates, score, marker=marker, label=name)
ax.set(xlabel="share of values missing", ylabel="R2 on patients not seen")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False)
fig.suptitle("R2 against the share of missing values", fontsize=11)
plt.show()
