"""
Rows that come in chunks
========================

The linear predictors need the count, the mean and the scatter of each missing pattern,
and no rows. These add up: a model that meets the rows in chunks ends where a model ends
that has all of them in memory. Files, folders, streams and Dask tables larger than
memory are fitted in this way.
"""

import matplotlib.pyplot as plt
import numpy as np

import missfit

plt.style.use("petroff10")
law = missfit.simulate.MCARGaussian(
    mean=np.zeros(4), cov=np.eye(4) + 0.5, beta=[1, 2, 3, 4], noise=3, rate=0.3
)
X, y = law.sample(20_000, random_state=0)

model = missfit.EMLR()
seen, slopes = [], []
for stop in np.unique(np.geomspace(50, 20_000, 12).astype(int)):
    start = seen[-1] if seen else 0
    model.partial_fit(X[start:stop], y[start:stop])
    seen.append(stop)
    slopes.append(model.coef_)
memory = missfit.EMLR().fit(X, y)
print("largest difference:", np.abs(model.coef_ - memory.coef_).max())

# %%
# The slopes while the rows come in. The dashed lines are the slopes of the fit in
# memory, to all 20,000 rows at once.
fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for k, marker in enumerate("osD^"):
    ax.semilogx(seen, np.array(slopes)[:, k], marker=marker, color=f"C{k}")
    ax.axhline(memory.coef_[k], color=f"C{k}", ls="--", lw=1)
ax.set(xlabel="rows met so far", ylabel="slopes of the four features")
fig.suptitle("In chunks, the slopes end where one fit to all rows ends", fontsize=11)
plt.show()
