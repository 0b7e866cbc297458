"""Names and marks that users see on the cluster."""

GROUP = "cronschedule.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "CronSchedule"
PLURAL = "cronschedules"
BACKFILL_KIND = "Backfill"
BACKFILL_PLURAL = "backfills"

OPERATOR = "cronschedule-operator"
"""Field manager, user agent and reporting controller."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "cronschedule"
OUR_JOBS = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
"""Label selector."""
SCHEDULE_LABEL = f"{GROUP}/schedule"
TRIGGER_LABEL = f"{GROUP}/trigger"
SUSPENDED_LABEL = f"{GROUP}/suspended"

SCHEDULED_FOR = f"{GROUP}/scheduled-for"
"""Annotation on Jobs and pods: the slot, RFC 3339 in UTC."""
BUILT_IN_SCHEDULED_FOR = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""The same under the built-in CronJob's key, for tools that read it."""
COALESCED_COUNT = f"{GROUP}/coalesced-count"
COALESCED_FIRST = f"{GROUP}/coalesced-first"
"""Annotations on a Job that stands for more slots than its own: how many, and the oldest."""
TTL_AFTER_FINISHED = f"{GROUP}/ttl-seconds-after-finished"
"""Annotation on Jobs: the template's ttlSecondsAfterFinished, which the operator carries out itself
(`semantics.md §4`)."""

TRIGGER_REASON = f"{GROUP}/trigger-reason"
"""Annotation on a Job that a person started: why, in their words."""

BACKFILL = f"{GROUP}/backfill"
"""Annotation on a Job that a Backfill made: its UID."""
ACKNOWLEDGED = f"{GROUP}/acknowledged-until"
"""Annotation that people put on a CronSchedule: what the caps dropped up to this moment is known (RFC 3339)."""

ADOPTED_AT = f"{GROUP}/adopted-at"
"""Annotation on a CronSchedule the operator has taken up (`semantics.md §6`, lost ledger)."""

LONGEST_NAME = 52
"""Longest CronSchedule name: a Job's name may have 63 characters, and 11 are for the slot."""


def job_name(schedule: str, slot: int) -> str:
    """The name of the Job of a slot (UTC seconds): the lock against a second one (`semantics.md §4`)."""
    return f"{schedule}-{slot // 60}"


def backfill_command(namespace: str, schedule: str, first: str, last: str) -> str:
    """What to type to run the slots of a range (RFC 3339) after all."""
    return f"kubectl cronschedule backfill {schedule} --namespace {namespace} --from {first} --to {last}"
