import numpy as np

from missfit.gaussian.acceleration import AndersonMixing, climb

PAIR = (lambda x: x, lambda vector, like: vector)


def contraction(rng, d=5, slowest=0.99):
    """A linear fixed point iteration towards a known end, and minus its distance."""
    vectors = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = (vectors * np.linspace(0.1, slowest, d)) @ vectors.T
    end = rng.standard_normal(d)

    def step(x):
        return end + A @ (x - end), -float((x - end) @ (x - end))

    return step, end


def test_a_climb_ends_where_the_plain_iteration_does_in_far_fewer_steps(rng):
    step, end = contraction(rng)
    ended = climb(step, np.zeros(5), PAIR, max_iter=600, least_gain=1e-18)
    assert ended.converged
    np.testing.assert_allclose(ended.point, end, atol=1e-6)
    # the plain one gains a factor of 0.99 a step: to 1e-6 it takes 1,400 steps
    assert ended.n_iter < 30


def test_no_leap_ends_lower_than_the_steps_before_it(rng):
    step, _ = contraction(rng)
    seen = []

    def watched(x):
        following, height = step(x)
        seen.append((x, height))
        return following, height

    ends = [
        climb(watched, np.zeros(5), PAIR, max_iter=n, least_gain=0.0).point
        for n in (3, 6, 9, 30)
    ]
    heights = [step(x)[1] for x in ends]
    assert (np.diff(heights) > -1e-20).all()  # rounding, at the end


def test_a_leap_that_cannot_be_read_is_refused(rng):
    step, _ = contraction(rng)

    def unreadable(vector, like):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    pair = (PAIR[0], unreadable)
    ended = climb(step, np.zeros(5), pair, max_iter=4, least_gain=0.0)
    plain = np.zeros(5)
    for _ in range(4):
        plain = step(plain)[0]
    assert ended.n_iter == 4
    np.testing.assert_array_equal(
        ended.point, step(step(step(step(np.zeros(5))[0])[0])[0])[0]
    )
    np.testing.assert_array_equal(ended.point, plain)


def test_anderson_solves_a_linear_problem_within_as_many_steps_as_its_memory(rng):
    # on linear problems it is GMRES (Walker and Ni 2011): exact after d + 1 steps
    step, end = contraction(rng, d=4, slowest=0.9)
    mixing, x = AndersonMixing(), np.zeros(4)
    for _ in range(7):
        x = mixing.next(x, step(x)[0])
    assert np.abs(x - end).max() < 1e-5 * np.abs(end).max()
    plain = np.zeros(4)
    for _ in range(7):
        plain = step(plain)[0]
    assert np.abs(plain - end).max() > 0.01


def test_a_leap_to_a_height_that_no_step_leads_to_is_undone(rng):
    step, end = contraction(rng)

    def with_a_mirage(x):  # very high beyond the end, but a step leads back from there
        following, height = step(x)
        if (x - end) @ end <= 1e-6 * end @ end:
            return following, height
        return 2 * end - following, 1e9

    # from 0 the plain steps come to the end from one side, and leaps overshoot it
    ended = climb(with_a_mirage, np.zeros(5), PAIR, max_iter=900, least_gain=1e-12)
    assert step(ended.point)[1] > -1e-4
