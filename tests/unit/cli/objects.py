"""Objects of a cluster, as kubectl shows them."""

JOB_SPEC = {
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
}


def schedule(name="billing", namespace="default", *, status=None, metadata=None, **spec):
    """A CronSchedule that an operator has seen."""
    given = {"schedule": "0 * * * *", "timeZone": "Europe/Berlin", "jobTemplate": {"spec": JOB_SPEC}, **spec}
    text = {"expression": given["schedule"], "timeZone": given["timeZone"]}
    return {
        "apiVersion": "cronschedule.dev/v1alpha1",
        "kind": "CronSchedule",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "creationTimestamp": "2025-11-29T12:00:00Z",
            **(metadata or {}),
        },
        "spec": given,
        "status": {
            "observedGeneration": 1,
            "schedule": text,
            "lastDecidedTime": "2025-11-30T12:00:00Z",
            "nextScheduleTime": "2025-11-30T13:00:00Z",
            "conditions": [condition("Ready", "True", "Scheduled", "Accepted and being scheduled.")],
            **(status or {}),
        },
    }


def condition(kind, status, reason, message):
    when = "2025-11-29T12:00:00Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": when}


def run(slot, outcome="Succeeded", **more):
    """A row about a run that started on time and took ten minutes."""
    ended = {} if outcome == "Active" else {"completionTime": slot.replace(":00:00Z", ":10:00Z")}
    job = f"billing-{slot[11:13]}"
    return {
        "scheduledTime": slot,
        "outcome": outcome,
        "job": job,
        "trigger": "Schedule",
        "startTime": slot,
        **ended,
        **more,
    }


def skip(slot, reason, message="", **more):
    return {"scheduledTime": slot, "outcome": "Skipped", "reason": reason, "message": message, **more}


def suspension(reason="TenantSuspended", since="2025-11-30T09:30:00Z", message=""):
    return {"suspension": {"since": since, "reason": reason, "message": message}, "nextScheduleTime": None}


def job(name, *, owner="billing", namespace="default", finished=None):
    status = {"startTime": "2025-11-30T11:00:00Z"}
    if finished is not None:
        status["conditions"] = [
            {"type": finished, "status": "True", "lastTransitionTime": "2025-11-30T11:10:00Z"}
        ]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "creationTimestamp": "2025-11-30T11:00:00Z",
            "labels": {"cronschedule.dev/schedule": owner, "cronschedule.dev/trigger": "Schedule"},
            "ownerReferences": [{"kind": "CronSchedule", "name": owner, "uid": f"uid-{owner}"}],
        },
        "spec": JOB_SPEC,
        "status": status,
    }


def namespace(name="default", **labels):
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}
