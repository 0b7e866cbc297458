"""What a herd measures: the operator, the built-in CronJob controller as it comes and tuned, and one raw client.

All but the controller as it comes have the same tuned controller manager beside them, which looks after their Jobs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench import manifests
from bench.errors import BenchError
from bench.scene import TUNED, Scene
from bench.watcher import USER_AGENT
from localkube import OperatorProcess


class Subject:
    """How its objects look, whether they are ready for their slot, and who records their runs.

    `plural` is that of its objects, `clients` are its user agents.
    """

    name: str
    plural: str
    clients: tuple[str, ...]
    flags: Sequence[str] = TUNED

    def body(self, namespace: str, name: str, when: str, job: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    @contextlib.contextmanager
    def running(self, place: Scene, profile: Path | None) -> Iterator[OperatorProcess | None]:
        """The process to measure, ready; None where it is a part of the control plane."""
        yield None

    def is_ready(self, place: Scene, count: int) -> bool:
        return True

    def act(self, place: Scene, slot: int, names: Sequence[tuple[str, str]], job: dict[str, Any]) -> None:
        """What the bench itself has to do for it."""


class OperatorSubject(Subject):
    """Our operator."""

    name, plural = "operator", "cronschedules"
    clients = ("cronschedule-operator", "kopf")

    def body(self, namespace: str, name: str, when: str, job: dict[str, Any]) -> dict[str, Any]:
        return manifests.cron_schedule(
            namespace, name, job, schedule=when, concurrencyPolicy="Allow", successfulJobsHistoryLimit=1
        )

    @contextlib.contextmanager
    def running(self, place: Scene, profile: Path | None) -> Iterator[OperatorProcess | None]:
        with place.operator(profile=profile).started() as operator:
            yield operator
            if code := operator.stop():
                raise BenchError(
                    f"The operator ended with {code} when it was asked to end:\n{operator.tail()}"
                )

    def is_ready(self, place: Scene, count: int) -> bool:
        return place.taken_up() == count


class TunedCronJobSubject(Subject):
    """The controller that comes with Kubernetes, with flags by which it is as fast as it can be."""

    name, plural = "tuned CronJob", "cronjobs"
    clients = ("cronjob-controller",)

    def body(self, namespace: str, name: str, when: str, job: dict[str, Any]) -> dict[str, Any]:
        return manifests.cron_job(
            namespace, name, job, schedule=when, concurrencyPolicy="Allow", successfulJobsHistoryLimit=1
        )


class CronJobSubject(TunedCronJobSubject):
    """The same with its default flags."""

    name = "CronJob"
    flags = ()


class RawSubject(Subject):
    """One bare client that does nothing but create the Jobs (client.py)."""

    name, plural = "raw POSTs", ""
    clients = (USER_AGENT,)

    def act(self, place: Scene, slot: int, names: Sequence[tuple[str, str]], job: dict[str, Any]) -> None:
        jobs = [manifests.job(namespace, f"{name}-{slot // 60}", job, slot) for namespace, name in names]
        place.create("jobs", jobs)


SUBJECTS: dict[str, Subject] = {
    "operator": OperatorSubject(),
    "tuned": TunedCronJobSubject(),
    "raw": RawSubject(),
    "cronjob": CronJobSubject(),
}
"""By what they are called on the command line."""

WITH_DEFAULT_FLAGS = 1000
"""How many are measured with default flags unless that is asked for: it creates eight Jobs a second."""


def usual(*, count: int, pods: bool) -> list[str]:
    """What is measured where nobody says what."""
    if pods:
        return ["operator", "tuned"]
    return [name for name in SUBJECTS if name != "cronjob" or count <= WITH_DEFAULT_FLAGS]
