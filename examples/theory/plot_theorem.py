"""
A network that is the Bayes predictor
=====================================

Theorem 6.1: a network with one hidden layer of 2^d ReLU units on (X, mask) can be the
Bayes predictor of a pattern mixture, exactly, on a bounded range. ``theory.bayes_mlp``
builds its weights from the law: nothing is trained.
"""

import matplotlib.pyplot as plt
import numpy as np

import missfit

plt.style.use("petroff10")
law = missfit.simulate.published("mixture3", d=4)
X, y = law.sample(1_000, random_state=0)
network = missfit.theory.bayes_mlp(law, bound=1.1 * np.nanmax(np.abs(X)))
by_network = network.predict(X)
by_law = missfit.bayes.BayesPredictor(law).predict(X)
print("largest difference:", np.abs(by_network - by_law).max())

# %%
fig, ax = plt.subplots(figsize=(4.4, 4), layout="constrained")
ax.scatter(by_law, by_network, s=8)
ax.axline((0, 0), slope=1, color="black", lw=1)
ax.set(xlabel="Bayes predictor", ylabel="network of Theorem 6.1")
fig.suptitle("The network equals the Bayes predictor", fontsize=11)
plt.show()
