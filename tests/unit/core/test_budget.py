"""The catch-up budget: how many, how fast, and whose turn."""

from __future__ import annotations

from collections import Counter

from cronschedule.core.budget import Budget, Key, Limits

LIMITS = Limits(per_minute=60, per_minute_and_namespace=30, active=100)


def starts(budget: Budget, *, seconds: int, active: int = 0) -> list[tuple[float, Key]]:
    """Who was let in, and when, if everybody starts at once and is done at once."""
    told = []
    for tick in range(seconds * 10):
        now = tick / 10
        while (key := budget.grant(now=now, active=active)) is not None:
            assert budget.spend(key)
            told.append((now, key))
    return told


def asked(*keys: Key, limits: Limits = LIMITS) -> Budget:
    budget = Budget(limits, now=0)
    for age, key in enumerate(keys):
        budget.ask(key, age)
    return budget


def test_in_any_minute_there_are_no_more_starts_than_the_limits() -> None:
    keys = [(f"n{space}", f"x{number}") for space in range(10) for number in range(20)]
    told = starts(asked(*keys), seconds=180)
    moments = [moment for moment, _ in told]
    assert all(sum(begin <= moment < begin + 60 for moment in moments) <= 61 for begin in moments)
    one = [moment for moment, key in told if key[0] == "n0"]
    assert all(sum(begin <= moment < begin + 60 for moment in one) <= 31 for begin in one)


def test_namespaces_take_turns_however_long_one_queue_is() -> None:
    budget = asked(*[("greedy", f"x{number}") for number in range(100)], ("modest", "y"))
    assert ("modest", "y") in [key for _, key in starts(budget, seconds=5)]


def test_within_a_namespace_the_oldest_slot_goes_first() -> None:
    budget = Budget(LIMITS, now=0)
    for name, oldest in ("young", 300), ("old", 100), ("middle", 200):
        budget.ask(("n", name), oldest)
    assert [key[1] for _, key in starts(budget, seconds=10)] == ["old", "middle", "young"]


def test_nobody_is_let_in_at_the_very_start() -> None:
    assert asked(("n", "x")).grant(now=0, active=0) is None


def test_nobody_is_let_in_while_too_many_are_active() -> None:
    limits = Limits(per_minute=60, per_minute_and_namespace=60, active=2)
    budget = asked(*[("n", f"x{number}") for number in range(5)], limits=limits)
    assert starts(budget, seconds=60, active=2) == []
    assert budget.grant(now=100, active=1) is not None
    assert budget.grant(now=200, active=1) is None  # the turn that was granted counts until it is used


def test_a_turn_can_be_used_once() -> None:
    budget = asked(("n", "x"))
    assert not budget.spend(("n", "x"))
    assert budget.grant(now=10, active=0) == ("n", "x")
    assert budget.spend(("n", "x"))
    assert not budget.spend(("n", "x"))


def test_who_withdraws_is_not_let_in_and_holds_nobody_up() -> None:
    budget = asked(("n", "gone"), ("n", "stays"))
    budget.withdraw(("n", "gone"))
    assert Counter(key for _, key in starts(budget, seconds=60)) == {("n", "stays"): 1}
    assert len(budget) == 0


def test_the_next_moment_is_told_only_while_somebody_waits() -> None:
    budget = Budget(LIMITS, now=0)
    assert budget.next_moment(5) is None
    budget.ask(("n", "x"), 1)
    moment = budget.next_moment(0)
    assert moment is not None
    assert budget.grant(now=moment, active=0) == ("n", "x")
    assert budget.next_moment(moment) is None
