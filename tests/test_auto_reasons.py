"""What `explain` gathers: no more is fitted for it than it needs."""

import numpy as np
from sklearn.model_selection import KFold

from missfit import ConditionalImputedLogistic
from missfit.auto import reasons
from missfit.auto.boosting import Parts
from missfit.auto.heldout import Table, all_and_splits
from missfit.auto.log_loss import LogLoss
from missfit.auto.race import Candidate, Race
from missfit.auto.reasons import Outcome


def outcome(rng, n=1_500):
    """Return a fit without parts, whose base has met the first split alone."""
    X = rng.normal(size=(n, 2))
    y = (X @ [2.0, 1.0] + rng.normal(size=n) > 0).astype(int)
    X[rng.random(X.shape) < 0.3] = np.nan
    objective = LogLoss(2, 1e-6)
    table = Table(X, y, np.ones(n), None, objective)
    folds = KFold(3, shuffle=True, random_state=0)
    whole, splits = all_and_splits(table, list(folds.split(X)))
    base = Candidate(ConditionalImputedLogistic(), "base")
    race = Race([base], table)
    return Outcome(whole, splits, race, base, [], Parts([], None, np.nan, objective))


def test_no_split_is_fitted_for_the_worth_of_features_that_others_can_tell(
    rng, monkeypatch
):
    found = outcome(rng)
    with monkeypatch.context() as patch:
        patch.setattr(reasons, "POOL_ROWS", 500)  # as many as a split holds out
        few = found.worth()
    fitted = [bool(split.train.seconds) for split in found.splits]
    assert fitted == [True, False, False]
    every = found.worth()
    assert all(split.train.seconds for split in found.splits)
    error = np.hypot(few.standard_errors, every.standard_errors)
    assert (error < 0.5 * every.drops).all()  # both say something
    assert (abs(few.drops - every.drops) < 3 * error).all()
