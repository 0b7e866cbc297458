"""The catch-up budget: how many, how fast, and whose turn."""

from __future__ import annotations

from collections import Counter

import pytest

from cronschedule.core.budget import Budget, Key, Limits

LIMITS = Limits(per_minute=60, per_minute_and_namespace=30, active=100)


def starts(
    budget: Budget, *, seconds: int, begin: int = 0, active: int = 0, again: int | None = None
) -> list[tuple[float, Key]]:
    """Who was let in, and when, if everybody starts at once and is done at once.

    With `again`, whoever was let in asks for its next slot so many seconds later.
    """
    told: list[tuple[float, Key]] = []
    coming: list[tuple[float, Key]] = []
    for tick in range(begin * 10, (begin + seconds) * 10):
        now = tick / 10
        while coming and coming[0][0] <= now:
            _, key = coming.pop(0)
            budget.ask(key, 1000 + tick, now=now)
        while (key := budget.grant(now=now, active=active)) is not None:
            assert budget.spend(key)
            told.append((now, key))
            if again is None:
                budget.withdraw(key, now=now)
            else:
                coming.append((now + again, key))
    return told


def asked(*keys: Key, limits: Limits = LIMITS) -> Budget:
    budget = Budget(limits, now=0)
    for age, key in enumerate(keys):
        budget.ask(key, age, now=0)
    return budget


# How fast


def test_in_any_minute_there_are_no_more_starts_than_the_limits() -> None:
    keys = [(f"n{space}", f"x{number}") for space in range(10) for number in range(20)]
    told = starts(asked(*keys), seconds=180)
    moments = [moment for moment, _ in told]
    assert len(moments) > 170
    assert all(sum(begin <= moment < begin + 60 for moment in moments) <= 60 for begin in moments)
    one = [moment for moment, key in told if key[0] == "n0"]
    assert all(sum(begin <= moment < begin + 60 for moment in one) <= 30 for begin in one)


@pytest.mark.parametrize("late", [0.5, 12, 70])
def test_turns_that_are_used_late_and_all_at_once_keep_within_the_limits_too(late: float) -> None:
    """The API server stands still for a while again and again; what had its turn by then is created in one moment."""
    budget = asked(*[(f"n{number % 4}", f"x{number}") for number in range(400)])
    created: list[tuple[float, str]] = []
    held: list[Key] = []
    for tick in range(6000):
        now = tick / 10
        while (key := budget.grant(now=now, active=0)) is not None:
            assert budget.spend(key)
            held.append(key)
        if tick % (late * 10) == 0:
            for key in held:
                created.append((now, key[0]))
                budget.withdraw(key, now=now)
            held.clear()
    assert len(created) > 200
    for begin, _ in created:
        window = [space for moment, space in created if begin <= moment < begin + 60]
        assert len(window) <= 60
        assert max(Counter(window).values()) <= 30


def test_nobody_is_let_in_at_the_very_start() -> None:
    budget = asked(("n", "x"))
    assert budget.grant(now=0, active=0) is None
    assert budget.grant(now=1.9, active=0) is None
    assert budget.grant(now=2, active=0) == ("n", "x")


def test_a_pause_saves_nothing_up() -> None:
    budget = asked(*[("n", f"x{number}") for number in range(9)], ("m", "y"))
    assert len(starts(budget, begin=3600, seconds=2)) == 2


def test_a_namespace_that_comes_later_does_not_begin_with_a_full_bucket() -> None:
    budget = Budget(LIMITS, now=0)
    for number in range(9):
        budget.ask(("n", f"x{number}"), number, now=3600)
    assert [moment for moment, _ in starts(budget, begin=3600, seconds=5)] == [3600, 3602, 3604]


# How many


def test_nobody_is_let_in_while_too_many_are_active() -> None:
    limits = Limits(per_minute=60, per_minute_and_namespace=60, active=2)
    budget = asked(*[("n", f"x{number}") for number in range(5)], limits=limits)
    assert starts(budget, seconds=60, active=2) == []
    assert budget.grant(now=100, active=1) is not None
    assert budget.grant(now=200, active=1) is None  # the turn that was granted counts until it is used


def test_a_run_counts_as_active_while_its_job_is_being_created() -> None:
    limits = Limits(per_minute=60, per_minute_and_namespace=60, active=1)
    budget = asked(("n", "x"), ("n", "y"), limits=limits)
    assert budget.grant(now=10, active=0) == ("n", "x")
    assert budget.spend(("n", "x"))
    assert budget.grant(now=20, active=0) is None  # its Job is not known yet
    budget.ask(("n", "x"), 60, now=21)  # its Job is there, and is counted as active from now on
    assert budget.grant(now=30, active=1) is None
    assert budget.grant(now=40, active=0) == ("n", "y")


def test_a_turn_that_came_to_nothing_makes_room_for_another() -> None:
    limits = Limits(per_minute=60, per_minute_and_namespace=60, active=1)
    budget = asked(("n", "x"), ("n", "y"), limits=limits)
    assert budget.grant(now=10, active=0) == ("n", "x")
    assert not budget.withdraw(("n", "y"), now=10)
    budget.ask(("n", "y"), 1, now=10)
    assert budget.withdraw(("n", "x"), now=10)
    assert budget.grant(now=20, active=0) == ("n", "y")


def test_a_turn_can_be_used_once() -> None:
    budget = asked(("n", "x"))
    assert not budget.spend(("n", "x"))
    assert budget.grant(now=10, active=0) == ("n", "x")
    assert budget.spend(("n", "x"))
    assert not budget.spend(("n", "x"))


def test_who_asks_again_while_it_has_a_turn_keeps_it_and_gets_no_second_one() -> None:
    budget = asked(("n", "x"))
    assert budget.grant(now=10, active=0) == ("n", "x")
    budget.ask(("n", "x"), 0, now=11)
    assert len(budget) == 0
    assert budget.grant(now=20, active=0) is None
    assert budget.spend(("n", "x"))


# Whose turn


def test_namespaces_take_turns_however_long_one_queue_is() -> None:
    budget = asked(*[("greedy", f"x{number}") for number in range(100)], ("modest", "y"))
    assert ("modest", "y") in [key for _, key in starts(budget, seconds=5)]


def test_a_namespace_with_one_backlog_gets_as_much_as_one_with_two_hundred() -> None:
    budget = asked(*[("greedy", f"x{number}") for number in range(200)], ("modest", "y"))
    told = Counter(key[0] for _, key in starts(budget, seconds=600, again=0))
    assert abs(told["greedy"] - told["modest"]) <= 1


@pytest.mark.parametrize("namespaces", [2, 3, 7, 30])
def test_shares_are_equal_whichever_limit_binds(namespaces: int) -> None:
    keys = [(f"n{space}", f"x{number}") for space in range(namespaces) for number in range(5)]
    told = Counter(key[0] for _, key in starts(asked(*keys), seconds=900, again=2))
    assert len(told) == namespaces
    assert max(told.values()) - min(told.values()) <= 1


def test_within_a_namespace_the_oldest_slot_goes_first() -> None:
    budget = Budget(LIMITS, now=0)
    for name, oldest in ("young", 300), ("old", 100), ("middle", 200):
        budget.ask(("n", name), oldest, now=0)
    assert [key[1] for _, key in starts(budget, seconds=10)] == ["old", "middle", "young"]


def test_a_slot_that_has_become_older_while_it_waits_is_judged_anew() -> None:
    budget = Budget(LIMITS, now=0)
    budget.ask(("n", "first"), 200, now=0)
    budget.ask(("n", "second"), 100, now=0)
    budget.ask(("n", "second"), 300, now=0)  # its slot of 100 has become stale
    assert [key[1] for _, key in starts(budget, seconds=10)] == ["first", "second"]


def test_who_waits_is_not_passed_over_by_a_stream_of_older_slots() -> None:
    """Schedules with older slots keep coming, more than the limit lets in."""
    budget = asked(*[("n", f"x{number}") for number in range(20)])
    budget.ask(("n", "young"), 10**9, now=0)
    met = []
    for second in range(120):
        budget.ask(("n", f"late{second}"), second, now=second)
        met += [key[1] for _, key in starts(budget, begin=second, seconds=1)]
    assert met.index("young") <= 20 + 3  # those before it, and those that came before the first turn


def test_a_namespace_that_waits_is_not_passed_over_by_a_stream_of_new_ones() -> None:
    budget = asked(("waits", "x"))
    met = []
    for second in range(60):
        budget.ask((f"late{second}", "y"), 0, now=second)
        budget.ask((f"later{second}", "y"), 0, now=second)
        met += [key[0] for _, key in starts(budget, begin=second, seconds=1)]
    assert met.index("waits") <= 4


def test_turns_of_one_that_always_fails_do_not_hold_up_the_others() -> None:
    """Its slot stays the oldest for ever, since its Job cannot be created."""
    budget = asked(("n", "fails"), *[("n", f"x{number}") for number in range(9)])
    met = []
    for second in range(40):
        told = [key for _, key in starts(budget, begin=second, seconds=1)]
        met += [key[1] for key in told]
        budget.ask(("n", "fails"), 0, now=second)
    assert {f"x{number}" for number in range(9)} <= set(met)


def test_however_often_it_is_restarted_no_namespace_is_favoured() -> None:
    """Each life is long enough for four turns only; the one that was served has younger slots the next time."""
    slots = {(f"n{space}", "x"): 0 for space in range(10)}
    for life in range(30):
        budget = Budget(LIMITS, now=life * 100)
        for key, slot in slots.items():
            budget.ask(key, slot, now=life * 100 + 0.5)
        for _, key in starts(budget, begin=life * 100, seconds=6):
            slots[key] += 60
    turns = [slot // 60 for slot in slots.values()]
    assert sum(turns) == 30 * 4
    assert max(turns) - min(turns) <= 1


# Leaving


def test_who_withdraws_is_not_let_in_and_holds_nobody_up() -> None:
    budget = asked(("n", "gone"), ("n", "stays"))
    budget.withdraw(("n", "gone"), now=0)
    assert Counter(key for _, key in starts(budget, seconds=60)) == {("n", "stays"): 1}
    assert len(budget) == 0


def test_the_next_moment_is_told_only_while_somebody_could_go() -> None:
    budget = Budget(LIMITS, now=0)
    assert budget.next_moment(active=0) is None
    budget.ask(("n", "x"), 1, now=0)
    assert budget.next_moment(active=100) is None  # a run has to end first, however long it takes
    moment = budget.next_moment(active=0)
    assert moment is not None
    assert budget.grant(now=moment, active=0) == ("n", "x")
    assert budget.next_moment(active=0) is None


def test_namespaces_that_are_through_are_forgotten_but_not_their_pace() -> None:
    budget = Budget(LIMITS, now=0)
    for number in range(1, 500):
        budget.ask((f"n{number}", "x"), 0, now=10 * number)
        assert len(starts(budget, begin=10 * number, seconds=1)) == 1
    assert budget.known_namespaces <= 8  # those of the last minute
    budget.ask(("n499", "x"), 60, now=4991)
    assert budget.grant(now=4991, active=0) is None
    assert budget.grant(now=4992, active=0) == ("n499", "x")


def test_coming_and_going_leaves_nothing_behind() -> None:
    budget = Budget(LIMITS, now=0)
    for number in range(1000):
        budget.ask((f"n{number}", "x"), 0, now=number)
        budget.withdraw((f"n{number}", "x"), now=number)
    assert len(budget) == 0
    assert budget.known_namespaces <= 62  # those of the last minute
