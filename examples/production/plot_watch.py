"""
A column goes missing: what will the error be?
==============================================

A form loses a field, a sensor is switched off, and the model goes on predicting. How
well? The true targets of the new rows come weeks later, or never. But the rows that
were held out at fit have known targets: with the same values hidden in them, they tell
today what error to expect.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import missfit
from missfit.workflow.watch import Watch

plt.style.use("petroff10")
law = missfit.simulate.published("mixture1", d=4)
names = ["age", "dose", "weight", "pulse"]


def rows(n, seed, more):
    """Return n new rows; `more` is the share of the doses that is lost."""
    X, y = law.sample(n, random_state=seed)
    X[np.random.default_rng(seed).random(n) < more, 1] = np.nan
    return pd.DataFrame(X, columns=names), y


model = missfit.fit_table(*rows(4_000, seed=0, more=0), "EMLR")
shares = np.linspace(0, 1, 6)
expected, realised, alarms = [], [], []
for k, more in enumerate(shares):
    table, truth = rows(3_000, seed=1 + k, more=more)
    watch = Watch(model)
    watch.see(table, model.encoder.transform(table))
    found = watch.verdict()  # without the truth
    expected.append(found.now)
    alarms.append(len(found.changes) > 0)
    realised.append(np.sqrt(np.mean((model.predict(table) - truth) ** 2)))
print(found.words())

# %%
# ``missfit watch model.skops new.csv`` tells the same of a file, and
# ``missfit stress model.skops`` tells it before it happens.
fig, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
ax.plot(shares, expected, "o-", label="expected, before the targets are known")
ax.plot(shares, realised, "ks", ms=5, label="realised")
ax.axhline(found.then, color="gray", lw=1)
ax.annotate("at fit", (1, found.then), ha="right", va="bottom", color="gray")
ax.set(xlabel="share of the doses that is lost", ylabel="error (RMSE)")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False)
fig.suptitle("The expected error follows the realised one", fontsize=11)
plt.show()
