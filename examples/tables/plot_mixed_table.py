"""
A table with text, dates and holes
==================================

``TableEncoder`` turns any table into numbers, with one mask bit per variable. It is
used in a Pipeline before any predictor.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

import missfit

rng = np.random.default_rng(0)
n = 1500
city = rng.choice(["Lyon", "Nice", "Paris"], n, p=[0.3, 0.2, 0.5])
rooms = rng.poisson(3, n) + 1.0
area = 18 * rooms + rng.normal(0, 12, n)
sold = np.datetime64("2018-01-01") + rng.integers(0, 2000, n)
price = (
    2 * area
    + 150 * (city == "Paris")
    + 0.05 * (sold - sold.min()).astype(float)
    + rng.normal(0, 30, n)
)
table = pd.DataFrame({"city": city, "rooms": rooms, "area": area, "sold": sold})
table = table.mask(rng.random(table.shape) < 0.25)
print(table.head())

# %%
# The encoder says what it took each column for. Where the city is missing, both of its
# columns are missing.
encoder = missfit.TableEncoder().set_output(transform="pandas").fit(table)
print("\n".join(encoder.describe()))
print(encoder.transform(table).head().round(1))

# %%
# Two pipelines predict each row from the other folds:
models = {"EMLR": missfit.EMLR(), "boosting": HistGradientBoostingRegressor()}
fig, axes = plt.subplots(1, 2, figsize=(5.4, 3.2), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    pipeline = make_pipeline(missfit.TableEncoder(), model)
    predicted = cross_val_predict(pipeline, table, price, cv=5)
    holes = table.isna().sum(axis=1)
    points = ax.scatter(predicted, price, c=holes, s=6, cmap="viridis")
    r2 = 1 - ((price - predicted) ** 2).mean() / price.var()
    ax.set(title=f"{name}: R2 {r2:.2f}", xlabel="predicted")
axes[0].set_ylabel("price")
fig.colorbar(points, ax=axes, label="values missing", ticks=range(5))
plt.show()
