"""
Rows in the order of time
=========================

Where the level of the target wanders, as demand or prices do, shuffled folds are too
kind: every day is predicted from the day before it *and the day after it*. New rows
have no day after. ``ForwardSplit`` predicts every block of rows from the blocks before
it, and tells the error that you will have.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

import missfit

plt.style.use("petroff10")
rng = np.random.default_rng(3)
n = 600
day = np.arange(n)
weather = rng.normal(size=n)
y = np.cumsum(rng.normal(size=n)) + 2 * weather
X = np.column_stack([day, weather])
X[rng.random(n) < 0.2, 1] = np.nan  # the weather station fails now and then

model = HistGradientBoostingRegressor(max_iter=50, random_state=0)
shuffled = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
forward = np.full(n, np.nan)
for past, later in missfit.estimators.ForwardSplit().split(X, groups=day):
    forward[later] = model.fit(X[past], y[past]).predict(X[later])

# %%
# The same model, on the same days. The first block has no past and is not predicted.
fig, axes = plt.subplots(2, 1, figsize=(5, 4.6), sharex=True, layout="constrained")
titles = {"shuffled folds": shuffled, "from the past alone": forward}
for ax, (title, predicted), color in zip(
    axes, titles.items(), ("C0", "C2"), strict=True
):
    told = ~np.isnan(predicted)
    error = np.sqrt(np.mean((y - predicted)[told] ** 2))
    print(f"{title}: RMSE {error:.1f}")
    ax.plot(day, y, color="lightgray", lw=3, label="truth")
    ax.plot(day, predicted, color=color, lw=1, label="predicted")
    ax.set_title(f"{title}: typical error {error:.1f}")
    ax.set_ylabel("target")
axes[0].legend(frameon=False, loc="lower left")
axes[1].set_xlabel("day")
plt.show()

# %%
# In ``AutoRegressor`` and ``ConformalRegressor`` the same is ``cv=ForwardSplit()``, and
# on the command line it is ``--time day``.
