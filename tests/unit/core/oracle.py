"""`simulate` done the slow and obvious way, straight from the text of `simulate.md` and `semantics.md §3, §5, §6`.

It shares no code with the planner and knows nothing of it: a scenario as it is written in YAML goes in, the
answer as it is written in JSON comes out. It takes right input only.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from scan import next_slot, slots_by_day

DEFAULTS = {
    "timeZone": "Etc/UTC",
    "misfirePolicy": "FireOnce",
    "maxStaleness": "1h",
    "concurrencyPolicy": "Forbid",
    "suspend": False,
    "catchUp": {},
}
CATCH_UP_DEFAULTS = {"maxRuns": 100, "maxAge": "24h", "maxConcurrent": 1}


def seconds(span: object) -> int:
    if isinstance(span, int):
        return span
    return sum(
        int(number) * {"h": 3600, "m": 60, "s": 1}[unit]
        for number, unit in re.findall("([0-9]+)([hms])", str(span))
    )


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def patched(target: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


@dataclass
class Run:
    slot: int
    trigger: str
    stands_for: list[int]
    started: int
    length: int
    outcome: str = "Active"
    ended: int | None = None

    @property
    def active(self) -> bool:
        return self.outcome == "Active"


@dataclass
class Decision:
    at: int
    reason: str = ""
    run: Run | None = None


Text = tuple[str, str]
"""The text of `schedule` and of `timeZone`."""


@dataclass
class World:
    """The schedule, and what the operator knows of it (`last_decided`, `known_*`, `decisions`)."""

    raw: dict[str, Any]
    last_decided: int = 0
    known_text: Text | None = None
    known_suspension: str | None = None
    decisions: dict[int, Decision] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = self.raw["schedule"]
        self.first_spec = given.get("spec", given)
        self.start, self.end = moment(self.raw["from"]), moment(self.raw["to"])
        self.down = self._windows("operatorDown")
        self.tenant = self._windows("tenantSuspended")
        self.edits = sorted(
            ((moment(edit["at"]), edit["spec"]) for edit in self.raw.get("edits", [])),
            key=lambda edit: edit[0],
        )
        self.run_length = seconds(self.raw.get("runDuration", 0))
        self.threshold = seconds(self.raw.get("settings", {}).get("misfireThreshold", "60s"))
        self.last_decided = self.start

    def _windows(self, key: str) -> list[tuple[int, int]]:
        """Half-open; "those of one list that touch or overlap are one"."""
        merged: list[tuple[int, int]] = []
        for begin, end in sorted((moment(w["from"]), moment(w["to"])) for w in self.raw.get(key, [])):
            if begin == end:
                continue
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        return merged

    # What is so at a moment, whoever knows of it.

    def spec(self, now: int) -> dict[str, Any]:
        spec = self.first_spec
        for at, patch in self.edits:
            if at <= max(now, self.start):
                spec = patched(spec, patch)
        return DEFAULTS | spec

    def text(self, now: int) -> Text:
        spec = self.spec(now)
        return spec["schedule"], spec["timeZone"]

    def operator_is_up(self, now: int) -> bool:
        return not any(begin <= now < end for begin, end in self.down)

    def suspension(self, now: int) -> str | None:
        """ "Where both overlap, TenantSuspended is the reason while it lasts.\""""
        if any(begin <= now < end for begin, end in self.tenant):
            return "TenantSuspended"
        return "ScheduleSuspended" if self.spec(now)["suspend"] else None

    def active_runs(self) -> list[Run]:
        return [run for run in self.runs if run.active]

    def due(self, now: int) -> list[int]:
        """Every slot in (lastDecidedTime, now], of the schedule that the operator knows."""
        schedule, zone = self.known_text or self.text(now)
        return slots_by_day(schedule, zone, self.last_decided, now)

    # The timeline.

    def play(self) -> None:
        now: int | None = self.start
        while now is not None and now <= self.end:
            for run in self.active_runs():
                if run.started + run.length <= now:
                    run.outcome, run.ended = "Succeeded", run.started + run.length
            if self.operator_is_up(now):
                self.evaluate(now)
            now = self.next_moment(now)

    def next_moment(self, now: int) -> int | None:
        """When something happens next; a run of length 0 ends in one more step at the same instant."""
        moments = [end for _, end in self.down]
        moments += [edge for window in self.tenant for edge in window]
        moments += [at for at, _ in self.edits]
        if self.known_text is not None:
            moments.append(next_slot(*self.known_text, now))
        too_stale = seconds(self.spec(now)["maxStaleness"]) + 1
        moments += [slot + too_stale for slot in self.due(now)]
        later = [at for at in moments if at > now]
        later += [max(now, run.started + run.length) for run in self.active_runs()]
        return min(later, default=None)

    # What the operator does.

    def evaluate(self, now: int) -> None:
        suspension, text = self.suspension(now), self.text(now)
        if self.known_text is None:
            self.known_text = text
        self.settle_suspension(now, suspension, edited=text != self.known_text)
        if text != self.known_text:
            self.skip(self.due(now), "ScheduleChanged", now)
            self.last_decided, self.known_text = now, text
        if suspension is None:
            self.settle_due(now)

    def settle_suspension(self, now: int, suspension: str | None, *, edited: bool) -> None:
        """§5. What the operator knows wins: a suspension seen once lasts until its end is seen."""
        if self.known_suspension is not None and (suspension != self.known_suspension or edited):
            self.skip(self.due(now), self.known_suspension, now)
            if suspension is None:
                self.last_decided = now
        elif self.known_suspension is None and suspension is not None:
            self.skip(self.due(now), suspension, now)
        self.known_suspension = suspension

    def settle_due(self, now: int) -> None:
        """§3. "Asked anew after every decision."""
        while due := self.due(now):
            before = len(self.decisions)
            match self.spec(now)["misfirePolicy"]:
                case "FireOnce":
                    self.fire_once(due, now)
                case "Skip":
                    self.skip_missed(due, now)
                case "CatchUp":
                    self.catch_up(due, now)
            if len(self.decisions) == before:
                return

    def fire_once(self, due: list[int], now: int) -> None:
        self.try_to_run(due[-1], due, "Schedule", now)

    def skip_missed(self, due: list[int], now: int) -> None:
        missed = [slot for slot in due if self.is_missed(slot, due, now)]
        self.skip(missed, "Misfire", now)
        if due[-1] not in missed:
            self.try_to_run(due[-1], [due[-1]], "Schedule", now)

    def catch_up(self, due: list[int], now: int) -> None:
        spec = self.spec(now)
        limits = CATCH_UP_DEFAULTS | spec["catchUp"]
        if self.is_missed(due[0], due, now):
            stale = [slot for slot in due if now - slot > seconds(spec["maxStaleness"])]
            rest = due[len(stale) :]
            too_old = [slot for slot in rest if now - slot > seconds(limits["maxAge"])]
            too_many = rest[: -limits["maxRuns"]]
            capped = [slot for slot in rest if slot in too_old or slot in too_many]
            capped = [slot for slot in capped if self.is_missed(slot, due, now)]
            if stale or capped:
                self.skip(stale, "Stale", now)
                self.skip(capped, "CatchUpCapExceeded", now)
                return
            working = [run for run in self.active_runs() if run.trigger == "CatchUp"]
            if len(working) >= limits["maxConcurrent"]:
                return
            self.try_to_run(due[0], [due[0]], "CatchUp", now, waits=True)
        else:
            self.try_to_run(due[0], [due[0]], "Schedule", now, waits=True)

    def is_missed(self, slot: int, due: list[int], now: int) -> bool:
        return not (now - slot <= self.threshold and slot == due[-1])

    def try_to_run(
        self, slot: int, settles: list[int], trigger: str, now: int, *, waits: bool = False
    ) -> None:
        """Rules 3, 4 and 6 for a slot; what becomes of it goes for all that are settled with it."""
        spec = self.spec(now)
        if now - slot > seconds(spec["maxStaleness"]):
            self.skip(settles, "Stale", now)
            return
        if self.active_runs() and spec["concurrencyPolicy"] == "Forbid":
            if not waits:
                self.skip(settles, "Overlap", now)
            return
        if spec["concurrencyPolicy"] == "Replace":
            for run in self.active_runs():
                run.outcome, run.ended = "Replaced", now
        self.skip([other for other in settles if other != slot], "Coalesced", now)
        run = Run(slot, trigger, settles, now, self.run_length)
        self.runs.append(run)
        self.record(slot, Decision(now, run=run))

    def skip(self, slots: list[int], reason: str, now: int) -> None:
        for slot in slots:
            self.record(slot, Decision(now, reason))

    def record(self, slot: int, decision: Decision) -> None:
        assert slot not in self.decisions, f"{written(slot)} was decided before"
        assert slot > self.last_decided, f"{written(slot)} lies behind the ledger"
        self.decisions[slot] = decision
        self.last_decided = slot

    # The answer.

    def answer(self) -> dict[str, Any]:
        skipped = Counter(decision.reason for decision in self.decisions.values() if not decision.run)
        data: dict[str, Any] = {
            "decisions": [row(slot, decision) for slot, decision in sorted(self.decisions.items())],
            "counts": {"runs": len(self.runs), "skipped": dict(skipped)},
            "lastDecidedTime": written(self.last_decided),
            "waiting": [written(slot) for slot in self.due(self.end)],
        }
        if self.known_suspension is None and self.suspension(self.end) is None:
            data["nextScheduleTime"] = written(next_slot(*(self.known_text or self.text(self.end)), self.end))
        return data


def row(slot: int, decision: Decision) -> dict[str, Any]:
    told = {"slot": written(slot), "decidedAt": written(decision.at)}
    run = decision.run
    if run is None:
        return told | {"decision": "Skipped", "reason": decision.reason}
    told |= {"decision": "Run", "trigger": run.trigger, "outcome": run.outcome}
    if run.ended is not None:
        told["endedAt"] = written(run.ended)
    if len(run.stands_for) == 1:
        return told
    first, last = run.stands_for[0], run.stands_for[-1]
    stands_for = {"count": len(run.stands_for), "first": written(first), "last": written(last)}
    return told | {"standsFor": stands_for}


def answer(raw: dict[str, Any]) -> dict[str, Any]:
    """The answer of `simulate -o json` for a scenario as it is written."""
    world = World(raw)
    world.play()
    return world.answer()
