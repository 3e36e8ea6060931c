"""
Patients with several rows each
===============================

Ten visits of one patient are not ten patients. If the visits of a patient are spread
over the rows that are learned from and the rows that calibrate, intervals are too
narrow for the next patient, whom nobody has met. With ``groups=`` a patient is held out
as a whole.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import missfit

plt.style.use("petroff10")


def visits(n_patients, rng):
    """Return X, y and the patient of each row: ten visits each, some values missing."""
    patient = np.repeat(np.arange(n_patients), 10)
    history = rng.normal(size=(n_patients, 3))[patient]  # the same at every visit
    today = rng.normal(size=(len(patient), 1))
    X = np.hstack([history, today])
    level = 2 * rng.normal(size=n_patients)[patient]  # of the patient, not in the table
    y = X.sum(axis=1) + level + rng.normal(size=len(patient))
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y, patient


# %%
# In 12 studies of 60 patients, how many visits of *new* patients lie within the 90 %
# intervals? A flexible model recognises a patient by the history, and then knows the
# level. It does not know the level of a new patient.
covered = {"rows": [], "patients": []}
for seed in range(12):
    rng = np.random.default_rng(seed)
    X, y, patient = visits(60, rng)
    new, truth, _ = visits(300, rng)
    for unit, shares in covered.items():
        base = HistGradientBoostingRegressor(max_iter=40, random_state=0)
        model = missfit.ConformalRegressor(base, random_state=0)
        model.fit(X, y, groups=patient if unit == "patients" else None)
        lower, upper = model.predict_interval(new)
        shares.append(np.mean((lower <= truth) & (truth <= upper)))

fig, ax = plt.subplots(figsize=(5, 2.6), layout="constrained")
ax.axvline(0.9, color="black", lw=1)
ax.annotate("promised ", (0.9, -0.42), ha="right")
for place, (unit, shares) in enumerate(covered.items()):
    print(f"calibrated by {unit}: {np.mean(shares):.1%} covered")
    color = "C2" if unit == "rows" else "C0"
    ax.plot(shares, [place] * len(shares), "o", ms=8, alpha=0.6, mew=0, color=color)
ax.set_yticks([0, 1], ["without\ngroups=", "with\ngroups="])
ax.set(xlabel="visits of new patients inside their interval", ylim=(-0.5, 1.4))
ax.xaxis.set_major_formatter("{x:.0%}")
fig.suptitle("Coverage of new patients, with and without groups", fontsize=11)
plt.show()
