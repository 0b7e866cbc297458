"""Does the judge of the soak find every way in which a promise can be broken, and nothing where all were kept?

The records are forged: a sound story of one schedule, and what each case changes in it. 12:01 to 12:06 are the slots.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bench.judge import judge, totals
from bench.records import Evidence, JobCreated, JobEnded, Schedule, StatusWrite
from bench.rules import RULES

NOON = 1_800_000_000 // 86400 * 86400 + 43200
DAY = "2027-01-15"


def at(minute: int, second: int = 0) -> int:
    return NOON + 60 * minute + second


def text(minute: int) -> str:
    return f"{DAY}T12:{minute:02}:00Z"


def run_row(minute: int, outcome: str = "Succeeded") -> dict[str, Any]:
    return {"scheduledTime": text(minute), "outcome": outcome, "job": f"backup-{minute}"}


def skip_row(first: int, last: int, reason: str) -> dict[str, Any]:
    row = {"scheduledTime": text(last), "outcome": "Skipped", "reason": reason}
    return row | ({"count": last - first + 1, "firstScheduledTime": text(first)} if last > first else {})


def status(decided: int | None, *rows: dict[str, Any], failed: int = 0) -> dict[str, Any]:
    """A status whose totals are those of its rows, newest row first."""
    runs = [row for row in rows if row["outcome"] != "Skipped"]
    skipped: dict[str, int] = {}
    for row in rows:
        if row["outcome"] == "Skipped":
            skipped[row["reason"]] = skipped.get(row["reason"], 0) + row.get("count", 1)
    counts = {
        "runs": len(runs),
        "succeeded": sum(row["outcome"] == "Succeeded" for row in runs),
        "failed": failed,
        "skipped": skipped,
    }
    told: dict[str, Any] = {"counts": counts, "runHistory": list(rows)}
    return told if decided is None else told | {"lastDecidedTime": text(decided)}


@dataclass
class Story:
    """What the API server recorded of one schedule, to be forged."""

    schedule: Schedule
    created: list[JobCreated] = field(default_factory=list)
    ended: list[JobEnded] = field(default_factory=list)
    writes: list[StatusWrite] = field(default_factory=list)
    version: int = 100

    def next_version(self) -> int:
        self.version += 1
        return self.version

    def create(self, minute: int, *, late: int = 1, uid: str | None = None) -> None:
        job = f"backup-{minute}"
        self.created.append(
            JobCreated(
                schedule="s",
                slot=at(minute),
                job=job,
                uid=uid or f"uid-of-{job}",
                at=at(minute, late),
                version=self.next_version(),
            )
        )

    def end(self, minute: int, outcome: Any = "Succeeded") -> None:
        self.ended.append(
            JobEnded(uid=f"uid-of-backup-{minute}", version=self.next_version(), outcome=outcome)
        )

    def write(self, told: dict[str, Any]) -> None:
        before = self.writes[-1].version if self.writes else 50
        self.writes.append(
            StatusWrite(
                schedule="s",
                at=self.created[-1].at + 1.0,
                version=self.next_version(),
                based_on=before,
                status=deepcopy(told),
            )
        )

    def change_last(self, **changes: Any) -> None:
        """Replace fields of the last status that was written."""
        self.writes[-1] = replace(self.writes[-1], status={**self.writes[-1].status, **changes})

    def evidence(self, until: int) -> Evidence:
        return Evidence(
            schedules=[self.schedule],
            created=self.created,
            ended=self.ended,
            writes=self.writes,
            until=at(until),
        )


def schedule(misfire: str, concurrency: str, *skips: str) -> Schedule:
    return Schedule(
        uid="s",
        name="tenant/backup",
        created=at(0, 10),
        misfire_policy=misfire,
        concurrency_policy=concurrency,
        max_staleness=3600,
        expected_skips=frozenset(skips),
    )


def sound_story(misfire: str = "FireOnce", concurrency: str = "Forbid") -> Story:
    """12:01 runs, 12:02 is an overlap, then an outage until 12:05: 12:03 and 12:04 are coalesced; 12:06 runs."""
    story = Story(schedule(misfire, concurrency, "Coalesced", "Overlap"))
    story.create(1)
    story.write(status(1, run_row(1, "Active")))
    story.write(status(2, skip_row(2, 2, "Overlap"), run_row(1, "Active")))
    story.end(1)
    story.write(status(2, skip_row(2, 2, "Overlap"), run_row(1)))
    story.create(5)
    rows = [skip_row(3, 4, "Coalesced"), skip_row(2, 2, "Overlap"), run_row(1)]
    story.write(status(5, run_row(5, "Active"), *rows))
    story.end(5)
    story.create(6)
    story.write(status(6, run_row(6, "Active"), run_row(5), *rows))
    story.end(6)
    story.write(status(6, run_row(6), run_row(5), *rows))
    return story


def broken_rules(story: Story, until: int = 6) -> set[str]:
    return {violation.rule for violation in judge(story.evidence(until))}


def test_is_a_sound_story_found_sound() -> None:
    story = sound_story()
    assert judge(story.evidence(6)) == []
    seen = totals(story.evidence(6))
    assert (seen.slots, seen.runs, dict(seen.skips)) == (6, 3, {"Coalesced": 2, "Overlap": 1})
    assert (seen.jobs, seen.writes, seen.ends) == (3, 6, 3)


def test_is_a_run_that_is_still_active_at_the_end_sound() -> None:
    story = sound_story()
    story.ended.pop()
    story.writes.pop()
    assert judge(story.evidence(6)) == []


def second_job_after_the_first_was_deleted(story: Story) -> None:
    story.create(6, uid="another")
    story.ended.append(JobEnded(uid="another", version=story.next_version(), outcome="Succeeded"))


def job_before_its_slot(story: Story) -> None:
    story.created[-1] = replace(story.created[-1], at=at(6) - 2.0)


def job_between_slots(story: Story) -> None:
    story.created[-1] = replace(story.created[-1], slot=at(6) + 30)


def newer_slot_first(story: Story) -> None:
    first, second = story.created[1:]
    story.created[1:] = [replace(first, version=second.version), replace(second, version=first.version)]


def job_while_another_runs(story: Story) -> None:
    story.ended[1] = replace(story.ended[1], version=story.ended[2].version + 1)


def job_beside_one_that_never_ends(story: Story) -> None:
    del story.ended[1]


def later_than_staleness(story: Story) -> None:
    story.schedule = replace(story.schedule, max_staleness=120)
    story.created[-1] = replace(story.created[-1], at=at(6) + 126.0)


def missed_run_under_skip(story: Story) -> None:
    story.schedule = replace(story.schedule, misfire_policy="Skip")
    story.created[-1] = replace(story.created[-1], at=at(6) + 70.0)


def job_within_a_suspension(story: Story) -> None:
    story.schedule = replace(story.schedule, suspended=((at(5, 50), at(6, 30)),))


def suspended_slot_made_up_for(story: Story) -> None:
    story.schedule = replace(story.schedule, suspended=((at(4, 50), at(5, 30)),))
    story.created[1] = replace(story.created[1], at=at(5, 31))


def write_without_a_version(story: Story) -> None:
    story.writes[-1] = replace(story.writes[-1], based_on=None)


def two_writes_over_one_version(story: Story) -> None:
    story.writes[-1] = replace(story.writes[-1], based_on=story.writes[-2].based_on)


def ledger_back(story: Story) -> None:
    story.writes[-2] = replace(
        story.writes[-2],
        status=status(4, skip_row(3, 4, "Coalesced"), skip_row(2, 2, "Overlap"), run_row(1)),
    )


def ledger_gone_for_a_while(story: Story) -> None:
    story.writes[-2] = replace(story.writes[-2], status=status(None))


def totals_fall(story: Story) -> None:
    counts = {**story.writes[-2].status["counts"], "failed": 3}
    story.writes[-2] = replace(story.writes[-2], status={**story.writes[-2].status, "counts": counts})


def slot_uncounted(story: Story) -> None:
    story.change_last(counts={**story.writes[-1].status["counts"], "skipped": {"Coalesced": 2}})


def row_with_a_hole(story: Story) -> None:
    rows = list(story.writes[-1].status["runHistory"])
    rows[2] = {**rows[2], "count": 1}
    story.change_last(runHistory=rows)


def row_ahead_of_the_ledger(story: Story) -> None:
    story.writes[0] = replace(
        story.writes[0], status={**story.writes[0].status, "lastDecidedTime": f"{DAY}T12:00:10Z"}
    )


def run_slot_becomes_a_skip(story: Story) -> None:
    story.change_last(runHistory=[skip_row(6, 6, "Overlap"), *story.writes[-1].status["runHistory"][1:]])


def reason_changes(story: Story) -> None:
    rows = list(story.writes[-1].status["runHistory"])
    rows[3] = {**rows[3], "reason": "Coalesced"}
    story.change_last(runHistory=rows)


def slot_both_run_and_skipped_in_one_status(story: Story) -> None:
    story.change_last(runHistory=[skip_row(6, 6, "Overlap"), *story.writes[-1].status["runHistory"]])


def ended_run_is_active_again(story: Story) -> None:
    rows = list(story.writes[-1].status["runHistory"])
    rows[1] = {**rows[1], "outcome": "Active"}
    story.change_last(runHistory=rows)


def job_without_a_decision(story: Story) -> None:
    del story.writes[-2:]


def job_of_a_skipped_slot(story: Story) -> None:
    story.create(4, late=61)
    story.ended.append(JobEnded(uid="uid-of-backup-4", version=story.next_version(), outcome="Succeeded"))


def run_without_a_job(story: Story) -> None:
    del story.created[-1]


def success_that_was_a_failure(story: Story) -> None:
    story.ended[-1] = replace(story.ended[-1], outcome="Failed")


def end_of_a_job_that_runs(story: Story) -> None:
    del story.ended[-1]


def run_counted_twice(story: Story) -> None:
    counts = story.writes[-1].status["counts"]
    story.change_last(counts={**counts, "runs": 4, "skipped": {"Coalesced": 2}})


def failure_not_counted(story: Story) -> None:
    story.ended[-1] = replace(story.ended[-1], outcome="Failed")
    story.writes[-1].status["runHistory"][0]["outcome"] = "Failed"


def slot_decided_in_no_row(story: Story) -> None:
    for write in story.writes:
        write.status["runHistory"][:] = [
            r for r in write.status["runHistory"] if r.get("reason") != "Overlap"
        ]


def skip_of_another_policy(story: Story) -> None:
    story.schedule = replace(story.schedule, expected_skips=frozenset({"Coalesced"}))


def nothing_written_at_all(story: Story) -> None:
    story.writes.clear()
    story.created.clear()


FORGERIES: dict[Callable[[Story], None], str] = {
    second_job_after_the_first_was_deleted: "one job per slot",
    job_before_its_slot: "only due slots run",
    job_between_slots: "only due slots run",
    newer_slot_first: "oldest first",
    job_while_another_runs: "no overlap",
    job_beside_one_that_never_ends: "no overlap",
    later_than_staleness: "nothing too late",
    missed_run_under_skip: "nothing too late",
    job_within_a_suspension: "nothing runs while suspended",
    suspended_slot_made_up_for: "nothing runs while suspended",
    write_without_a_version: "every write is fenced",
    two_writes_over_one_version: "every write is fenced",
    ledger_back: "ledger moves forward",
    ledger_gone_for_a_while: "ledger moves forward",
    totals_fall: "totals only grow",
    slot_uncounted: "every slot is counted",
    row_with_a_hole: "rows say what they count",
    row_ahead_of_the_ledger: "rows say what they count",
    run_slot_becomes_a_skip: "decisions are final",
    reason_changes: "decisions are final",
    slot_both_run_and_skipped_in_one_status: "decisions are final",
    ended_run_is_active_again: "outcomes are final",
    job_without_a_decision: "ledger and jobs agree",
    job_of_a_skipped_slot: "ledger and jobs agree",
    run_without_a_job: "ledger and jobs agree",
    success_that_was_a_failure: "outcomes are true",
    end_of_a_job_that_runs: "outcomes are true",
    run_counted_twice: "runs are counted",
    failure_not_counted: "runs are counted",
    slot_decided_in_no_row: "nothing is silent",
    skip_of_another_policy: "skips are of the policy",
    nothing_written_at_all: "nothing is silent",
}


@pytest.mark.parametrize(("forge", "rule"), FORGERIES.items(), ids=[forge.__name__ for forge in FORGERIES])
def test_is_a_forged_record_found(forge: Callable[[Story], None], rule: str) -> None:
    story = sound_story()
    forge(story)
    assert rule in broken_rules(story)


def test_has_every_rule_a_forgery_that_it_finds() -> None:
    assert {rule.__name__.replace("_", " ") for rule in RULES} == set(FORGERIES.values())


def test_is_a_ledger_that_ends_before_the_end_found() -> None:
    assert broken_rules(sound_story(), until=7) == {"nothing is silent"}


@pytest.mark.parametrize(("waiting", "broken"), [(2, set()), (1, {"nothing is silent"})])
def test_may_slots_wait_at_the_end_if_the_status_says_how_many(waiting: int, broken: set[str]) -> None:
    story = sound_story()
    story.change_last(backlog={"waiting": waiting, "oldest": text(7)})
    assert broken_rules(story, until=8) == broken


def test_are_jobs_counted_whose_creator_was_killed_before_it_recorded_them() -> None:
    story = sound_story()
    created = story.created[1].at
    story.writes[3] = replace(story.writes[3], at=created + 30)
    assert totals(replace(story.evidence(6), kills=[created + 10])).orphans == 1
    assert totals(replace(story.evidence(6), kills=[created - 10, created + 40])).orphans == 0


@pytest.mark.parametrize(
    "suspended",
    [
        pytest.param((at(5, 58), at(6, 30)), id="seen-too-late-for-this-slot"),
        pytest.param((at(5, 58), at(6, 0)), id="too-short-to-be-surely-seen"),
        pytest.param((at(5, 10), at(5, 50)), id="between-slots"),
    ],
)
def test_may_a_job_be_created_before_the_suspension_can_be_known(suspended: tuple[int, int]) -> None:
    story = sound_story()
    story.schedule = replace(story.schedule, suspended=(suspended,))
    assert judge(story.evidence(6)) == []


def test_are_the_slots_within_suspensions_counted() -> None:
    story = sound_story()
    story.schedule = replace(story.schedule, suspended=((at(1, 50), at(3, 30)), (at(5, 59), at(6))))
    assert totals(story.evidence(6)).suspended == 2


def test_may_runs_overlap_under_allow() -> None:
    story = sound_story(concurrency="Allow")
    job_while_another_runs(story)
    assert judge(story.evidence(6)) == []


def test_is_a_run_replaced_when_its_job_was_deleted() -> None:
    story = Story(schedule("FireOnce", "Replace"))
    story.create(1)
    story.write(status(1, run_row(1, "Active")))
    story.end(1, "Deleted")
    story.create(2)
    story.write(status(2, run_row(2, "Active"), run_row(1, "Replaced")))
    assert judge(story.evidence(2)) == []


def test_is_a_row_about_a_lost_ledger_about_no_slot() -> None:
    story = sound_story()
    lost = {"scheduledTime": text(6), "outcome": "Skipped", "reason": "LedgerLost", "count": 0}
    story.change_last(runHistory=[lost, *story.writes[-1].status["runHistory"]])
    assert judge(story.evidence(6)) == []


def test_are_many_violations_of_one_kind_told_in_short() -> None:
    story = sound_story()
    story.created = [replace(job, at=job.slot - 5.0 - n) for job in story.created for n in range(9)]
    found = [v for v in judge(story.evidence(6)) if v.rule == "only due slots run"]
    assert len(found) == 6
    assert found[-1].text == "… and 22 more like these"
    assert all(v.schedule == "tenant/backup" for v in found)
