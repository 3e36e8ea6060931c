"""
Sets of classes calibrated for each pattern
===========================================

A probability is a claim; a set of classes can keep its promise. ``ConformalClassifier``
gives each row the set of classes that are plausible, and 90 % of the sets hold the true
class, *given which values are missing*: it calibrates a row by rows that miss the same
values. Here large values hide themselves, and the classifier inside knows nothing of
that.
"""

import matplotlib.pyplot as plt
import numpy as np

import missfit

plt.style.use("petroff10")
law = missfit.simulate.published("selfmasked", d=4)
cuts = [law.target_quantile(share) for share in (0.4, 0.7)]
law = missfit.simulate.Probit(law, threshold=cuts)
names = np.array(["low", "middle", "high"])
X, code = law.sample(20_000, random_state=0)
new, truth = law.sample(30_000, random_state=1)
base = missfit.PatternClassifier(missfit.EMLR())
model = missfit.ConformalClassifier(base, random_state=0).fit(X, names[code])

sets, kind = model.predict_set(new, return_kind=True)
for i in range(3):
    print(new[i].round(1), "->", model.classes_[sets[i]].tolist(), f"({kind[i]})")

# %%
# The usual sets have one threshold for all rows. Here it is computed from the same
# calibration rows. Over all rows both cover 90 %.
place = np.searchsorted(model.classes_, names[truth])
rows = np.arange(len(new))
shares = model.predict_proba(new)
own = model.calibration_predictions_[
    np.arange(len(model.calibration_targets_)), model.calibration_targets_
]
usual = shares >= np.quantile(own, 0.1)
missing = np.isnan(new).sum(axis=1)
counts = np.unique(missing)

fig, (above, below) = plt.subplots(
    2, 1, figsize=(5, 5), sharex=True, layout="constrained"
)
above.axhline(0.9, color="black", lw=1)
for name, found in {"one threshold": usual, "ConformalClassifier": sets}.items():
    covered, size = found[rows, place], found.sum(axis=1)
    print(f"{name:20s} covers {covered.mean():.3f}")
    above.plot(counts, [covered[missing == k].mean() for k in counts], "o-", label=name)
    below.plot(counts, [size[missing == k].mean() for k in counts], "o-")
above.set(ylabel="coverage", ylim=(0.5, 1.02))
above.legend(frameon=False)
below.set(
    xlabel="values missing", ylabel="classes in a set", ylim=(0, 3.1), xticks=counts
)
fig.suptitle("Coverage and size of sets, by missing values", fontsize=11)
plt.show()
