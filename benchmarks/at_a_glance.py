"""Where each predictor stands: test R2 in the paper's settings, beside the Bayes R2.

Prints the table of docs/predictors/index.md: d = 6, one repetition of the data,
25 % of the rows for the test.
"""

import warnings

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

import missfit

SETTINGS = ("mixture1", "mixture3", "selfmasked")
ROWS = (5_000,)
PREDICTORS = [
    missfit.EMLR(),
    missfit.ConditionalImputedLR(),
    missfit.PatternMixtureLR(random_state=0),
    missfit.SelfMaskedLR(),
    missfit.ConstantImputedLR(),
    missfit.FactorizedLR(order=1),
    missfit.FactorizedLR(order=2),
    missfit.ExpandedLR(),
    missfit.MICELR(),
    missfit.MLP(random_state=0),
    missfit.NeuMiss(random_state=0),
    HistGradientBoostingRegressor(random_state=0),
    missfit.AutoRegressor(random_state=0),
]


def main():
    warnings.simplefilter("ignore")  # of rare patterns, convergence
    heads = [f"{setting}, {n:,} rows" for setting in SETTINGS for n in ROWS]
    print("| | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for predictor in PREDICTORS:
        cells = []
        for setting in SETTINGS:
            for n in ROWS:
                X, y = missfit.simulate.published_data(setting, 6, 0, n)
                train, test, y_train, y_test = train_test_split(X, y, random_state=0)
                cells.append(predictor.fit(train, y_train).score(test, y_test))
        name = f"{type(predictor).__name__}"
        if "order" in str(predictor):
            name = str(predictor)
        print(f"| {name} | " + " | ".join(f"{r2:.3f}" for r2 in cells) + " |")
    rates = [
        missfit.bayes.bayes_r2(missfit.simulate.published(setting, 6)).value
        for setting in SETTINGS
    ]
    print("| Bayes | " + " | ".join(f"{r:.3f}" for r in rates for _ in ROWS) + " |")


if __name__ == "__main__":
    main()
