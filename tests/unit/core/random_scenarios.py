"""Seeded scenarios with many things at once: what happens to a schedule on a bad week.

Moments are drawn to collide: on a slot, on the edge of a window, at `from` and `to`, one second beside, and at the
end of a wait, because that is where rules meet.
"""

import random
from typing import Any

from oracle import moment, written
from scan import slots_by_day

FREQUENT = ["* * * * *", "*/2 * * * *", "*/5 * * * *", "*/5 9-17 * * 1-5", "1-59/2 * * * *"]
REGULAR = [
    "*/10 * * * *",
    "*/15 * * * *",
    "7-59/10 * * * *",
    "7,*/20 * * * *",
    "3,33 * * * *",
    "0 * * * *",
    "@hourly",
    "5 0-23 * * *",
    "30 */2 * * *",
    "*/30 1-3 * * *",
    "*/20 1-3 * * *",
    "0-10/2 0-23/2 * * *",
    "15 1-23/3 * * *",
    "0,20,40 0-5 * * *",
]
RARE = [
    "0 9 * * *",
    "@daily",
    "30 2 * * *",
    "0,30 2,3 * * *",
    "45 1,2,3 * * *",
    "15 1,2,3 * * *",
    "0 2-6/2 * * *",
    "30 1,*/6 * * *",
    "00 08,20 1-31 * 0-7",
    "10 2,14 */2 * sun,mon",
    "0 3,15 1-15 * sat",
    "0 2 * * 1-5",
    "30 10,11,12 * * 1-5",
    "0 0,12 1/3 * 2-4",
]
SPANS = {"frequent": 4 * 3600, "regular": 2 * 86400, "rare": 5 * 86400}

CHANGES = {
    "Etc/UTC": ["2026-03-29T01:00:00Z"],
    "UTC": ["2026-10-25T01:00:00Z"],
    "Europe/Berlin": ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2025-03-30T01:00:00Z"],
    "America/New_York": ["2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"],
    "America/Havana": ["2025-03-09T05:00:00Z", "2025-11-02T05:00:00Z"],
    "America/Sao_Paulo": ["2018-11-04T03:00:00Z", "2019-02-17T02:00:00Z"],
    "America/St_Johns": ["2006-04-02T03:31:00Z", "2006-10-29T02:31:00Z"],
    "Africa/Cairo": ["2025-04-24T22:00:00Z", "2025-10-30T21:00:00Z"],
    "Africa/Casablanca": ["2024-03-10T02:00:00Z", "2024-04-14T02:00:00Z"],
    "Antarctica/Troll": ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"],
    "Asia/Kathmandu": ["1985-12-31T18:30:00Z"],
    "Asia/Kolkata": ["2026-03-29T01:00:00Z"],
    "Asia/Pyongyang": ["2015-08-14T15:00:00Z", "2018-05-04T15:00:00Z"],
    "Australia/Lord_Howe": ["2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z"],
    "Pacific/Apia": ["2011-12-30T10:00:00Z"],
    "Pacific/Chatham": ["2026-04-04T14:00:00Z", "2026-09-26T14:00:00Z"],
}


class Scenarios:
    """One scenario per seed; the same seed gives the same scenario."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self) -> dict[str, Any]:
        rand = self.random
        kind = rand.choice(["frequent", "regular", "regular", "rare"])
        self.schedules = {"frequent": FREQUENT, "regular": REGULAR, "rare": RARE}[kind]
        self.zone = rand.choice(list(CHANGES))
        span = int(SPANS[kind] * rand.uniform(0.3, 1.2))
        spec = self._spec()
        change = moment(rand.choice(CHANGES[self.zone]))
        self.start = change - int(span * rand.uniform(0, 1))
        if rand.random() < 0.4:
            self.start -= self.start % 60
        self.end = self.start + span
        self.slots = slots_by_day(
            spec["schedule"], spec.get("timeZone", "Etc/UTC"), self.start - 3600, self.end + 3600
        )
        if self.slots and rand.random() < 0.2:
            self.end = max(self.start, rand.choice(self.slots))
        self.moments = [self.start, self.end, change]
        run_duration = self._run_duration(kind)
        raw: dict[str, Any] = {
            "schedule": spec,
            "from": self._written(self.start),
            "to": self._written(self.end),
            "operatorDown": self._windows(rand.choice([0, 0, 1, 1, 2, 3]), span),
            "tenantSuspended": self._windows(rand.choice([0, 0, 0, 1, 1, 2]), span),
            "runDuration": run_duration,
            "edits": self._edits(spec, rand.choice([0, 0, 1, 2, 3, 5])),
        }
        if rand.random() < 0.6:
            raw["settings"] = {"misfireThreshold": rand.choice(["1s", "30s", "60s", "90s", "5m", "10m"])}
        return raw

    def _spec(self) -> dict[str, Any]:
        rand = self.random
        spec: dict[str, Any] = {"schedule": rand.choice(self.schedules)}
        if rand.random() < 0.85:
            spec["timeZone"] = self.zone
        spec |= self._policies(rand.choice(["FireOnce", "Skip", "CatchUp", "CatchUp"]))
        if rand.random() < 0.8:
            spec["maxStaleness"] = "24h" if rand.random() < 0.35 else self._staleness()
        if rand.random() < 0.08:
            spec["suspend"] = True
        return spec

    def _policies(self, misfire: str) -> dict[str, Any]:
        rand = self.random
        spec: dict[str, Any] = {"misfirePolicy": misfire}
        overlap = ["Allow", "Forbid"] if misfire == "CatchUp" else ["Allow", "Forbid", "Replace"]
        if rand.random() < 0.85:
            spec["concurrencyPolicy"] = rand.choice(overlap)
        if misfire == "CatchUp" and rand.random() < 0.8:
            spec["catchUp"] = self._catch_up()
        return spec

    def _catch_up(self) -> dict[str, Any]:
        rand = self.random
        limits = {
            "maxRuns": rand.choice([1, 2, 3, 5, 10, 100]),
            "maxAge": rand.choice(["1m", "61s", "5m", "20m", "1h", "2h", "7h12m", "24h", "24h"]),
            "maxConcurrent": rand.choice([1, 1, 2, 3, 10]),
        }
        return {key: value for key, value in limits.items() if rand.random() < 0.6}

    def _staleness(self) -> str:
        return self.random.choice(["1m", "61s", "4m", "5m", "633s", "15m", "1h", "3h", "12h", "24h"])

    def _run_duration(self, kind: str) -> object:
        rand = self.random
        short = [0, 1, 54, "59s", 60, "61s", "108s", "5m", 599, "10m"]
        long = ["15m", 1350, "1h", 3659, "90m", "2h", 9000, "5h", 86400, "30h"]
        return rand.choice(short + long if kind != "frequent" else short + short + long)

    def _written(self, second: int) -> str:
        """In UTC mostly, at times with an offset."""
        if self.random.random() < 0.9:
            return written(second)
        return written(second + 19800).replace("Z", "+05:30")

    def _moment(self) -> int:
        """Any moment, or one at or beside a moment that matters."""
        rand = self.random
        if rand.random() < 0.4:
            margin = (self.end - self.start) // 6 + 1
            at = rand.randint(self.start - margin, self.end + margin)
        elif self.slots and rand.random() < 0.6:
            at = rand.choice(self.slots)
        else:
            at = rand.choice(self.moments)
        if rand.random() < 0.3:
            at += rand.choice([-61, -60, -1, 1, 20, 30, 59, 60, 61, 300, 600, 601])
        self.moments.append(at)
        return at

    def _windows(self, count: int, span: int) -> list[dict[str, str]]:
        windows = []
        for _ in range(count):
            begin = self._moment()
            end = self._moment() if self.random.random() < 0.4 else begin + self._length(span)
            begin, end = sorted((begin, end))
            self.moments.append(end)
            if begin < end:
                windows.append({"from": self._written(begin), "to": self._written(end)})
        return windows

    def _length(self, span: int) -> int:
        rand = self.random
        return rand.choice(
            [1, 59, 60, 61, 600, 3600, 7200, int(span * rand.random()), int(span * rand.random())]
        )

    def _edits(self, spec: dict[str, Any], count: int) -> list[dict[str, Any]]:
        edits = []
        current = spec
        for at in sorted(self._moment() for _ in range(count)):
            patch = self._patch(current)
            edits.append({"at": self._written(at), "spec": patch})
            current = {**current, **patch}
        return edits

    def _patch(self, current: dict[str, Any]) -> dict[str, Any]:
        rand = self.random
        misfire = current.get("misfirePolicy", "FireOnce")
        kind = rand.choice(
            [
                "schedule",
                "schedule",
                "zone",
                "suspend",
                "suspend",
                "policy",
                "overlap",
                "staleness",
                "caps",
                "none",
            ]
        )
        if kind == "schedule":
            return {"schedule": rand.choice([*self.schedules, current["schedule"], "0 * * * *", "@hourly"])}
        if kind == "zone":
            return {"timeZone": rand.choice([*CHANGES, None, self.zone])}
        if kind == "suspend":
            return {"suspend": rand.choice([not current.get("suspend", False), True, False, None])}
        if kind == "policy":
            policy = rand.choice(["FireOnce", "Skip", "CatchUp"])
            patch = {"catchUp": None, "concurrencyPolicy": None} | self._policies(policy)
            return patch if rand.random() < 0.8 else patch | {"suspend": rand.random() < 0.5}
        if kind == "overlap":
            choice = ["Allow", "Forbid"] if misfire == "CatchUp" else ["Allow", "Forbid", "Replace", None]
            return {"concurrencyPolicy": rand.choice(choice)}
        if kind == "staleness":
            return {"maxStaleness": rand.choice([None, self._staleness()])}
        if kind == "caps" and misfire == "CatchUp":
            return {"catchUp": self._catch_up()}
        return {}


def scenario(seed: int) -> dict[str, Any]:
    return Scenarios(seed).one()
