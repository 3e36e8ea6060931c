"""
Which predictor for which mechanism
===================================

The three laws have the same kind of X and y, and differ in why values are missing.
EMLR, PatternMixtureLR and SelfMaskedLR each assume one of them; the default,
AutoRegressor, finds out which of these to take.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import missfit

warnings.simplefilter("ignore")
settings = {
    "mixture1": "missing at random",
    "mixture3": "three populations",
    "selfmasked": "high values hide",
}
models = {
    "ConstantImputedLR": missfit.ConstantImputedLR(),
    "EMLR": missfit.EMLR(),
    "PatternMixtureLR": missfit.PatternMixtureLR(random_state=0),
    "SelfMaskedLR": missfit.SelfMaskedLR(),
    "AutoRegressor": missfit.AutoRegressor(random_state=0),
}
lost = np.empty((len(models), len(settings)))
for k, setting in enumerate(settings):
    law = missfit.simulate.published(setting, d=4)
    X, y = law.sample(3_000, random_state=0)
    X_test, y_test = law.sample(20_000, random_state=1)
    best = missfit.bayes.BayesPredictor(law).predict(X_test)
    best_r2 = 1 - np.var(y_test - best) / np.var(y_test)
    for j, model in enumerate(models.values()):
        lost[j, k] = best_r2 - model.fit(X, y).score(X_test, y_test)

# %%
# The bars show how much R2 each predictor loses against the Bayes predictor on the same
# 20,000 rows: less is better.
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
width = 0.15
for j, name in enumerate(models):
    places = np.arange(len(settings)) + (j - 2) * width
    ax.bar(places, np.maximum(lost[j], 0), width, label=name)
ax.set_xticks(range(len(settings)), settings.values())
ax.set_ylabel("R2 lost against Bayes")
ax.legend(frameon=False, fontsize=8)
plt.show()
