"""Argo CD's Lua, run in Lua: what a user of Argo CD sees of a CronSchedule."""

from typing import Any

import pytest

from fakes.argocd import run


def schedule(*conditions: tuple[str, str, str], observed: int = 2, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cronschedule.dev/v1alpha1",
        "kind": "CronSchedule",
        "metadata": {"name": "billing", "namespace": "team-a", "uid": "u-1", "generation": 2},
        "spec": {
            "suspend": False,
            "jobTemplate": {
                "metadata": {"labels": {"queue": "slow"}},
                "spec": {"ttlSecondsAfterFinished": 60, "template": {"spec": {"restartPolicy": "Never"}}},
            },
        },
        "status": {
            "observedGeneration": observed,
            "conditions": [{"type": t, "status": s, "message": m} for t, s, m in conditions],
            **status,
        },
    }


READY = ("Ready", "True", "Accepted and being scheduled.")


@pytest.mark.parametrize(
    ("seen", "health", "message"),
    [
        pytest.param(
            schedule(observed=-1), "Progressing", "Waiting for the operator", id="nobody has seen it"
        ),
        pytest.param(
            schedule(READY, observed=1),
            "Progressing",
            "Waiting for the operator",
            id="an edit is not seen yet",
        ),
        pytest.param(
            schedule(READY, nextScheduleTime="2026-03-03T09:00:00Z"),
            "Healthy",
            "Next run at 2026-03-03T09:00:00Z",
            id="being scheduled",
        ),
        pytest.param(
            schedule(READY, ("Suspended", "True", "spec.suspend is true.")),
            "Healthy",
            "Suspended: spec.suspend is true.",
            id="suspended is healthy",
        ),
        pytest.param(
            schedule(
                READY,
                ("Suspended", "False", ""),
                ("LastRunSucceeded", "False", "billing-1 failed: DeadlineExceeded"),
            ),
            "Healthy",
            "billing-1 failed: DeadlineExceeded",
            id="a failed run is healthy and said",
        ),
        pytest.param(
            schedule(("Ready", "False", "hour: '24'"), ("Stalled", "True", "hour: '24' is not allowed")),
            "Degraded",
            "hour: '24' is not allowed",
            id="a person is needed",
        ),
        pytest.param(
            schedule(("Ready", "False", "not yet")), "Progressing", "not yet", id="not ready, not stalled"
        ),
    ],
)
def test_what_is_its_health(seen: dict[str, Any], health: str, message: str) -> None:
    told = run("health.lua", seen)
    assert told["status"] == health
    assert told["message"].startswith(message)


def test_an_object_without_status_is_progressing() -> None:
    seen = schedule()
    del seen["status"]
    assert run("health.lua", seen)["status"] == "Progressing"


def test_suspend_and_resume_change_nothing_but_the_one_field() -> None:
    before = schedule(READY)
    suspended = run("actions/suspend/action.lua", before)
    assert suspended["spec"]["suspend"] is True
    assert run("actions/resume/action.lua", suspended)["spec"] == before["spec"]


def test_which_actions_are_offered() -> None:
    running, suspended = schedule(READY), schedule(READY)
    suspended["spec"]["suspend"] = True
    offered = {name: not told["disabled"] for name, told in run("actions/discovery.lua", running).items()}
    assert offered == {"suspend": True, "resume": False, "trigger": True}
    offered = {name: not told["disabled"] for name, told in run("actions/discovery.lua", suspended).items()}
    assert offered == {"suspend": False, "resume": True, "trigger": False}


def test_trigger_creates_a_job_that_the_operator_takes_for_a_manual_run() -> None:
    from cronschedule.core.jobs import read_job

    (made,) = run("actions/trigger/action.lua", schedule(READY))
    assert made["operation"] == "create"
    job = made["resource"]
    assert job["metadata"]["labels"]["queue"] == "slow"
    assert "ttlSecondsAfterFinished" not in job["spec"]
    job["metadata"] |= {"uid": "j-1", "resourceVersion": "1", "creationTimestamp": "2026-03-03T09:00:00Z"}
    seen = read_job(job)
    assert (seen.owner_uid, seen.trigger, seen.slot) == ("u-1", "Manual", None)
    assert len(seen.name) <= 63
