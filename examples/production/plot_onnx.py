"""
A model without Python
======================

``missfit.export`` writes a fitted model as an ONNX file, which onnxruntime runs in C#,
Java, JavaScript or a browser. The file predicts what the model predicts, for every one
of the missing patterns, also for those that were never seen at fit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime

import missfit

plt.style.use("petroff10")
law = missfit.simulate.published("mixture1", d=8)
X, y = law.sample(3_000, random_state=0)
new = np.random.default_rng(1).normal(size=(256, 8))
new[(np.arange(256)[:, None] >> np.arange(8)) % 2 == 1] = np.nan  # every pattern once
missing = np.isnan(new).sum(axis=1)
models = {
    "EMLR": missfit.EMLR(),
    "ConditionalImputedLR": missfit.ConditionalImputedLR(),
    "PatternMixtureLR": missfit.PatternMixtureLR(n_components=2, random_state=0),
}
path = Path(tempfile.mkdtemp()) / "model.onnx"
gaps = {}
for name, model in models.items():
    missfit.export(model.fit(X, y), path)
    session = onnxruntime.InferenceSession(path)
    prediction = session.run(["prediction"], {"X": new})[0]
    gaps[name] = np.abs(prediction - model.predict(new)) / y.std()

# %%
# The largest difference between the file and the model, in standard deviations of y,
# by the number of missing values. These are rounding errors.
fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for (name, gap), marker in zip(gaps.items(), "osD", strict=True):
    worst = [max(gap[missing == k].max(), 1e-17) for k in range(9)]
    ax.semilogy(range(9), worst, marker=marker, label=name)
ax.axhline(1e-6, color="gray", ls="--", lw=1)
ax.annotate("a millionth", (8, 1e-6), ha="right", va="bottom", color="gray")
ax.set(xlabel="values missing", ylabel="difference to the file", ylim=(1e-17, 1e-5))
ax.legend(frameon=False)
fig.suptitle("File and model differ by rounding errors alone", fontsize=11)
plt.show()
