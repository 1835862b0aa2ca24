"""The race of lt.autotune: who takes part, for how long, and what is decided by its times."""

import itertools
import time

import pytest
from logitile.tuning.results import Candidate, judge
from logitile.tuning.rounds import Contender, finalists, is_quicker, race


@pytest.fixture
def contender(monkeypatch):
    """Makes contenders whose calls take so many seconds of a clock that nothing else moves."""
    clock = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def make(*seconds):
        rest = itertools.cycle(seconds)

        def run():
            clock[0] += next(rest)

        return Contender(run)

    return make


def test_the_slow_drop_out_and_the_first_is_what_they_are_compared_with(contender):
    contenders = [contender(1.12), contender(1.0), contender(1.5), contender(1.04)]
    told = []
    race(contenders, 1e9, lambda number, left: told.append((number, left)))
    assert told == [(1, 3), (2, 3), (3, 2), (4, 2), *((number, 1) for number in range(5, 16))]
    assert [one.rounds for one in contenders] == [15, 15, 3, 5]
    assert [one.seconds[0] for one in contenders] == pytest.approx([1.12, 1.0, 1.5, 1.04])
    assert is_quicker(contenders[1], contenders[0]) and not is_quicker(contenders[0], contenders[1])


def test_the_race_ends_when_all_others_are_slower(contender):
    contenders = [contender(1.0), contender(1.2), contender(1.05)]
    race(contenders, 1e9)
    assert [one.rounds for one in contenders] == [5, 3, 5]
    alone = [contender(1.0)]
    race(alone, 1e9)
    assert alone[0].rounds == 1


def test_one_slow_round_drops_nobody(contender):
    contenders = [contender(1.0), contender(1.0, 9.0, 1.0)]
    race(contenders, 1e9)
    assert [one.rounds for one in contenders] == [15, 15]


def test_there_are_three_rounds_whatever_the_time(contender):
    contenders = [contender(1.0), contender(1.0)]
    race(contenders, 0.0)
    assert [one.rounds for one in contenders] == [3, 3]


def test_no_round_begins_that_would_be_late(contender):
    contenders = [contender(1.0), contender(1.0)]
    race(contenders, 100.0 + 9.0)
    assert [one.rounds for one in contenders] == [4, 4]


def test_as_many_race_as_three_rounds_leave_time_for(contender):
    contenders = [contender(1.0), contender(1.0), contender(2.0), contender(1.0)]
    for one in contenders:
        one.warm_up()
    numbers = {seconds: len(finalists(contenders, seconds)) for seconds in (-1, 5.9, 6, 11.9, 12, 15)}
    assert numbers == {-1: 1, 5.9: 1, 6: 2, 11.9: 2, 12: 3, 15: 4}
    assert finalists(contenders, 12) == contenders[:3]


def test_who_comes_first_differs():
    order = []
    contenders = [Contender(lambda i=i: order.append(i)) for i in range(3)]
    race(contenders, time.perf_counter() + 60)
    assert [order[i] for i in (0, 3, 6)] == [1, 2, 0]


def test_short_calls_are_measured_several_at_a_time(contender):
    short, long = contender(1e-4), contender(50e-3)
    assert short.warm_up() == pytest.approx(1e-4) and long.warm_up() == pytest.approx(50e-3)
    assert (short.calls, long.calls) == (100, 1)
    assert (short.expected, long.expected) == pytest.approx((10e-3, 50e-3))
    short.measure()
    assert short.seconds == pytest.approx([1e-4])


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ([1.0] * 5, [1.05] * 5, True),
        ([1.0] * 5, [1.005] * 5, False),  # within noise
        ([1.0] * 3, [1.03] * 3, False),  # too few rounds for so little
        ([1.0] * 3, [1.2] * 3, True),
        ([1.0, 1.0, 1.0, 9.0, 9.0], [1.2] * 5, False),  # not mostly
        ([9.0, 1.0, 9.0, 9.0, 9.0], [5.0, 2.0, 9.0, 5.0, 5.0], False),  # in one round alone
        ([1.0], [9.0], False),  # one round and two rounds decide nothing
        ([1.0, 1.0], [9.0, 9.0], False),
    ],
)
def test_only_what_is_quicker_beyond_noise_is(own, other, expected):
    assert is_quicker(Contender(print, list(own)), Contender(print, list(other))) is expected


def test_what_is_told_is_what_was_decided_by():
    """The machine is slow in later rounds:
    medians of all rounds would say that the default is slower.
    """
    default, dropped, best = (
        Candidate(name, 1, contender=Contender(print, seconds))
        for name, seconds in (("a", [1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0]), ("b", [1.5, 1.5, 1.5]),
                              ("c", [0.8, 0.8, 0.8, 3.2, 3.2, 3.2, 3.2]))
    )  # fmt: skip
    assert judge([default, dropped, best], default) is best
    assert [one.ratio for one in (default, dropped, best)] == pytest.approx([1.0, 1.5, 0.8])
    assert [one.measured for one in (default, dropped, best)] == pytest.approx([4.0, 6.0, 3.2])


def test_of_what_was_measured_to_the_end_the_lowest_ratio_is_taken():
    """One that dropped out may look better in its few rounds than the one that it lost to."""
    default, dropped, best = (
        Candidate(name, 1, contender=Contender(print, seconds))
        for name, seconds in (("a", [2.0] * 3 + [1.0] * 2), ("b", [1.0] * 3), ("c", [0.9] * 5))
    )
    assert dropped.ratio is None and judge([default, dropped, best], default) is best
    assert dropped.ratio == 0.5 and best.ratio == pytest.approx(0.45)
    slower = [default, Candidate("d", 1, contender=Contender(print, [2.0] * 3 + [0.995] * 2))]
    assert judge(slower, default) is default and default.ratio == 1.0
