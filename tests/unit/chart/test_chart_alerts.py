"""Do the alerts fire when they should, and only then? Does each query ask for something that is exported?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from helm.program import CHART
from promtool import promtool
from reference.metrics import families, sample_names

ALERTS = CHART / "files" / "alerts.yaml"
DOCS = CHART.parents[1] / "docs"
RULES = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
BOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
QUERIES = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
REPLICA = 'instance="a"'
FINE = {
    "cronschedule_build_info": "1x90",
    "cronschedule_leader": "1x90",
    "cronschedule_last_turn_timestamp_seconds": "0+60x90",
    "cronschedule_audit_last_success_timestamp_seconds": "0+60x90",
    "cronschedule_watch_last_heard_timestamp_seconds": "0+60x90",
    'cronschedule_loop_lag_seconds_bucket{le="0.005"}': "0+60x90",
    'cronschedule_loop_lag_seconds_bucket{le="10.0"}': "0+60x90",
    'cronschedule_loop_lag_seconds_bucket{le="+Inf"}': "0+60x90",
    'cronschedule_api_requests_total{verb="GET",code="200"}': "0+600x90",
    'cronschedule_api_requests_total{verb="GET",code="500"}': "0x90",
    'cronschedule_events_total{result="dropped"}': "0x90",
    'cronschedule_alerts_total{result="dropped"}': "0x90",
    'cronschedule_run_start_delay_seconds_bucket{trigger="Schedule",le="1.0"}': "0+60x90",
    'cronschedule_run_start_delay_seconds_bucket{trigger="Schedule",le="300.0"}': "0+60x90",
    'cronschedule_run_start_delay_seconds_bucket{trigger="Schedule",le="+Inf"}': "0+60x90",
    'cronschedule_decisions_total{decision="Run",reason="Schedule"}': "0+60x90",
    'cronschedule_decisions_total{decision="Skipped",reason="Coalesced"}': "0+5x90",
    'cronschedule_decisions_total{decision="Skipped",reason="Stale"}': "0x90",
    'cronschedule_decisions_total{decision="Skipped",reason="JobRejected"}': "0x90",
    "cronschedule_schedules_truncated": "0x90",
    'cronschedule_schedules{state="Scheduled"}': "9x90",
    'cronschedule_schedules{state="NotReady"}': "0x90",
}
"""An hour and a half of a cluster where all is well, a sample each minute."""

WRONG: dict[str, dict[str, str]] = {
    "CronScheduleOperatorAbsent": {"cronschedule_build_info": "1x30 stale"},
    "CronScheduleNoLeader": {"cronschedule_leader": "1x30 0x60"},
    "CronScheduleSeveralLeaders": {'cronschedule_leader{pod="b"}': "0x30 1x60"},
    "CronScheduleLoopStands": {"cronschedule_last_turn_timestamp_seconds": "0+60x30 1800x60"},
    "CronScheduleLoopLags": {'cronschedule_loop_lag_seconds_bucket{le="0.005"}': "0x90"},
    "CronScheduleAuditStale": {"cronschedule_audit_last_success_timestamp_seconds": "0+60x30 1800x60"},
    "CronScheduleWatchSilent": {"cronschedule_watch_last_heard_timestamp_seconds": "0+60x30 1800x60"},
    "CronScheduleApiErrors": {'cronschedule_api_requests_total{verb="GET",code="500"}': "0+300x90"},
    "CronScheduleEventsDropped": {'cronschedule_events_total{result="dropped"}': "0+1x90"},
    "CronScheduleAlertsUndelivered": {'cronschedule_alerts_total{result="dropped"}': "0x50 1x40"},
    "CronScheduleRunsLate": {
        'cronschedule_run_start_delay_seconds_bucket{trigger="Schedule",le="1.0"}': "0+50x90"
    },
    "CronScheduleSlotsLost": {'cronschedule_decisions_total{decision="Skipped",reason="Stale"}': "0x50 3x40"},
    "CronScheduleJobsRefused": {
        'cronschedule_decisions_total{decision="Skipped",reason="JobRejected"}': "0x50 1x40"
    },
    "CronScheduleBacklogTruncated": {"cronschedule_schedules_truncated": "0x30 2x60"},
    "CronScheduleBacklogOld": {"cronschedule_backlog_oldest_timestamp_seconds": "-30000x90"},
    "CronScheduleNotReady": {'cronschedule_schedules{state="NotReady"}': "0x30 1x60"},
}
"""What is different when something is wrong, by the alert that shall tell."""


def names_in(query: str) -> set[str]:
    return set(re.findall(r"\b(?:cronschedule|process)_[a-z_]+", query))


@pytest.fixture(scope="module")
def exported() -> set[str]:
    ours = {name for family in families(per_schedule=True) for name in sample_names(family)}
    return ours | {"process_resident_memory_bytes", "process_cpu_seconds_total"}


@pytest.mark.parametrize("query", [*(rule["expr"] for rule in RULES), *QUERIES])
def test_does_every_query_ask_for_what_is_exported(query: str, exported: set[str]) -> None:
    assert names_in(query)
    assert names_in(query) <= exported


def test_does_every_alert_have_its_page() -> None:
    headings = re.findall(r"^## (CronSchedule[A-Za-z]+)$", (DOCS / "alerts.md").read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in RULES]


def test_is_every_alert_tried() -> None:
    assert list(WRONG) == [rule["alert"] for rule in RULES]


def test_are_the_rules_and_the_dashboards_queries_well_formed(tmp_path: Path) -> None:
    queries = [query.replace("$__rate_interval", "5m") for query in QUERIES]
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    for file in (ALERTS, tmp_path / "queries.yaml"):
        answer = promtool("check", "rules", str(file), folder=tmp_path)
        assert answer.returncode == 0, answer.stderr


EARLY = {"CronScheduleSlotsLost", "CronScheduleAlertsUndelivered", "CronScheduleJobsRefused"}
"""These tell of what has just happened, and are over by the end."""


def problems(names: list[str], samples: dict[str, str], *, fire: bool, folder: Path) -> str:
    """What promtool objects to the claim that each of these alerts fires, or that none does; empty if nothing."""
    tests = [
        {
            "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})',
            "eval_time": "55m" if name in EARLY else "85m",
            "exp_samples": [{"labels": "{}", "value": 1}] if fire else [],
        }
        for name in names
    ]
    series = [{"series": _on_a_replica(name), "values": values} for name, values in samples.items()]
    told = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": tests}],
    }
    (folder / "test.yaml").write_text(yaml.safe_dump(told))
    answer = promtool("test", "rules", "test.yaml", folder=folder)
    return "" if answer.returncode == 0 else answer.stdout + answer.stderr


def _on_a_replica(series: str) -> str:
    if "{" not in series:
        return f"{series}{{{REPLICA}}}"
    return series.replace("{", "{" + REPLICA + ",", 1)


def test_is_all_quiet_where_all_is_well(tmp_path: Path) -> None:
    assert problems(list(WRONG), FINE, fire=False, folder=tmp_path) == ""


@pytest.mark.parametrize("name", WRONG)
def test_does_the_alert_fire(name: str, tmp_path: Path) -> None:
    assert problems([name], FINE | WRONG[name], fire=True, folder=tmp_path) == ""
