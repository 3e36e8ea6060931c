"""
Which missing field is worth asking for next
============================================

A form with ten fields, of which none is filled in yet. Which measurement should come
first? A model of a table can tell, because it has held out rows whose answers are
known: it hides fields in them, gives one back, and looks how far the error falls. The
table is that of 569 tumours, benign or malignant.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import missfit
from missfit.serve.asking import Asking

plt.style.use("petroff10")
table, label = load_breast_cancer(return_X_y=True, as_frame=True)
table = table.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
holes = missfit.simulate.ampute(table, "MCAR", 0.1, random_state=0)
answer = label.map({0: "malignant", 1: "benign"})
model = missfit.fit_table(holes, answer, "ConditionalImputedLogistic")
asking = Asking(model)

# %%
# We ask for the field that lowers the expected log-loss most, then for the next one,
# until no other field is sure to help. ``missfit serve`` does the same for any form.
answered, losses, labels = {}, [], ["nothing"]
while True:
    form = pd.DataFrame([dict.fromkeys(table, np.nan) | answered])
    found = asking.of_row(model.encoder.transform(form))
    losses.append(found["log_loss"])
    if not found["ask"]:
        break
    best = found["ask"][0]["column"]
    answered[best] = float(table[best].median())  # only that it is known matters here
    labels.append(f"+ {best}")
everything = asking.of_row(model.encoder.transform(table[:1]))["log_loss"]
print(dict(zip(labels, losses, strict=True)), "with all ten fields:", everything)

# %%
# A few measurements do the work of all ten.
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
bars = ax.barh(labels, losses, color=["C3"] + ["C0"] * (len(labels) - 1))
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.axvline(everything, color="black", lw=1, ls="--", label="all ten fields known")
ax.set(xlabel="expected log-loss", xlim=(0, 1.15 * losses[0]))
ax.legend(frameon=False, loc="lower right")
ax.invert_yaxis()
fig.suptitle("Expected log-loss, one field after the other", fontsize=11)
plt.show()
