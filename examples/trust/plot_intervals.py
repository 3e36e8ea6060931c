"""
Intervals calibrated for each pattern
=====================================

Intervals of one width cover 90 % of the rows on average: more of the rows with nothing
missing, and fewer of the rows with many missing values. ``ConformalRegressor``
calibrates a row by rows that miss the same values, and covers 90 % given the pattern
wherever there are enough of them. Rows of rarer patterns are pooled.
"""

import matplotlib.pyplot as plt
import numpy as np

import missfit

plt.style.use("petroff10")
law = missfit.simulate.published("mixture1", d=6)
X, y = law.sample(10_000, random_state=0)
X_test, y_test = law.sample(50_000, random_state=1)
model = missfit.ConformalRegressor(missfit.EMLR(), random_state=0).fit(X, y)
lower, upper, kind = model.predict_interval(X_test, return_kind=True)
print({str(name): f"{(kind == name).mean():.0%}" for name in np.unique(kind)})

# %%
# The usual split conformal interval has one width for all rows. Here it is computed
# from the same calibration rows:
scores = abs(model.calibration_targets_ - model.calibration_predictions_)
width = np.quantile(scores, 0.9)
missing = np.isnan(X_test).sum(axis=1)
ours = (lower <= y_test) & (y_test <= upper)
usual = abs(y_test - model.predict(X_test)) <= width

fig, (above, below) = plt.subplots(
    2, 1, figsize=(5, 5), sharex=True, layout="constrained"
)
counts = np.arange(7)
above.axhline(0.9, color="black", lw=1)
for name, covered in {"one width": usual, "ConformalRegressor": ours}.items():
    above.plot(counts, [covered[missing == k].mean() for k in counts], "o-", label=name)
above.set(ylabel="coverage", ylim=(0.5, 1.02))
above.legend(frameon=False)
below.plot(counts, [2 * width] * 7, "o-")
widths = [np.median((upper - lower)[missing == k]) for k in counts]
below.plot(counts, widths, "o-")
below.set(xlabel="values missing", ylabel="width", ylim=(0, None))
fig.suptitle("Coverage and width of intervals, by missing values", fontsize=11)
plt.show()
