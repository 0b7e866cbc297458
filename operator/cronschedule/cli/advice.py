"""What rule is behind a reason, and what to change if its effect was not wanted. One entry per reason."""

from dataclasses import dataclass

from cronschedule.api.reasons import SkipReason


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """Two sentences, and where the rule stands in docs/rules.md."""

    rule: str
    change: str


ADVICE: dict[SkipReason, Advice] = {
    SkipReason.COALESCED: Advice(
        rule="Under misfirePolicy FireOnce the newest due slot runs once and stands for all older ones; its Job"
        " is told their number, the first and the last.",
        change="To run every missed slot, oldest first, set misfirePolicy: CatchUp.",
    ),
    SkipReason.MISFIRE: Advice(
        rule="Under misfirePolicy Skip a slot runs on time or never: late by no more than the operator's"
        " misfireThreshold, and before the next slot comes due.",
        change="To make up for missed slots set misfirePolicy: FireOnce (once for all) or CatchUp (each of them).",
    ),
    SkipReason.STALE: Advice(
        rule="No run may start later than maxStaleness after its slot, whatever the policy; this is asked at the"
        " last moment before the Job is created.",
        change="If a run that late is still of use, raise maxStaleness (at most 24h).",
    ),
    SkipReason.CATCH_UP_CAP_EXCEEDED: Advice(
        rule="Under misfirePolicy CatchUp a backlog holds no more than catchUp.maxRuns slots, none older than"
        " catchUp.maxAge; what is beyond is dropped, oldest first.",
        change="Raise catchUp.maxRuns (at most 100) or catchUp.maxAge (at most 24h), or let runs go side by side:"
        " concurrencyPolicy: Allow with a higher catchUp.maxConcurrent.",
    ),
    SkipReason.OVERLAP: Advice(
        rule="Under concurrencyPolicy Forbid a slot is skipped for good while a run of the schedule is active,"
        " whatever started that run.",
        change="Let runs overlap (concurrencyPolicy: Allow), end the old run instead (Replace), let slots wait their"
        " turn (misfirePolicy: CatchUp), or bound the runs with activeDeadlineSeconds.",
    ),
    SkipReason.TENANT_SUSPENDED: Advice(
        rule="While the namespace carries the suspension label nothing of it runs, and what passed meanwhile is"
        " never made up for.",
        change="Take the label off the namespace; for work that is missing, run it with"
        " `kubectl cronschedule trigger`.",
    ),
    SkipReason.SCHEDULE_SUSPENDED: Advice(
        rule="While spec.suspend is true the schedule does not run, and what passed meanwhile is never made up for.",
        change="Resume it with `kubectl cronschedule resume`; for work that is missing, run it with"
        " `kubectl cronschedule trigger`.",
    ),
    SkipReason.QUOTA_EXHAUSTED: Advice(
        rule="A Job that a ResourceQuota of the namespace has no room for is skipped; under misfirePolicy CatchUp it"
        " waits, and is tried again until it is too late.",
        change="Raise the quota, keep fewer finished Jobs (successfulJobsHistoryLimit, failedJobsHistoryLimit), or"
        " let slots wait: misfirePolicy: CatchUp.",
    ),
    SkipReason.JOB_REJECTED: Advice(
        rule="A Job that the API server finds invalid, or that an admission policy or webhook denies, cannot be made"
        " to pass by trying again.",
        change="Correct spec.jobTemplate by what the message says, or the policy; `kubectl cronschedule check` finds"
        " many such mistakes beforehand.",
    ),
    SkipReason.NAME_CONFLICT: Advice(
        rule="A run's Job is named after schedule and slot; an object of that name that is not this schedule's is"
        " never taken over.",
        change="Delete or rename the other object. A CronJob of the same name makes such Jobs: delete it.",
    ),
    SkipReason.CREATE_FAILED: Advice(
        rule="A Job that could not be created for a reason that may pass is tried again, at most a minute apart,"
        " until it is too late or its next slot is due.",
        change="The message has the last error: permissions of the operator, a webhook that does not answer, or an"
        " API server in trouble. To be patient longer, raise maxStaleness.",
    ),
    SkipReason.SCHEDULE_CHANGED: Advice(
        rule="An edit of schedule or timeZone takes effect when the operator sees it; slots of the old text that were"
        " not decided by then are dropped.",
        change="Nothing; if the run is missing, start it with `kubectl cronschedule trigger`.",
    ),
    SkipReason.LEDGER_LOST: Advice(
        rule="The record of what had been decided was gone from the status, so the operator went on from the newest"
        " Job, or from now. It never replays what may have run.",
        change="Restore backups with status, and let nothing but the operator write it.",
    ),
}
