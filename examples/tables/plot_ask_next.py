"""
Which missing field is worth asking for next
============================================

A form with ten fields, and a patient who has filled in none. Which question should come
first? A model of a table can tell, because the rows that it has held out have known
targets: it hides fields in them, gives one back, and looks how far the error falls.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

import missfit
from missfit.serve.asking import Asking

plt.style.use("petroff10")
table, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
blood = ["cholesterol", "LDL", "HDL", "ratio", "triglycerides", "sugar"]
table.columns = ["age", "sex", "body mass", "blood pressure", *blood]
holes = missfit.simulate.ampute(table, "MCAR", 0.1, random_state=0)
model = missfit.fit_table(holes, target, "EMLR")
asking = Asking(model)

# %%
# We ask for the field that lowers the expected error most, then for the next one, until
# no other field is sure to help. `missfit serve` answers the same for any form.
answered, errors, labels = {}, [], ["nothing"]
while True:
    form = pd.DataFrame([{name: np.nan for name in table} | answered])
    found = asking.of_row(model.encoder.transform(form))
    errors.append(found["rmse"])
    if not found["ask"]:
        break
    best = found["ask"][0]["column"]
    answered[best] = float(table[best].median())  # the value does not matter here
    labels.append("+ " + best)
everything = asking.of_row(model.encoder.transform(table[:1]))["rmse"]
print(dict(zip(labels, errors, strict=True)), "all ten fields:", everything)

# %%
# A few questions do nearly the work of all ten.
fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.barh(labels, errors, color=["#94a4a2"] + ["#3f90da"] * (len(labels) - 1))
ax.axvline(everything, color="black", lw=1)
ax.annotate("all ten ", (everything, 0), ha="right", va="center", color="white")
ax.bar_label(ax.containers[0], fmt="%.0f", padding=3)
ax.set(xlabel="expected error (RMSE) once these are known")
ax.invert_yaxis()
plt.show()
