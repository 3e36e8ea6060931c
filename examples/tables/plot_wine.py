"""
Wine: three cultivars, and bottles of which little is known
===========================================================

178 wines of three cultivars, with 13 chemical measurements each. ``AutoClassifier``
gives a probability to every cultivar, whatever was measured. The less is known of a
bottle, the closer its probabilities should be to a third each, and a good classifier
does not pretend to know more than that.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import missfit

plt.style.use("petroff10")
X, cultivar = load_wine(return_X_y=True)
holes = missfit.simulate.ampute(X, "MCAR", 0.3, random_state=0)
train, _, known, truth, _, bottles = train_test_split(
    holes, cultivar, X, test_size=0.4, stratify=cultivar, random_state=0
)
model = missfit.AutoClassifier(random_state=0).fit(train, known)

# %%
# Each triangle has a corner for each cultivar, and a point for each bottle that was not
# learned from. A point in a corner is a bottle whose cultivar is certain; in the middle
# all three are as likely. Colours and marks tell the true cultivar. The same bottles
# are shown with 2, 8 and 11 of their 13 measurements missing.
rng = np.random.default_rng(0)
order = rng.permuted(np.tile(np.arange(13), (len(bottles), 1)), axis=1)
corners = np.array([[0, 0], [1, 0], [0.5, 0.87]])
fig, axes = plt.subplots(1, 3, figsize=(5.4, 2.4), layout="constrained")
for ax, n_missing in zip(axes, (2, 8, 11), strict=True):
    shares = model.predict_proba(np.where(order < n_missing, np.nan, bottles))
    right = (shares.argmax(axis=1) == truth).mean()
    ax.plot(*corners[[0, 1, 2, 0]].T, color="gray", lw=1)
    for k, marker in enumerate("osD"):
        ax.plot(*(shares[truth == k] @ corners).T, marker, ms=4, alpha=0.7, mew=0)
        ax.annotate(f"{k + 1}", corners[k] + [0, 0.1 if k == 2 else -0.17], ha="center")
    ax.set_title(f"{n_missing} missing\n{right:.0%} right", fontsize=11)
    ax.set(aspect="equal", ylim=(-0.2, 1.1))
    ax.axis("off")
plt.show()
