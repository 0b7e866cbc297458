"""How fast backlogs are worked off, all together (`semantics.md §3 rule 5`): who may start the next catch-up run.

Pure: `now` is a monotonic clock's reading in seconds. Starts are paced, never saved up: in any minute there are no
more than the limit, and after a restart the first one waits its turn like all others. Live slots do not come here.
That holds for when Jobs are created, not only for when turns are given: who is slow to use its turn must not do so
together with those who come after it.
"""

from collections import deque
from dataclasses import dataclass, field

MINUTE = 60
Key = tuple[str, str]
"""Namespace and name of a CronSchedule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Catch-up Jobs started per minute, in the cluster and in each namespace, and active at a time."""

    per_minute: int
    per_minute_and_namespace: int
    active: int


@dataclass(kw_only=True, slots=True)
class _Pace:
    """So many a minute: turns that are out count, and so do those that were used within the last minute."""

    limit: int
    ready_at: float
    out: int = 0
    used: deque[float] = field(default_factory=deque)

    def moment(self) -> float | None:
        """When the next turn may be given; `None` until one that is out is used or given back."""
        if self.out >= self.limit:
            return None
        excess = len(self.used) + self.out - self.limit
        return self.ready_at if excess < 0 else max(self.ready_at, self.used[excess] + MINUTE)

    def give(self, now: float) -> None:
        self.out += 1
        self.ready_at = now + MINUTE / self.limit

    def use(self, now: float) -> None:
        self.out -= 1
        self.used.append(now)
        self.forget(now)

    def forget(self, now: float) -> None:
        while self.used and self.used[0] <= now - MINUTE:
            self.used.popleft()


@dataclass(kw_only=True, slots=True)
class _Namespace:
    """The schedules of one namespace that wait, with their oldest slots, and its pace.

    They are served in rounds: who waits when a round begins is served in it, oldest slot first; who comes later, or
    again, waits for the next. So the oldest backlog goes first, and nobody is passed over for ever.
    """

    pace: _Pace
    round: dict[Key, int] = field(default_factory=dict)
    later: dict[Key, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.round) + len(self.later)

    @property
    def oldest(self) -> int:
        """The oldest slot of those whose turn comes next; only while somebody waits."""
        return min((self.round or self.later).values())

    def add(self, key: Key, oldest: int) -> None:
        (self.round if key in self.round else self.later)[key] = oldest

    def remove(self, key: Key) -> None:
        self.round.pop(key, None)
        self.later.pop(key, None)

    def take(self) -> Key:
        """Whose turn it is; it waits no longer."""
        if not self.round:
            self.round, self.later = self.later, {}
        key = min(self.round, key=lambda key: (self.round[key], key))
        del self.round[key]
        return key


class Budget:
    """Schedules `ask`; `grant` says whose turn it is; who is granted may `spend` it once.

    Namespaces take turns: the one that was served, or came, longest ago goes first. A turn counts as an active run
    until its schedule asks or withdraws again: by then the Job that came of it, if any did, is counted itself.
    """

    def __init__(self, limits: Limits, *, now: float) -> None:
        self._limits = limits
        self._began = now
        self._pace = _Pace(limit=limits.per_minute, ready_at=now + MINUTE / limits.per_minute)
        self._namespaces: dict[str, _Namespace] = {}
        self._idle: deque[tuple[float, str]] = deque()
        self._granted: set[Key] = set()
        self._spent: set[Key] = set()

    def __len__(self) -> int:
        """How many schedules wait."""
        return sum(map(len, self._namespaces.values()))

    @property
    def known_namespaces(self) -> int:
        """How many namespaces are remembered: those that wait, and those that were served just now."""
        return len(self._namespaces)

    def ask(self, key: Key, oldest: int, *, now: float) -> None:
        """Wait for a turn; `oldest` (UTC seconds) is the slot that waits longest."""
        self._end_turn(key, now)
        if key in self._granted:
            return
        self._forget_idle(now)
        namespace = self._namespaces.get(key[0])
        if namespace is None:
            limit = self._limits.per_minute_and_namespace
            pace = _Pace(limit=limit, ready_at=max(now, self._began + MINUTE / limit))
            namespace = self._namespaces[key[0]] = _Namespace(pace=pace)
        namespace.add(key, oldest)

    def withdraw(self, key: Key, *, now: float) -> bool:
        """Wait no longer; a turn that was granted is lost. Whether that may let another one in."""
        had_turn = key in self._granted or key in self._spent
        self._end_turn(key, now)
        namespace = self._namespaces.get(key[0])
        if namespace is not None and key in self._granted:
            self._granted.remove(key)
            self._pace.out -= 1
            namespace.pace.out -= 1
        if namespace is not None and (namespace or had_turn):
            namespace.remove(key)
            self._note_idle(key[0], namespace, now)
        return had_turn

    def spend(self, key: Key) -> bool:
        """Use the turn that was granted, if one was."""
        if key not in self._granted:
            return False
        self._granted.remove(key)
        self._spent.add(key)
        return True

    def grant(self, *, now: float, active: int) -> Key | None:
        """The schedule whose turn it is now, if it is anyone's. `active` catch-up runs are active in the cluster."""
        moment = self.next_moment(active=active)
        if moment is None or now < moment:
            return None
        namespace = self._namespaces[self._next_namespace(now)]
        key = namespace.take()
        self._granted.add(key)
        self._pace.give(now)
        namespace.pace.give(now)
        return key

    def next_moment(self, *, active: int) -> float | None:
        """When it is somebody's turn; `None` while nobody waits, or a run has to end first."""
        if active + len(self._granted) + len(self._spent) >= self._limits.active:
            return None
        moments = [moment for moment in map(self._moment_of, self._waiting()) if moment is not None]
        own = self._pace.moment()
        return max(min(moments), own) if moments and own is not None else None

    def _moment_of(self, name: str) -> float | None:
        return self._namespaces[name].pace.moment()

    def _end_turn(self, key: Key, now: float) -> None:
        """What came of the turn that this schedule used, if it used one, is known by now."""
        if key not in self._spent:
            return
        self._spent.remove(key)
        namespace = self._namespaces[key[0]]
        self._pace.use(now)
        namespace.pace.use(now)
        self._note_idle(key[0], namespace, now)

    def _next_namespace(self, now: float) -> str:
        """Who was served, or came, longest ago. Right after a start all are alike: then the oldest backlog decides, so
        that restarts, however many, favour nobody."""
        waiting = [
            name
            for name in self._waiting()
            if (moment := self._moment_of(name)) is not None and moment <= now
        ]
        first = min(self._namespaces[name].pace.ready_at for name in waiting)
        alike = [name for name in waiting if self._namespaces[name].pace.ready_at == first]
        return min(alike, key=lambda name: self._namespaces[name].oldest) if len(alike) > 1 else alike[0]

    def _waiting(self) -> list[str]:
        return [name for name, namespace in self._namespaces.items() if namespace]

    def _note_idle(self, name: str, namespace: _Namespace, now: float) -> None:
        if not namespace:
            self._idle.append((now + MINUTE, name))

    def _forget_idle(self, now: float) -> None:
        """Namespaces in which nobody waits are forgotten once their pace would allow whatever comes."""
        while self._idle and self._idle[0][0] <= now:
            _, name = self._idle.popleft()
            namespace = self._namespaces.get(name)
            if namespace is None or namespace or namespace.pace.out:
                continue
            namespace.pace.forget(now)
            if not namespace.pace.used and namespace.pace.ready_at <= now:
                del self._namespaces[name]
