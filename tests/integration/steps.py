"""Where the operator waits: each moment at which one of its tasks is suspended inside the code that writes.

A process that dies between two such moments leaves behind what one leaves that dies at the first of them, so a walk
over them is a walk over all moments at which it can die. They are counted from outside, by the event loop's task
factory: nothing of the operator is changed for it.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from cronschedule import runtime

OTHERS = {
    "alerts",
    "audit",
    "clock",
    "credentials",
    "exposition",
    "handlers",
    "health",
    "inventory",
    "kube",
    "kube_http",
    "kube_verbs",
    "lanes",
    "leader",
    "logs",
    "loop",
    "metrics",
    "operator",
    "reflector",
    "settings",
    "throttle",
}
"""What only reads, keeps time, or carries what others write."""

FILES = {
    str(path): path.name for path in sorted(Path(runtime.__path__[0]).glob("*.py")) if path.stem not in OTHERS
}
"""The code that creates and deletes Jobs, and writes statuses and Events: paths, and their last parts."""

Line = tuple[str, int]
"""The last part of a path, and the number of a line."""


class Steps:
    """Counts the moments of one life; at the one of number `last` it calls `on_last`."""

    def __init__(self, *, last: int, on_last: Callable[[], None]) -> None:
        self.count = 0
        self.lines: set[Line] = set()
        """Where it was suspended, callers included."""
        self._last = last
        self._on_last = on_last

    def begin(self) -> None:
        """Count for this task from now on, and for those that it begins."""
        asyncio.get_running_loop().set_task_factory(_task)
        COUNTING.set(self)

    def suspended(self, coroutine: Any) -> None:
        """A task has come to where it waits."""
        lines = set(_lines(coroutine))
        if not lines:
            return
        self.count += 1
        self.lines |= lines
        if self.count == self._last:
            self._on_last()


COUNTING: ContextVar[Steps | None] = ContextVar("COUNTING", default=None)


class _Told(Coroutine[Any, Any, Any]):
    """A coroutine that tells each time that it is suspended."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], steps: Steps) -> None:
        self._coroutine = coroutine
        self._steps = steps

    def send(self, value: Any) -> Any:
        waited_for = self._coroutine.send(value)
        self._steps.suspended(self._coroutine)
        return waited_for

    def throw(self, *error: Any) -> Any:
        waited_for = self._coroutine.throw(*error)
        self._steps.suspended(self._coroutine)
        return waited_for

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()


def _task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    steps = COUNTING.get()
    told = coroutine if steps is None else _Told(coroutine, steps)
    return asyncio.Task(told, loop=loop, **options)


def _lines(coroutine: Any) -> Iterator[Line]:
    """The lines of `FILES` at which it and what it awaits are suspended."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and frame.f_code.co_filename in FILES:
            yield FILES[frame.f_code.co_filename], frame.f_lineno
        coroutine = getattr(coroutine, "cr_await", None)


def awaits() -> dict[Line, range]:
    """Each `await` of `FILES`, `async with` included, by where it begins, and the lines that it takes.

    Not those of `drain`, which waits for the writers from outside of them.
    """
    found = {}
    for path, name in FILES.items():
        for function in ast.walk(ast.parse(Path(path).read_text())):
            if isinstance(function, ast.AsyncFunctionDef) and function.name != "drain":
                for node in ast.walk(function):
                    if isinstance(node, ast.Await):
                        end = node.end_lineno or node.lineno
                        found[name, node.lineno] = range(node.lineno, end + 1)
                    elif isinstance(node, ast.AsyncWith | ast.AsyncFor):
                        found[name, node.lineno] = range(node.lineno, node.lineno + 1)
    return found
