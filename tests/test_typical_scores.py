"""TypicalScores: places are those of an empirical law, and go back to scores."""

import numpy as np
import pytest

from missfit.estimators.typical_scores import TypicalScores


@pytest.fixture
def scores(rng):
    """Return 40 scores of each of 60 patterns, some of which are not known."""
    known = rng.random((60, 40)) < 0.7
    known[:, 0] = True
    return rng.exponential(size=(60, 40)), known


def points(scores, known):
    """Return the points that an empirical law from zero on goes through."""
    ordered = np.sort(scores[known])
    return np.append(0.0, ordered), np.arange(len(ordered) + 1) / len(ordered)


def test_places_are_those_of_the_interpolated_empirical_law(rng, scores):
    typical = TypicalScores.of(*scores, least=0.0)
    new = rng.exponential(size=60)
    at = rng.random(60)
    found, back = typical.places(new), typical.scores_at(at)
    n_beyond = 0
    for p in range(60):
        value, level = points(scores[0][p], scores[1][p])
        expected = np.interp(new[p], value, level)
        if new[p] > value[-1]:
            n_beyond, expected = n_beyond + 1, new[p] / value[-1]
        assert found[p] == pytest.approx(expected, rel=1e-12)
        assert back[p] == pytest.approx(np.interp(at[p], level, value), rel=1e-12)
    assert n_beyond  # scores above all that are typical were among them


def test_a_place_goes_back_to_its_score(rng, scores):
    typical = TypicalScores.of(*scores, least=0.0)
    new = rng.exponential(scale=3.0, size=60)
    np.testing.assert_allclose(typical.scores_at(typical.places(new)), new, rtol=1e-12)


def test_equal_scores_have_the_lowest_of_their_places_whatever_rounding_does():
    five = np.array([[0.2, 0.5, 0.5, 0.5, 0.9]])
    typical = TypicalScores.of(five, np.full((1, 5), True), least=0.0)
    for rounded in (0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1)):
        # a threshold at any place from there to the last of them holds all of them
        assert typical.places(np.array([rounded])) == pytest.approx([0.4])
    for place in (0.4, 0.5, 0.8):
        assert typical.scores_at(np.array([place])) == pytest.approx([0.5])


def test_a_pattern_without_doubt_has_places_too():
    typical = TypicalScores.of(np.zeros((1, 3)), np.full((1, 3), True), least=1e-9)
    assert typical.places(np.zeros(1))[0] <= 1
    assert np.isfinite(typical.places(np.array([0.7])))[0]
    assert typical.scores_at(np.array([0.5]))[0] <= 1e-9
    assert np.isinf(typical.scores_at(np.array([np.inf])))[0]
