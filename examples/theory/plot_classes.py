"""
Classes with missing features, and the best possible classifier
===============================================================

Cut the paper's target at a threshold, and it is a class. The best possible classifier
is then known: one linear probit for each missing pattern. What is missing adds noise to
the latent target and flattens the slopes, in each pattern by another factor. A logistic
regression on means has one slope for all rows, and is far too timid where little is
missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import missfit
from missfit.bayes import BayesClassifier

plt.style.use("petroff10")
law = missfit.simulate.published("mixture1", d=6)
law = missfit.simulate.Probit(law, threshold=law.target_quantile(0.5))
X, label = law.sample(5_000, random_state=0)
new, truth = law.sample(20_000, random_state=1)
classifiers = {
    "mean + logistic": make_pipeline(SimpleImputer(), LogisticRegression()),
    "PatternClassifier(EMLR())": missfit.PatternClassifier(missfit.EMLR()),
    "Bayes classifier": BayesClassifier(law),
}
shares = {
    name: model.fit(X, label).predict_proba(new)[:, 1]
    for name, model in classifiers.items()
}
for name, share in shares.items():
    print(f"{name:26s} log-loss {log_loss(truth, share):.3f}")

# %%
# The log-loss by the number of missing values. Without noise the class of a complete
# row is certain, and the line of the Bayes classifier starts at 0.
missing = np.isnan(new).sum(axis=1)
fig, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
for name, share in shares.items():
    loss = -np.log(np.maximum(np.where(truth == 1, share, 1 - share), 1e-12))
    style = "k:o" if name.startswith("Bayes") else "o-"
    ax.plot([loss[missing == k].mean() for k in range(7)], style, label=name)
ax.set(xlabel="values missing", ylabel="log-loss")
ax.legend(frameon=False)
fig.suptitle("Log-loss by the number of missing values", fontsize=11)
plt.show()

# %%
# What is missing flattens the probabilities. Both rows have the same first feature; the
# second lacks the others.
row = np.full((2, 6), np.nan)
row[:, 0] = 3.0
row[0, 1:] = np.nanmean(X[:, 1:], axis=0)
model = classifiers["PatternClassifier(EMLR())"]
print("others at their mean:", model.predict_proba(row)[0].round(2))
print("others missing:      ", model.predict_proba(row)[1].round(2))
