"""The CronSchedule resource as users write and read it: the one source of the CRD and of `kubectl explain`.

    CronScheduleSpec     schedule, time_zone, misfire_policy, max_staleness, catch_up, concurrency_policy, suspend,
                         successful_jobs_history_limit, failed_jobs_history_limit, run_history_limit, job_template
    CatchUp              max_runs, max_age, max_concurrent
    JobTemplate          metadata (TemplateMetadata: labels, annotations), spec (a batch/v1 JobSpec, a dict)
    CronScheduleStatus   observed_generation, conditions, schedule, last_decided_time, last_schedule_time,
                         last_successful_time, last_failure_time, next_schedule_time, active_runs, backlog,
                         truncated, suspension, counts, run_history, decided_slots
    Condition, ScheduleText, Backlog, Truncation, Suspension, Counts, Row, StandsFor, Segment: its parts

In Python durations are whole seconds and instants Unix seconds in UTC, in JSON `1h30m` (the only form that a
user may write) and RFC 3339 with `Z`: see `shapes`, which also has `parse_duration`, `parse_time` and `dump`,
which gives the JSON. Attributes are snake_case, JSON keys camelCase. All is frozen. What users wrote is
read by `mistakes.read_spec`, which never raises.
Every description is shown to users. What the cron text and the zone mean is not known here: see `core`.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, ValidationInfo, field_validator

from cronschedule.api.shapes import Instant, LongMessage, Message, Shape, Total, Window, Word, is_empty

MisfirePolicy = Literal["FireOnce", "Skip", "CatchUp"]
ConcurrencyPolicy = Literal["Allow", "Forbid", "Replace"]
Trigger = Literal["Schedule", "CatchUp", "Manual", "Backfill"]
Outcome = Literal["Active", "Succeeded", "Failed", "Replaced", "Deleted", "Skipped"]

TEMPLATE_RESTART_POLICIES = ("Never", "OnFailure")
KeptJobs = Annotated[StrictInt, Field(ge=0, le=100)]
LabelValue = Annotated[str, Field(max_length=63)]
AnnotationValue = Annotated[str, Field(max_length=262144)]


class CatchUp(Shape):
    """How missed slots are worked off under misfirePolicy CatchUp.

    There is a backlog while the oldest due slot is a missed one; the bounds apply each time it is looked at.
    """

    max_runs: StrictInt = Field(
        100,
        ge=1,
        le=100,
        description="The most slots that a backlog may hold, from 1 to 100; default 100. Older ones are"
        " dropped as CatchUpCapExceeded, which raises an alert and sets the condition BacklogTruncated.",
    )
    max_age: Window = Field(
        86400,
        description="How old a slot of the backlog may be, as hours, minutes and seconds such as 6h or"
        " 1h30m, from 1m to 24h; default 24h. Older slots are dropped as CatchUpCapExceeded, which raises"
        " an alert. The cut-off maxStaleness holds as well, and the shorter of the two decides.",
    )
    max_concurrent: StrictInt = Field(
        1,
        ge=1,
        le=10,
        description="How many catch-up runs of this schedule may be active at a time, from 1 to 10; default"
        " 1, which runs them one after another, oldest first. More than 1 takes effect only with"
        " concurrencyPolicy Allow.",
    )


class TemplateMetadata(Shape):
    """Labels and annotations of the Jobs. The CronSchedule's own are never copied."""

    labels: dict[str, LabelValue] = Field(
        default_factory=dict,
        max_length=100,
        description="Labels that every Job gets, queue labels included. Keys of cronschedule.dev are the"
        " operator's.",
    )
    annotations: dict[str, AnnotationValue] = Field(
        default_factory=dict,
        max_length=100,
        description="Annotations that every Job gets. Keys of cronschedule.dev are the operator's.",
    )


class JobTemplate(Shape):
    """What a run is: the Job that is created for a slot."""

    metadata: TemplateMetadata = Field(
        default_factory=TemplateMetadata, description="Labels and annotations of the Jobs."
    )
    spec: dict[str, Any] = Field(
        description="The specification of the Jobs: a batch/v1 JobSpec, as in `kubectl explain job.spec`."
        " The pod's restartPolicy must be Never or OnFailure, and selector and manualSelector are refused."
        ' Quantities that are fractions are written as text, such as "0.5" or 500m.'
        " Finished Jobs are deleted by ttlSecondsAfterFinished and by the history limits, after the run is"
        " recorded."
    )

    @field_validator("spec")
    @classmethod
    def _can_be_scheduled(cls, spec: dict[str, Any]) -> dict[str, Any]:
        for key in ("selector", "manualSelector"):
            if spec.get(key) is not None:
                raise ValueError(f"{key} is not allowed: every Job gets a selector of its own")
        template = spec.get("template") or {}
        pod = template.get("spec") or {} if isinstance(template, dict) else template
        if not isinstance(pod, dict):
            raise ValueError(f"template.spec cannot be read: {pod!r} is not a mapping of keys to values")
        policy = pod.get("restartPolicy")
        if pod and policy not in TEMPLATE_RESTART_POLICIES:
            told = "missing" if policy is None else repr(policy)
            raise ValueError(f"template.spec.restartPolicy is {told}: Never and OnFailure are allowed")
        return spec


class CronScheduleSpec(Shape):
    """When to run, what to run, and what becomes of runs that were missed.

    Every slot (a moment at which the schedule says "run") gets exactly one decision: a Job or a skip.
    """

    schedule: str = Field(
        max_length=100,
        description="When to run, as five cron fields: minute (0-59), hour (0-23), day of month (1-31),"
        " month (1-12 or jan-dec), day of week (0-7 or sun-sat; 0 and 7 are Sunday). Each is `*` or a list"
        " of numbers, ranges (9-17) and steps (*/15, 8-18/2). Or one of @hourly, @daily, @midnight,"
        " @weekly, @monthly, @yearly, @annually. If neither day field begins with `*` a day matches when"
        " either does, else both must. At most 100 characters. The time zone goes into timeZone. An edit"
        " counts from when it is seen; earlier slots are not made up.",
    )
    time_zone: str = Field(
        "Etc/UTC",
        max_length=64,
        description="The time zone of the schedule, as a name of the IANA database such as Europe/Berlin;"
        " default Etc/UTC. Where clocks go forward, times of day that do not exist run once, at the first"
        " moment after the gap; where they go back, times of day that come twice run once. Schedules with"
        " `*` in the minute or hour follow real time instead.",
    )
    misfire_policy: MisfirePolicy = Field(
        "FireOnce",
        description="What becomes of slots that were missed, because the operator was down or something"
        " held them up. FireOnce, the default, runs the newest one and lets it stand for the older ones."
        " Skip runs none of them and waits for the next slot. CatchUp runs each of them, oldest first,"
        " within the bounds of catchUp. Slots that pass while suspended are skipped under every policy."
        " Each slot that does not run is recorded with its reason.",
    )
    max_staleness: Window = Field(
        3600,
        description="How late a run may still start, as hours, minutes and seconds in this order, such as"
        " 90s, 30m or 1h30m, from 1m to 24h; default 1h. A slot later than that is skipped as Stale,"
        " whatever the policy. It is checked at the last moment before the Job is created.",
    )
    catch_up: CatchUp = Field(
        default_factory=CatchUp,
        description="The bounds of catching up. It is allowed only with misfirePolicy CatchUp.",
    )
    concurrency_policy: ConcurrencyPolicy = Field(
        "Forbid",
        description="What to do with a slot while a run of this schedule is active, whatever started that"
        " run. Forbid, the default, skips the slot as Overlap; under CatchUp it waits its turn instead."
        " Allow starts it next to the others. Replace deletes the active runs' Jobs first; it is not"
        " allowed with misfirePolicy CatchUp.",
    )
    suspend: StrictBool = Field(
        False,
        description="Whether this schedule is suspended; default false. While it is, no run starts, active"
        " runs finish, and every slot that passes is skipped as ScheduleSuspended. Nothing is made up on"
        " resumption. A label on the namespace suspends all of its schedules in the same way without an"
        " edit here.",
    )
    successful_jobs_history_limit: KeptJobs = Field(
        3,
        description="How many Jobs that succeeded are kept, from 0 to 100; default 3. The oldest are"
        " deleted once their run is recorded in status.",
    )
    failed_jobs_history_limit: KeptJobs = Field(
        1,
        description="How many Jobs that failed are kept, from 0 to 100; default 1. The oldest are deleted"
        " once their run is recorded in status.",
    )
    run_history_limit: StrictInt = Field(
        50,
        ge=1,
        le=200,
        description="How many rows status.runHistory keeps, from 1 to 200; default 50. The oldest rows fall"
        " off, those of active runs never; status.counts goes on counting what fell off. Fewer are kept when"
        " long messages would make the status larger than 64 KiB.",
    )
    job_template: JobTemplate = Field(
        description="The Job that is created for a slot. An edit applies to slots that are not decided yet."
    )

    @field_validator("catch_up")
    @classmethod
    def _only_when_catching_up(cls, catch_up: CatchUp, info: ValidationInfo) -> CatchUp:
        policy = info.data.get("misfire_policy", "CatchUp")
        if policy != "CatchUp":
            raise ValueError(f"is allowed only with misfirePolicy CatchUp, and misfirePolicy is {policy}")
        return catch_up

    @field_validator("concurrency_policy")
    @classmethod
    def _order_is_kept(cls, policy: ConcurrencyPolicy, info: ValidationInfo) -> ConcurrencyPolicy:
        if policy == "Replace" and info.data.get("misfire_policy") == "CatchUp":
            raise ValueError("Replace is not allowed with misfirePolicy CatchUp: use Forbid or Allow")
        return policy


class Condition(Shape):
    """One statement about the schedule; the list holds one per type."""

    type: Word = Field(description="What is stated, such as Ready or Suspended.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it is so.")
    observed_generation: int = Field(0, description="The metadata.generation that this was said about.")
    last_transition_time: Instant = Field(description="When status last changed.")
    reason: Word = Field(description="Why, in one word of the catalogue of reasons.")
    message: LongMessage = Field("", description="Why, in a sentence.")


class ScheduleText(Shape):
    """The schedule and time zone that the decisions so far were made for."""

    expression: Annotated[str, Field(max_length=100)] = Field(description="The text of spec.schedule.")
    time_zone: Annotated[str, Field(max_length=64)] = Field(description="The text of spec.timeZone.")


class Backlog(Shape):
    """Slots that are due and wait for their turn under CatchUp."""

    waiting: Total = Field(0, description="How many slots wait.")
    oldest: Instant | None = Field(None, description="The oldest slot that waits.")
    since: Instant | None = Field(None, description="When the operator first saw this backlog.")
    at_first: Total | None = Field(None, description="How many slots waited then.")
    done: Total | None = Field(None, description="How many of its slots have been run.")
    through: Instant | None = Field(
        None,
        description="When nothing will wait any more if it goes on as it did since the backlog was first seen,"
        " new slots included. Told anew with every decision; absent while the backlog does not shrink.",
    )


class Suspension(Shape):
    """Present while the schedule or its namespace is suspended."""

    since: Instant = Field(description="Slots after this moment are skipped with this reason.")
    reason: Word = Field(
        description="TenantSuspended (a label of the namespace) or ScheduleSuspended (spec.suspend)."
    )
    message: Message = Field("", description="What suspends it, with the label and the namespace.")


class Counts(Shape):
    """Totals since creation. Rows of runHistory fall off, totals do not: slots decided = runs + skips."""

    runs: Total = Field(0, description="How many slots got a Job.")
    succeeded: Total = Field(0, description="How many runs succeeded.")
    failed: Total = Field(0, description="How many runs failed.")
    manual: Total = Field(
        0,
        description="How many runs people started by hand. They are for no slot and are counted here alone.",
    )
    backfilled: Total = Field(
        0,
        description="How many slots that were skipped have been run by a Backfill since. They stay counted as"
        " skipped.",
    )
    skipped: dict[str, Total] = Field(
        default_factory=dict,
        max_length=64,
        exclude_if=is_empty,
        description="How many slots were skipped, by reason.",
    )


class StandsFor(Shape):
    """The slots that one run stands for, itself included."""

    count: Total = Field(description="How many slots.")
    first: Instant = Field(description="The oldest of them.")


class Row(Shape):
    """One run, or one or more adjacent slots that were skipped for the same reason."""

    scheduled_time: Instant = Field(description="The slot; of several, the newest.")
    outcome: Word = Field(description="Active, Succeeded, Failed, Replaced, Deleted or Skipped.")
    job: Annotated[str, Field(max_length=253)] | None = Field(None, description="The name of the run's Job.")
    trigger: Word | None = Field(
        None, description="What started the run: Schedule, CatchUp, Manual or Backfill."
    )
    start_time: Instant | None = Field(None, description="When the run's Job started.")
    completion_time: Instant | None = Field(None, description="When the run ended.")
    stands_for: StandsFor | None = Field(
        None, description="Present when the run stands for older slots as well."
    )
    reason: Word | None = Field(None, description="Why it was skipped, or why the run failed.")
    message: Message | None = Field(None, description="Why, in a sentence.")
    count: Total | None = Field(None, description="How many slots the row is about; absent means one.")
    first_scheduled_time: Instant | None = Field(None, description="The oldest slot of a row about several.")


class Segment(Shape):
    """A stretch of slots with one fate."""

    first: Instant = Field(description="The oldest of the slots.")
    last: Instant = Field(description="The newest of them.")
    count: Total = Field(description="How many they are.")
    fate: Word = Field(description="What became of them.")


class Truncation(Shape):
    """What the caps of catchUp dropped and nobody has run or acknowledged since."""

    first: Instant = Field(description="The oldest slot that was dropped.")
    last: Instant = Field(description="The newest.")
    count: Total = Field(description="How many were dropped.")


class CronScheduleStatus(Shape):
    """What the operator has decided and seen. Only the operator writes it."""

    observed_generation: int = Field(
        -1,
        description="The metadata.generation that this status is about; -1 before the operator has seen the"
        " object.",
    )
    conditions: tuple[Condition, ...] = Field(
        (),
        max_length=16,
        description="Ready (accepted and being scheduled; a suspended schedule is ready too), Stalled,"
        " Suspended, CatchingUp, BacklogTruncated, LastRunSucceeded.",
    )
    schedule: ScheduleText | None = Field(None, description="The schedule that the decisions were made for.")
    last_decided_time: Instant | None = Field(
        None, description="Every slot up to this moment has its decision."
    )
    last_schedule_time: Instant | None = Field(None, description="The newest slot that ran.")
    last_successful_time: Instant | None = Field(None, description="When a run last succeeded.")
    last_failure_time: Instant | None = Field(None, description="When a run last failed.")
    next_schedule_time: Instant | None = Field(
        None, description="The next slot; absent while the schedule is suspended or invalid."
    )
    active_runs: Total = Field(0, description="How many runs are active.")
    backlog: Backlog | None = Field(None, description="Slots that wait; absent when none does.")
    truncated: Truncation | None = Field(
        None,
        description="What the caps of catchUp dropped; absent once a Backfill has run it or somebody has"
        " acknowledged it.",
    )
    suspension: Suspension | None = Field(None, description="Since when and why the schedule is suspended.")
    counts: Counts = Field(default_factory=Counts, description="Totals since creation.")
    run_history: tuple[Row, ...] = Field(
        (), max_length=1000, exclude_if=is_empty, description="Runs and skips, newest first."
    )
    decided_slots: tuple[Segment, ...] = Field(
        (),
        max_length=64,
        exclude_if=is_empty,
        description="What became of the slots of the current schedule, in short, oldest first: Run, Skipped,"
        " Suspended, or Mixed where that is not known slot by slot any more. A Backfill goes by it.",
    )
