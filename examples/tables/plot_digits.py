"""
Digits of which a part is torn off
==================================

Pictures of 8 by 8 pixels, of which a corner, a side or more is missing, both where we
learn and where we predict. ``ConditionalImputedLogistic`` treats the pixels as columns
of a table. It expects in a torn part what usually stands beside the part that is left,
and it is less sure of a torn digit than of a whole one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import missfit

X, digit = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8)[:, :, 1:7]  # the outer columns are nearly always blank
tears = np.zeros((6, 8, 6), dtype=bool)
tears[1, :4] = tears[2, 4:] = True
tears[3, :, :3] = tears[4, :, 3:] = tears[5, :5, :4] = True
torn = np.where(tears[np.arange(len(X)) % 6], np.nan, X).reshape(len(X), -1)
model = missfit.ConditionalImputedLogistic().fit(torn[:1000], digit[:1000])

new, truth, tear = torn[1000:], digit[1000:], np.arange(1000, len(X)) % 6
right = model.predict(new) == truth
names = ["whole", "no top", "no bottom", "no left", "no right", "no corner"]
for k, name in enumerate(names):
    print(f"{name:14s} {right[tear == k].mean():.0%} of the digits right")

# %%
# One digit that the model has not seen, torn in four ways (hatched), and the
# probability that the model gives to each of the ten digits.
row = 1410
fig, axes = plt.subplots(2, 4, figsize=(5.4, 3.2), layout="constrained")
for (above, below), k in zip(axes.T, (0, 1, 3, 5), strict=True):
    picture = np.where(tears[k], np.nan, X[row])
    shares = model.predict_proba(picture.reshape(1, -1))[0]
    above.imshow(picture, cmap="gray_r")
    above.patch.set(hatch="////", facecolor="#ffd78c", edgecolor="white")
    above.set_title(names[k], fontsize=10)
    above.set(xticks=[], yticks=[])
    colors = np.where(np.arange(10) == digit[row], "#bd1f01", "#94a4a2")
    below.bar(range(10), shares, color=colors)
    below.set(ylim=(0, 1), xticks=[0, 3, 6, 9], yticks=[])
axes[1, 0].set_ylabel("probability")
fig.supxlabel("digit (red: the true one)", fontsize=10)
fig.suptitle("Torn digits, and how sure the classifier is", fontsize=11)
plt.show()
