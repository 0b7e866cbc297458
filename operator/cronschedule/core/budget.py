"""How fast backlogs are worked off, all together (`semantics.md §3 rule 5`): who may start the next catch-up run.

Pure: `now` is a monotonic clock's reading in seconds. Starts are paced, never saved up: in any minute there are no
more than the limit, and after a restart the first one waits its turn like all others. Live slots do not come here.
"""

import heapq
from collections import deque
from dataclasses import dataclass, field

Key = tuple[str, str]
"""Namespace and name of a CronSchedule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Catch-up Jobs started per minute, in the cluster and in each namespace, and active at a time."""

    per_minute: int
    per_minute_and_namespace: int
    active: int


@dataclass(kw_only=True, slots=True)
class _Namespace:
    """One namespace's queue, oldest backlog first, and when it may start its next run."""

    queue: list[tuple[int, Key]] = field(default_factory=list)
    ready_at: float


class Budget:
    """Schedules `ask`; `grant` says whose turn it is; who is granted may `spend` it once.

    Namespaces take turns; within one the schedule with the oldest waiting slot goes first.
    """

    def __init__(self, limits: Limits, *, now: float) -> None:
        self._limits = limits
        self._began = now
        self._ready_at = now + 60 / limits.per_minute
        self._namespaces: dict[str, _Namespace] = {}
        self._turns: deque[str] = deque()
        self._asking: dict[Key, int] = {}
        self._granted: set[Key] = set()

    def __len__(self) -> int:
        return len(self._asking)

    def ask(self, key: Key, oldest: int) -> None:
        """Wait for a turn; `oldest` (UTC seconds) is the slot that waits longest."""
        if key in self._granted or self._asking.get(key) == oldest:
            return
        self._asking[key] = oldest
        namespace = self._namespaces.get(key[0])
        if namespace is None:
            ready_at = self._began + 60 / self._limits.per_minute_and_namespace
            namespace = self._namespaces[key[0]] = _Namespace(ready_at=ready_at)
        if not namespace.queue:
            self._turns.append(key[0])
        heapq.heappush(namespace.queue, (oldest, key))

    def withdraw(self, key: Key) -> None:
        """Wait no longer; a turn that was granted is lost."""
        self._asking.pop(key, None)
        self._granted.discard(key)

    def spend(self, key: Key) -> bool:
        """Use the turn that was granted, if one was."""
        if key not in self._granted:
            return False
        self._granted.remove(key)
        return True

    def grant(self, *, now: float, active: int) -> Key | None:
        """The schedule whose turn it is now, if it is anyone's. `active` catch-up runs are active in the cluster."""
        if now < self._ready_at or active + len(self._granted) >= self._limits.active:
            return None
        for _ in range(len(self._turns)):
            name = self._turns.popleft()
            namespace = self._namespaces[name]
            if now < namespace.ready_at:
                self._turns.append(name)
                continue
            key = self._oldest(namespace)
            if namespace.queue:
                self._turns.append(name)
            if key is None:
                continue
            self._ready_at = now + 60 / self._limits.per_minute
            namespace.ready_at = now + 60 / self._limits.per_minute_and_namespace
            self._granted.add(key)
            return key
        return None

    def next_moment(self, now: float) -> float | None:
        """When `grant` may have an answer; `None` while nobody waits."""
        if not self._asking:
            return None
        first = min((self._namespaces[name].ready_at for name in self._turns), default=now)
        return max(first, self._ready_at)

    def _oldest(self, namespace: _Namespace) -> Key | None:
        """Take the schedule that waits longest off the queue; entries that were overtaken or withdrawn go too."""
        while namespace.queue:
            oldest, key = heapq.heappop(namespace.queue)
            if self._asking.get(key) == oldest:
                del self._asking[key]
                return key
        return None
