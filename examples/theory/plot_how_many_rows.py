"""
How many rows does a predictor need?
====================================

The more a predictor has to learn, the more rows it needs. With 8 features there are 256
missing patterns: ``ExpandedLR`` learns a regression for each, ``EMLR`` learns one law
for all. ``ConstantImputedLR`` has the least to learn, and soon learns no more.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import missfit

warnings.simplefilter("ignore")  # ExpandedLR warns of patterns with few rows
plt.style.use("petroff10")
law = missfit.simulate.published("mixture1", d=8)
new, truth = law.sample(10_000, random_state=1)
best = missfit.bayes.BayesPredictor(law).predict(new)
rows = np.array([100, 300, 1_000, 3_000, 10_000, 30_000])
X, y = law.sample(rows.max(), random_state=0)
models = [missfit.ConstantImputedLR(), missfit.ExpandedLR(), missfit.EMLR()]
lost = {
    type(model).__name__: [
        np.mean((model.fit(X[:n], y[:n]).predict(new) - best) ** 2) / np.var(truth)
        for n in rows
    ]
    for model in models
}

# %%
# The distance to the Bayes predictor is the R2 that is lost for lack of rows, or for
# want of a model that can be right. Both axes are logarithmic: with ten times as many
# rows, ``EMLR`` loses about a tenth.
fig, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
for (name, loss), marker in zip(lost.items(), "soD", strict=True):
    ax.loglog(rows, loss, marker=marker)
    ax.annotate(f"  {name}", (rows[-1], loss[-1]), va="center", fontsize=9)
ax.set(xlabel="training rows", ylabel="R2 lost against Bayes", xlim=(80, 1e6))
ax.set_xticks([1e2, 1e3, 1e4])
fig.suptitle("R2 lost against Bayes, by training rows", fontsize=11)
plt.show()
