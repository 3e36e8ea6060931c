"""The race for the base, run by predictors whose errors are known beforehand."""

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.metrics import r2_score

from missfit.auto.heldout import Table, all_and_splits
from missfit.auto.race import DEAR, PLAIN, Candidate, Race, Scout
from missfit.estimators.base import NanRegressor


class Column(NanRegressor):
    """Predicts by a column of X: its errors are what the test put there."""

    is_linear = True

    def __init__(self, j, against="", failure=None):
        self.j = j
        self.against = against
        self.failure = failure

    def fit(self, X, y, sample_weight=None):
        if self.failure:
            raise self.failure
        return self

    def predict(self, X):
        return X[:, self.j]

    def why_not(self):
        return self.against


def race_of(rng, spreads, n=1000, n_folds=4, **options):
    """A race of columns, whose errors have these standard deviations."""
    y = rng.standard_normal(n)
    noise = rng.standard_normal((n, len(spreads)))
    table = Table(y[:, None] + noise * spreads, y, np.ones(n), None)
    columns = [Candidate(Column(j), f"column {j}") for j in range(len(spreads))]
    tests = np.array_split(np.arange(n), n_folds)
    rows = [(np.setdiff1d(np.arange(n), test), test) for test in tests]
    return Race(columns, table, **options), all_and_splits(table, rows)[1]


def test_gains_and_scores_are_the_plain_means_over_held_out_rows(rng):
    race, splits = race_of(rng, [0.5, 0.51, 0.49], n=400)
    winner = race.run(splits)
    X, y, *_ = race.table
    loss = (X - y[:, None]) ** 2
    for j, candidate in enumerate(race.candidates):
        assert race.score(candidate) == pytest.approx(r2_score(y, X[:, j]))
        gain = race.gain(candidate, race.reference)
        assert gain.value == pytest.approx(np.mean(loss[:, 0] - loss[:, j]))
        error = sem(loss[:, 0] - loss[:, j], ddof=0)
        assert gain.standard_error == pytest.approx(error)
    scores = race.scores(winner)
    for j, score in enumerate(scores):
        assert score.r2 == pytest.approx(r2_score(y, X[:, j]))


@pytest.mark.parametrize(("shift", "winner"), [(0.5, 0), (1.5, 1)])
def test_the_reference_stays_unless_beaten_by_one_standard_error(shift, winner, rng):
    race, splits = race_of(rng, [1.0, 1.0], n=400)  # too few to leave early
    gap = rng.standard_normal(400)
    gap += shift * sem(gap, ddof=0) - gap.mean()
    loss = np.column_stack([10 + gap, np.full(400, 10.0)])
    X = race.table.y[:, None] + np.sqrt(loss)
    race = Race(race.candidates, race.table._replace(X=X))
    rows = [(split.train.rows, split.test) for split in splits]
    assert race.run(all_and_splits(race.table, rows)[1]) is race.candidates[winner]


def test_the_hopeless_leave_after_the_first_rows_and_are_scored_on_common_rows(rng):
    race, splits = race_of(rng, [0.5, 5.0, 0.2], n=4000)
    assert race.run(splits) is race.candidates[2]
    assert len(race.candidates[1].loss) == 1
    left = race.scores(race.winner())[1]
    assert left.verdict == "behind"
    X, y, *_ = race.table
    met = splits[0].test
    loss = (X[met] - y[met, None]) ** 2
    gain = np.mean(loss[:, 0] - loss[:, 1]) / y[met].var()
    assert left.gain == pytest.approx(gain)
    assert left.r2 - race.scores(race.winner())[0].r2 == pytest.approx(gain)


def test_a_deadline_leaves_all_but_the_reference_out(rng):
    race, splits = race_of(rng, [1.0, 0.1], deadline=0.0)
    assert race.run(splits) is race.reference
    assert race.candidates[1].out == "skipped: out of time"


def test_what_a_model_says_against_itself_takes_it_out_of_the_race(rng):
    race, splits = race_of(rng, [1.0, 0.1], n=2004)
    race.candidates[1].estimator = Column(1, against="nothing to add")
    assert race.run(splits) is race.reference
    assert race.scores(race.reference)[1].verdict == "nothing to add"


def test_who_fails_leaves_and_the_others_go_on(rng):
    race, splits = race_of(rng, [1.0, 0.9])
    race.candidates[0].estimator = Column(0, failure=ValueError("singular"))
    assert race.run(splits) is race.candidates[1]
    assert race.candidates[0].out == "failed: singular"
    again, splits = race_of(rng, [1.0])
    again.table.X[splits[0].test[3]] = np.nan
    with pytest.raises(ValueError, match=r"no candidate.*is not finite"):
        again.run(splits)


@pytest.mark.parametrize(("spread", "sent"), [(2.0, False), (0.3, True)])
def test_a_candidate_follows_its_scout_only_if_that_comes_near_the_best(
    spread, sent, rng
):
    """The scout is column 2, the candidate column 1, the best of the others 0.5."""
    race, splits = race_of(rng, [1.0, 0.1, spread, 0.5], n=2004)
    reference, dear, _, best = race.candidates
    dear.scout = Scout("column 2", lambda train: Column(2).fit(None, None))
    race = Race([reference, best, dear], race.table)
    winner = race.run(splits)
    assert winner is (dear if sent else best)
    assert dear.out == ("" if sent else "behind with column 2")


@pytest.mark.parametrize(("spread", "sent"), [(0.98, False), (0.3, True)])
def test_a_scout_that_finds_no_sign_is_followed_where_it_clearly_gains(
    spread, sent, rng
):
    """The scout is column 2: some rows may gain before a test on them can tell why."""
    race, splits = race_of(rng, [1.0, 0.1, spread], n=2004)
    reference, dear, _ = race.candidates
    doubt = Column(2, against="no sign")
    dear.scout = Scout("column 2", lambda train: doubt.fit(None, None))
    race = Race([reference, dear], race.table)
    assert race.run(splits) is (dear if sent else reference)
    assert dear.out == ("" if sent else "no sign")


def test_a_scout_of_few_rows_is_compared_with_a_rival_of_as_many(rng):
    """Its losses are the reference's, less what it gains over the rival."""
    race, splits = race_of(rng, [1.0, 0.1, 2.0, 1.5], n=2004)
    reference, dear, scout, rival = race.candidates
    sent = Scout("some rows", lambda _: scout.estimator, 0, lambda _: rival.estimator)
    for other in (scout, rival):
        other.estimator.fit(None, None)
    dear.scout = sent
    race = Race([reference, dear], race.table)
    assert race.run(splits) is reference
    assert dear.out == "behind with some rows"
    test = splits[0].test
    y, X = race.table.y[test], race.table.X[test]
    gain = np.mean((y - X[:, 3]) ** 2 - (y - X[:, 2]) ** 2)
    assert race.gain(dear, reference).value == pytest.approx(gain)


def test_a_scout_is_not_sent_where_rows_are_few(rng):
    race, splits = race_of(rng, [1.0, 0.1], n=400)
    scout = Scout("a scout", lambda train: pytest.fail("sent"), least_rows=301)
    race.candidates[1].scout = scout
    assert race.run(splits) is race.candidates[1]


def test_the_dear_wait_until_a_hint_of_the_others_gains_something(rng):
    """Column 2 hints at column 1, which would win."""
    for spread, tried in ((2.0, False), (0.9, True)):
        race, splits = race_of(rng, [1.0, 0.1, spread], n=4000)
        reference, dear, hint = race.candidates
        dear.hint = hint
        assert race.run(splits) is (dear if tried else reference)
        assert dear.out == ("" if tried else "not tried: column 2 gains nothing")


def test_a_hint_with_a_rival_is_asked_where_rows_are_few(rng):
    """Column 2 hints at column 1 where it is not behind column 3."""
    for n, spread, tried in ((400, 2.0, False), (400, 0.9, True), (4000, 2.0, True)):
        race, splits = race_of(rng, [1.5, 0.1, spread, 1.0], n=n)
        _, dear, dear.hint, dear.hint_rival = race.candidates
        best = dear if tried else race.candidates[3]
        assert race.run(splits) is best
        said = "not tried: column 2 gains nothing over column 3"
        assert dear.out == ("" if tried else said)


def test_what_predicts_as_the_reference_does_leaves_at_once(rng):
    race, splits = race_of(rng, [1.0, 1.0])
    race.candidates[1].estimator = Column(0, against="x")
    assert race.run(splits) is race.reference
    assert race.candidates[1].out == "predicts as column 0 does"
    assert len(race.candidates[1].loss) == 1


def test_a_hundred_rows_are_enough_for_what_is_five_standard_errors_behind(rng):
    race, splits = race_of(rng, [0.1, 5.0, 0.099], n=800, n_folds=8)
    race.run(splits)
    assert len(race.candidates[1].loss) == 1
    assert len(race.candidates[2].loss) == 8


def test_no_run_is_begun_that_leaves_too_little_time_for_the_final_fit(
    rng, monkeypatch
):
    """A fit takes ten seconds, and one to all rows 10 / (3 / 4)."""
    now = [0.0]

    class Slow(Column):
        def fit(self, X, y, sample_weight=None):
            now[0] += 10.0
            return self

    monkeypatch.setattr("missfit.auto.race.time.perf_counter", lambda: now[0])
    race, splits = race_of(rng, [1.0, 0.99], n=400, deadline=65.0)
    for j, candidate in enumerate(race.candidates):
        candidate.estimator = Slow(j)
    race.run(splits)
    reference, other = race.candidates
    assert race.final_seconds(reference) == pytest.approx(10 / 0.75)
    # there is time for a run and a final fit after thirty seconds, but not after fifty
    assert len(other.loss) == 2
    assert other.out == "skipped: out of time"


@pytest.mark.parametrize("is_dear", [False, True])
def test_a_first_run_is_expected_to_take_some_times_as_long_as_the_reference(
    rng, monkeypatch, is_dear
):
    """Ten seconds a run: there is time for PLAIN times as many, not for DEAR times."""
    race, _ = race_of(rng, [1.0, 0.99], n=400)
    reference, other = race.candidates
    reference.loss, reference.seconds = [np.ones(100)], 10.0
    race.tests = [np.arange(100)]
    other.hint = reference if is_dear else None
    race.deadline = 10 * (PLAIN + DEAR) / 2 + race.final_seconds(reference)
    monkeypatch.setattr("missfit.auto.race.time.perf_counter", lambda: 0.0)
    assert race._is_late(other) is is_dear
    other.loss, other.seconds = [np.ones(100)], 10.0  # then its own seconds are known
    assert not race._is_late(other)
