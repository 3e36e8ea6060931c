"""
A pipeline with named columns, and a grid search over predictors
================================================================

The predictors are scikit-learn estimators: they stand at the end of a ``Pipeline``, and
``GridSearchCV`` can choose among them and among their settings. No step imputes. The
table has a column of text, and keeps the names of its columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.pipeline import Pipeline

import missfit

plt.style.use("petroff10")
table, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
table = missfit.simulate.ampute(table, "MAR", 0.3, random_state=0)
table["sex"] = table["sex"].map({1: "woman", 2: "man"})  # the table has codes only
pipeline = Pipeline([("numbers", missfit.TableEncoder()), ("model", missfit.EMLR())])
grid = {
    "model": [
        missfit.ConstantImputedLR(),
        missfit.FactorizedLR(order=1),
        missfit.EMLR(),
        missfit.ConditionalImputedLR(),
        missfit.PartialPooling(missfit.EMLR()),
    ]
}
folds = RepeatedKFold(n_splits=5, n_repeats=2, random_state=0)
search = GridSearchCV(pipeline, grid, cv=folds, scoring="r2").fit(table, target)
print("best:", search.best_params_["model"])
print(search.best_estimator_[0].get_feature_names_out())

# %%
# Each point is the R2 of one fold, the bar is the mean.
found = search.cv_results_
order = np.argsort(found["mean_test_score"])
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
for place, k in enumerate(order):
    points = [found[f"split{i}_test_score"][k] for i in range(10)]
    ax.plot(points, [place] * 10, "o", color="#3f90da", alpha=0.5, mew=0)
    ax.plot(found["mean_test_score"][k], place, "k|", ms=16, mew=2)
names = [str(grid["model"][k]).replace("(estimator=", "(") for k in order]
ax.set_yticks(range(len(names)), names)
ax.set_xlabel("R2 of the folds")
fig.suptitle("R2 of ten folds, by predictor and setting", fontsize=11)
plt.show()
