"""The predictors beyond the paper, each where its model is right.

- SelfMaskedLR and PatternMixtureLR on the authors' test rows (repetitions 0 to 4),
  beside the Bayes predictor on the same rows, with processor seconds of one fit. The
  best published means are in docs/auto_published.md.
- PatternProbit, and the link of PatternClassifier, in the three settings: log-loss
  above that of the Bayes classifier (7,500 rows, 10 features, cut at the median).
- SelfMaskedLR beside EMLR on real tables (CSV files of numbers with the target in the
  last column; five shuffled folds), where its model is wrong.

    python benchmarks/beyond_the_paper.py [FILE.csv ...]
"""

import sys
import time
import warnings
from pathlib import Path
from statistics import mean

import pandas as pd
from header import header
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, cross_val_score, train_test_split

import missfit
from missfit import EMLR, PatternClassifier, PatternMixtureLR, PatternProbit
from missfit import SelfMaskedLR as Masked
from missfit.simulate import Probit, published, published_data

warnings.simplefilter("ignore")
MASKED = [(4, 750), (4, 18_750), (10, 750), (10, 18_750), (10, 75_000), (16, 750)]
CELLS = [("selfmasked", *cell) for cell in [*MASKED, (16, 75_000)]]
CELLS += [("mixture3", 4, 3_750), ("mixture3", 10, 750)]


def suited(setting):
    """Return the predictor whose model is that of a setting."""
    return {
        "mixture1": EMLR(),
        "mixture3": PatternMixtureLR(random_state=0),
        "selfmasked": Masked(),
    }[setting]


def scores(setting, d, n):
    """Return R2, the R2 of the Bayes predictor and seconds, means of five fits."""
    bayes = missfit.bayes.BayesPredictor(published(setting, d=d))
    found = []
    for repetition in range(5):
        X, y = published_data(setting, d=d, repetition=repetition, n=n * 4 // 3)
        X, new_X, y, new_y = train_test_split(X, y, random_state=0)  # the authors'
        start = time.process_time()
        model = suited(setting).fit(X, y)
        seconds = time.process_time() - start
        found.append((model.score(new_X, new_y), bayes.score(new_X, new_y), seconds))
    return [mean(values) for values in zip(*found, strict=True)]


def excess(setting):
    """Return the log-loss above the least, of the probit and of the fitted link."""
    law = published(setting, d=10)
    law = Probit(law, threshold=law.target_quantile(0.5))
    X, label = law.sample(7_500, random_state=0)
    new, truth = law.sample(20_000, random_state=1)
    least = log_loss(truth, missfit.bayes.BayesClassifier(law).predict_proba(new))
    models = PatternProbit(suited(setting)), PatternClassifier(suited(setting))
    return [
        log_loss(truth, model.fit(X, label).predict_proba(new)) - least
        for model in models
    ]


def main(paths):
    print(header())
    print("| predictor | setting | d | training rows | R2 | Bayes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for setting, d, n in CELLS:
        r2, best, seconds = scores(setting, d, n)
        name = type(suited(setting)).__name__
        print(f"| {name} | {setting} | {d} | {n:,} | {r2:.4f} | {best:.4f} | ", end="")
        print(f"{seconds:.1f} |", flush=True)
    print("\n| setting | PatternProbit | PatternClassifier |\n|---|---|---|")
    for setting in ("mixture1", "mixture3", "selfmasked"):
        probit, link = excess(setting)
        print(f"| {setting} | {probit:.4f} | {link:.4f} |", flush=True)
    for path in map(Path, paths):
        table = pd.read_csv(path).to_numpy(float)
        folds = KFold(5, shuffle=True, random_state=0)
        for model in (Masked(), EMLR()):
            r2 = cross_val_score(model, table[:, :-1], table[:, -1], cv=folds).mean()
            print(f"{path.stem}: {model} R2 {r2:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
