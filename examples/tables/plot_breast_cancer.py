"""
Breast cancer: a diagnosis that says when it cannot tell
========================================================

569 tumours, described by ten numbers, are benign or malignant. Here many of the numbers
are missing. ``ConformalClassifier`` answers with a *set*: one class where the known
numbers suffice, both where they do not. 95 % of the sets hold the right class, and that
is promised for tumours with few numbers as well as for those with many.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import missfit

plt.style.use("petroff10")
X, label = load_breast_cancer(return_X_y=True)
X = X[:, :10]  # the means over the cells of a tumour
rng = np.random.default_rng(0)
share = rng.choice([0.1, 0.5, 0.8], len(X))  # some tumours were hardly measured
X[rng.random(X.shape) < share[:, None]] = np.nan

# %%
# Each of ten rounds learns from two thirds of the tumours and judges the other third.
found, right, missing = [], [], []
for seed in range(10):
    train, test, known, truth = train_test_split(
        X, label, test_size=1 / 3, random_state=seed
    )
    classifier = missfit.ConditionalImputedLogistic()
    model = missfit.ConformalClassifier(
        classifier, alpha=0.05, allow_empty=False, random_state=seed
    )
    sets = model.fit(train, known).predict_set(test)
    found.append(sets)
    right.append(sets[np.arange(len(test)), truth])
    missing.append(np.isnan(test).sum(axis=1))
found, right, missing = map(np.concatenate, (found, right, missing))
print(f"{right.mean():.1%} of all sets hold the right class")

# %%
# With nearly all numbers known, most tumours get one answer. With nearly none, most
# sets hold both classes: more numbers are needed, and the set says so.
bins = {"0-1": (0, 1), "2-4": (2, 4), "5-6": (5, 6), "7-8": (7, 8), "9-10": (9, 10)}
some = [(missing >= low) & (missing <= high) for low, high in bins.values()]
one = np.array([(found[rows].sum(axis=1) == 1).mean() for rows in some])
covered = [right[rows].mean() for rows in some]

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.bar(list(bins), one, label="one class")
ax.bar(list(bins), 1 - one, bottom=one, label="both classes", color="#ffd78c")
ax.plot(list(bins), covered, "ko--", lw=1, label="sets that hold the right class")
ax.set(xlabel="numbers missing of ten", ylabel="share of tumours", ylim=(0, 1.02))
ax.yaxis.set_major_formatter("{x:.0%}")
fig.legend(loc="outside lower center", ncols=3, frameon=False)
fig.suptitle("The fewer numbers are known, the more sets hold both", fontsize=11)
plt.show()
