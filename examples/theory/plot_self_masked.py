"""
High values hide themselves
===========================

People with a high income tend not to tell it. What is missing is then missing *because
of its value*, and no method that assumes otherwise is right, however many rows there
are. ``SelfMaskedLR`` learns from the rows how each column hides, and comes close to the
Bayes predictor, the best that anyone can do.
"""

import matplotlib.pyplot as plt
import numpy as np

import missfit

plt.style.use("petroff10")
law = missfit.simulate.SelfMaskedProbit.with_rate(
    mean=[0, 0],
    cov=[[1, 0.5], [0.5, 1]],
    beta=[2, 1],
    noise=0.5,
    rate=0.3,
    slope=4,  # steep: nearly all of the high values hide
)
X, y = law.sample(3_000, random_state=0)
models = {
    "EMLR": missfit.EMLR().fit(X, y),
    "SelfMaskedLR": missfit.SelfMaskedLR().fit(X, y),
    "Bayes": missfit.bayes.BayesPredictor(law),
}

# %%
# Only rows whose first value is missing are drawn. ``EMLR`` takes the hidden values for
# ordinary ones, and predicts on the wrong side of most points.
hidden = np.isnan(X[:, 0]) & ~np.isnan(X[:, 1])
grid = np.linspace(*np.quantile(X[hidden, 1], [0.001, 0.999]), 50)
rows = np.column_stack([np.full(50, np.nan), grid])
fig, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
ax.plot(X[hidden, 1], y[hidden], ".", color="lightgray", ms=4)
styles = {"EMLR": "C2--", "SelfMaskedLR": "C0-", "Bayes": "k:"}
for name, model in models.items():
    ax.plot(grid, model.predict(rows), styles[name], lw=2.5, label=name)
ax.set(xlabel="the value that is known", ylabel="target")
ax.set_title("rows whose other value is missing", fontsize=11)
ax.legend(frameon=False)
plt.show()
