"""
Imputing by constants is not enough
===================================

This is the title of the paper as a picture: however many rows there are, least squares
on imputed values stays below the best possible R2, even when y is linear in X and
values are missing completely at random.
"""

import matplotlib.pyplot as plt
import numpy as np

import missfit

plt.style.use("petroff10")
law = missfit.simulate.published("mixture1", d=6)  # one Gaussian, MCAR
X_test, y_test = law.sample(20_000, random_state=1)
rows = np.array([100, 300, 1_000, 3_000, 10_000, 30_000])
scores = {"ConstantImputedLR": [], "EMLR": []}
for n in rows:
    X, y = law.sample(n, random_state=0)
    for name, score in scores.items():
        model = getattr(missfit, name)().fit(X, y)
        score.append(model.score(X_test, y_test))

# %%
# The black line is the Bayes R2, which is computed from the law, not from rows.
fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for name, score in scores.items():
    ax.semilogx(rows, score, "o-", label=name)
bayes = missfit.bayes.bayes_r2(law).value
ax.axhline(bayes, color="black", lw=1)
ax.annotate("the best anyone can do", (110, bayes), va="bottom", fontsize=9)
ax.set(xlabel="training rows", ylabel="R2 on new rows", ylim=(0.55, 0.76))
ax.legend(frameon=False, loc="lower right")
fig.suptitle("Imputed constants stay below the best possible R2", fontsize=11)
plt.show()
