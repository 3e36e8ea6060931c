"""
Which predictor for which mechanism
===================================

Three laws with the same kind of X and y, which differ in why values are missing. Each
predictor is at home in one of them; the default finds out which.
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
# What is lost against the Bayes predictor, on the same 20,000 rows: less is better.
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
width = 0.15
for j, name in enumerate(models):
    places = np.arange(len(settings)) + (j - 2) * width
    ax.bar(places, np.maximum(lost[j], 0), width, label=name)
ax.set_xticks(range(len(settings)), settings.values())
ax.set_ylabel("R2 lost against Bayes")
ax.legend(frameon=False, fontsize=8)
plt.show()
