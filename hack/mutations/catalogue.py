"""The bugs: what is changed in the operator, and the test that shall notice it.

Each is one that somebody could write. A test that does not notice it is too weak, and is what has to be mended.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCES = "operator/cronschedule"

INTEGRATION, UNIT = "tests/integration", "tests/unit/runtime"
WALK = f"{INTEGRATION}/test_crash_walk.py::test_does_no"

Change = tuple[str, str, str]
"""A file below `SOURCES`, a text that is in it once, and what takes its place."""


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """`test` is a test's name as pytest has it, or one with a parameter."""

    scenario: str
    bug: str
    changes: tuple[Change, ...]
    test: str


def _bug(scenario: str, bug: str, file: str, old: str, new: str, test: str) -> Mutation:
    return Mutation(scenario=scenario, bug=bug, changes=((file, old, new),), test=test)


CRASH = "the operator is killed"
LEADERS = "the leader ends, is killed or stands still"
TWO = "two decide at once"
ANSWERS = "answers are lost, or say no"
AWAY = "the API server is away"
WATCHES = "a watch lies, or says nothing"
ETCD = "etcd is restored"
RIGHTS = "rights are taken away"
REFUSED = "a quota is full, a webhook does not answer"
CRD = "the CRD is gone and back"
NAMESPACE = "a namespace is deleted in the moment of a slot"
STATUS = "the status is wiped"
ANEW = "an object is deleted and made again"
SUSPENSION = "the suspension label flaps"
CLOCK = "the clock is set, the machine sleeps"
HEALTH = "is it well?"

MUTATIONS = (
    _bug(
        CRASH,
        "a Job's name is drawn anew at each try",
        "core/jobs.py",
        '            "name": names.job_name(owner.name, start.slot),\n',
        '            "name": names.job_name(owner.name, start.slot) + f"-{__import__(\'uuid\').uuid4().hex[:4]}",\n',
        f"{WALK}_crash_wherever_it_waits_break_a_promise[on-time-fire-once]",
    ),
    _bug(
        CRASH,
        "a Job that the ledger does not tell of is not taken for its run",
        "core/policies.py",
        "    if job is None or job.slot is None:\n        return None\n    before =",
        "    if True or job is None or job.slot is None:\n        return None\n    before =",
        f"{WALK}_crash_at_a_write_that_is_found_minutes_later_break_a_promise[on-time-fire-once]",
    ),
    Mutation(
        scenario=CRASH,
        bug="a finished Job is deleted before its run is recorded",
        changes=(
            (
                "runtime/executor.py",
                "        await self._write(flight, planned)\n        self._teller",
                "        await self._tidy(flight, planned)\n"
                "        await self._write(flight, planned)\n        self._teller",
            ),
            ("core/retention.py", "        and job.name not in open_runs\n", ""),
        ),
        test=f"{WALK}_second_crash_of_the_one_that_makes_good_the_first_break_a_promise[no-finished-jobs-kept-its-job-has-ended]",
    ),
    _bug(
        CRASH,
        "a Job is replaced before its run is recorded",
        "runtime/executor.py",
        "            if self._has_to_be_recorded_first(",
        "            if False and self._has_to_be_recorded_first(",
        f"{WALK}_second_crash_of_the_one_that_makes_good_the_first_break_a_promise[replace-another-slot-is-due]",
    ),
    _bug(
        LEADERS,
        "writes do not ask whether the lease is held",
        "runtime/leader.py",
        "            if not self._elector.holds():",
        "            if False:",
        f"{INTEGRATION}/test_leadership.py"
        "::test_a_leader_that_stood_still_for_longer_than_its_lease_writes_nothing_more",
    ),
    _bug(
        LEADERS,
        "a body is sent though the lease has lapsed while it waited",
        "runtime/kube_http.py",
        "        if self._fence is not None:\n            self._fence()\n        await super()",
        "        await super()",
        f"{UNIT}/test_kube_http.py"
        "::test_does_a_fence_that_closes_while_waiting_for_a_connection_keep_the_request_back",
    ),
    _bug(
        LEADERS,
        "the deadline counts from the answer to a renewal",
        "runtime/leader.py",
        "        self._until = began + self._election.renew_deadline",
        "        self._until = self._clock.monotonic() + self._election.renew_deadline",
        f"{UNIT}/test_leader.py::test_the_deadline_counts_from_before_the_request",
    ),
    _bug(
        LEADERS,
        "a lease is judged by the wall clock in it",
        "runtime/leader.py",
        "            self._seen, self._seen_at = record, self._clock.monotonic()\n",
        "            self._seen, self._seen_at = record, self._clock.monotonic()\n"
        '            if "renewTime" in record:\n'
        "                from datetime import datetime\n"
        '                then = datetime.fromisoformat(record["renewTime"]).timestamp()\n'
        "                self._seen_at -= self._clock.precise() - then\n",
        f"{UNIT}/test_leader.py::test_clocks_that_differ_take_no_lease_from_a_leader_that_lives",
    ),
    _bug(
        LEADERS,
        "the lease is not given back",
        "runtime/leader.py",
        "        self._stop()\n        if not self._asked:\n",
        "        self._stop()\n        if True or not self._asked:\n",
        f"{INTEGRATION}/test_leadership.py::test_a_leader_that_ends_well_hands_over_within_a_retry_period",
    ),
    _bug(
        LEADERS,
        "a replica decides before it leads",
        "runtime/loop.py",
        "        await self._leading.wait()\n",
        "",
        f"{INTEGRATION}/test_successors.py::test_is_nothing_decided_before_the_successor_has_looked",
    ),
    _bug(
        LEADERS,
        "a successor does not look at Jobs before it decides",
        "runtime/audit.py",
        "                    await self._compare_jobs(namespace)\n",
        "                    pass\n",
        f"{INTEGRATION}/test_successors.py::test_is_no_run_started_beside_one_that_nobody_told_of",
    ),
    _bug(
        LEADERS,
        "a standby saves up turns for catching up",
        "runtime/operator.py",
        "        self.throttle.begin()\n",
        "",
        f"{INTEGRATION}/test_leadership.py::test_a_new_leader_has_saved_up_no_turns_for_catching_up",
    ),
    _bug(
        TWO,
        "a status is written whatever stands there",
        "runtime/kube_verbs.py",
        '        "metadata": {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": str(version)},\n',
        '        "metadata": {"namespace": namespace, "name": name, "uid": uid},\n',
        f"{INTEGRATION}/test_leadership.py::test_two_that_both_decide_for_a_minute_keep_every_promise",
    ),
    _bug(
        ANSWERS,
        "the Job of an earlier try is taken for somebody else's",
        "runtime/job_calls.py",
        "    if is_run_of(job, owner, start):\n        return Created(job=job)\n    message",
        "    message",
        f"{WALK}_crash_wherever_it_waits_break_a_promise[job-sent-twice]",
    ),
    _bug(
        ANSWERS,
        "a request without an answer counts as not carried out",
        "runtime/job_calls.py",
        "        unsure=isinstance(error, Unreachable | ServerError),",
        "        unsure=False,",
        f"{INTEGRATION}/test_retries.py"
        "::test_a_job_whose_answer_was_lost_is_a_run_when_the_next_slot_comes_due",
    ),
    _bug(
        ANSWERS,
        "Retry-After is not kept",
        "runtime/starter.py",
        "retry_after=attempt.retry_after)",
        "retry_after=None)",
        f"{INTEGRATION}/test_faults_on_writes.py::test_retry_after_is_kept",
    ),
    _bug(
        ANSWERS,
        "a status that was not written is not tried again",
        "runtime/loop.py",
        "            return later if unfinished.wake is None else min(later, unfinished.wake)",
        "            return unfinished.wake",
        f"{INTEGRATION}/test_faults_on_writes.py::test_a_write_that_fails_changes_nothing_in_the_end",
    ),
    _bug(
        ANSWERS,
        "a conflict is not followed by another look",
        "runtime/executor.py",
        "            self._inventory.believe_schedule(body)",
        "            pass",
        f"{INTEGRATION}/test_watches.py"
        "::test_an_edit_that_no_watch_told_of_is_found_before_anything_is_written_over_it",
    ),
    _bug(
        ANSWERS,
        "a token that was refused is not read again",
        "runtime/kube_http.py",
        "        if response.status == 401 and self._authorization.renew():",
        "        if False:",
        f"{UNIT}/test_kube_http.py::test_is_a_rotated_token_picked_up_on_a_401",
    ),
    _bug(
        AWAY,
        "an audit that fails ends the operator",
        "runtime/audit.py",
        "                self.last_pass = self.clock.monotonic()\n            except KubeError as error:",
        "                self.last_pass = self.clock.monotonic()\n            except NotFound as error:",
        f"{INTEGRATION}/test_outages.py::test_an_outage_of_the_api_server_is_a_misfire_and_heals",
    ),
    _bug(
        AWAY,
        "waits double without end",
        "runtime/kube.py",
        "    delay = min(cap, 2.0 ** min(attempt, 30)) * (0.5 + random.random() / 2)\n    return min(cap, max(",
        "    delay = 2.0 ** min(attempt, 30) * (0.5 + random.random() / 2)\n    return (max(",
        f"{INTEGRATION}/test_faults_on_writes.py"
        "::test_tries_come_ever_more_rarely_but_never_more_than_a_minute_apart",
    ),
    _bug(
        AWAY,
        "tries follow each other at once",
        "runtime/kube.py",
        "    return min(cap, max(delay, retry_after or 0.0))",
        "    return 0.0",
        f"{INTEGRATION}/test_outages.py::test_an_outage_causes_no_storm_and_what_follows_is_on_time",
    ),
    _bug(
        WATCHES,
        "a watch that says nothing is waited for",
        "runtime/reflector.py",
        "SILENCE = 75.0",
        "SILENCE = 1e9",
        f"{INTEGRATION}/test_watches.py::test_a_watch_of_jobs_that_stays_silent_delays_outcomes_but_no_slot",
    ),
    _bug(
        WATCHES,
        "the audit looks at nothing",
        "runtime/audit.py",
        "        if not behind:\n            return\n",
        "        return\n",
        f"{INTEGRATION}/test_watches.py::test_a_suspension_that_no_watch_told_of_is_found_within_two_minutes",
    ),
    _bug(
        WATCHES,
        "a Job is only known once a watch tells of it",
        "runtime/starter.py",
        "        if isinstance(attempt, Created):\n            self._inventory.hold_job(attempt.job)\n",
        "        if isinstance(attempt, Created):\n",
        f"{INTEGRATION}/test_watches.py::test_does_a_run_that_no_watch_told_of_block_the_next_slots",
    ),
    _bug(
        WATCHES,
        "a 410 is not followed by a list",
        "runtime/reflector.py",
        "        except (Gone, _Silent, _Backwards) as failure:",
        "        except (_Silent, _Backwards) as failure:",
        f"{UNIT}/test_reflector.py::test_does_the_mirror_catch_up_when_the_server_has_forgotten",
    ),
    _bug(
        WATCHES,
        "an event from the past is believed",
        "runtime/reflector.py",
        "        if version < self._newest:\n            raise _Backwards\n        self.last_heard",
        "        self.last_heard",
        f"{UNIT}/test_reflector.py::test_is_an_event_from_the_past_a_reason_to_list",
    ),
    _bug(
        WATCHES,
        "an event that comes twice is told twice",
        "runtime/reflector.py",
        " and (known is None or known[0] != version):",
        ":",
        f"{UNIT}/test_reflector.py::test_is_what_the_server_tells_twice_told_once",
    ),
    _bug(
        WATCHES,
        "a list from the past is believed at once",
        "runtime/reflector.py",
        "                if version < self._newest and not self._doubting:",
        "                if False:",
        f"{UNIT}/test_reflector.py::test_is_one_stale_list_not_believed",
    ),
    _bug(
        WATCHES,
        "a stream that is cut within an event counts as ended",
        "runtime/kube_http.py",
        '    if pending:\n        raise Unreachable("the watch stream',
        '    if False:\n        raise Unreachable("the watch stream',
        f"{UNIT}/test_kube_http.py::test_is_a_broken_stream_unreachable[truncate]",
    ),
    _bug(
        ETCD,
        "a list that went back is nothing special",
        "runtime/audit.py",
        "        restored, self._newest = as_of < self._newest, as_of",
        "        restored, self._newest = False, max(as_of, self._newest)",
        f"{INTEGRATION}/test_outages.py"
        "::test_does_a_suspension_hold_that_was_over_and_that_a_restore_has_brought_back",
    ),
    _bug(
        RIGHTS,
        "a missing right is a refusal for good",
        "runtime/job_calls.py",
        "    if isinstance(error, AdmissionDenied | NamespaceTerminating | NotFound):",
        "    if isinstance(error, AdmissionDenied | NamespaceTerminating | NotFound) or '403' in str(error):",
        f"{INTEGRATION}/test_rights.py::test_does_a_missing_right_cause_no_storm",
    ),
    _bug(
        RIGHTS,
        "a watch that is refused ends the operator",
        "runtime/reflector.py",
        "        except KubeError as failure:\n            return failure\n",
        "        except KubeError as failure:\n"
        "            if getattr(failure, 'status', 0) == 403:\n                raise\n            return failure\n",
        f"{INTEGRATION}/test_rights.py::test_does_a_right_taken_away_and_given_back_cost_no_slot_its_record",
    ),
    _bug(
        REFUSED,
        "a full quota is not waited for under CatchUp",
        "runtime/job_calls.py",
        "        if waits:\n",
        "        if False:\n",
        f"{INTEGRATION}/test_retries.py::test_under_catch_up_a_slot_waits_for_room_in_the_quota_and_runs",
    ),
    _bug(
        REFUSED,
        "a webhook that cannot be asked has refused",
        "runtime/job_calls.py",
        "    if isinstance(error, AdmissionDenied | NamespaceTerminating | NotFound):",
        "    if isinstance(error, AdmissionDenied | NamespaceTerminating | NotFound | ServerError):",
        f"{INTEGRATION}/test_retries.py::test_a_webhook_that_cannot_be_asked_is_tried_again",
    ),
    _bug(
        CRD,
        "what was not found once is never believed to be back",
        "runtime/audit.py",
        "        self.inventory.gone.clear()\n",
        "",
        f"{INTEGRATION}/test_rights.py::test_does_a_crd_that_is_gone_for_a_while_cost_no_slot_its_record",
    ),
    _bug(
        NAMESPACE,
        "a namespace that is going is worked in",
        "runtime/inventory.py",
        " or tenant is None or tenant.terminating:",
        " or tenant is None:",
        f"{INTEGRATION}/test_retries.py::test_a_namespace_that_is_going_gets_no_jobs_and_causes_no_storm",
    ),
    _bug(
        STATUS,
        "a schedule without a ledger is a new one",
        "core/planner.py",
        "    if not facts.adopted:\n",
        "    if True:\n",
        f"{WALK}_crash_wherever_it_waits_break_a_promise[lost-ledger-and-jobs]",
    ),
    _bug(
        ANEW,
        "a status is written to whatever has the name",
        "runtime/kube_verbs.py",
        '        "metadata": {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": str(version)},\n',
        '        "metadata": {"namespace": namespace, "name": name},\n',
        f"{INTEGRATION}/test_watches.py"
        "::test_does_nothing_of_a_run_under_way_go_to_the_schedule_made_anew_in_its_middle",
    ),
    _bug(
        ANEW,
        "a Job is ours whatever owner it has",
        "runtime/job_calls.py",
        "    return job.owner_uid == owner.uid and job.slot == start.slot",
        "    return job.slot == start.slot",
        f"{UNIT}/test_job_calls.py::test_the_job_that_a_schedule_of_the_same_name_had_before_is_not_taken",
    ),
    _bug(
        SUSPENSION,
        "whether the tenant is suspended is only asked when a flight begins",
        "runtime/starter.py",
        "            tenant_suspended=self._inventory.suspension_of(owner.namespace),  # it may have come meanwhile\n",
        "",
        f"{INTEGRATION}/test_suspension.py::test_does_a_suspension_while_a_job_is_being_created_hold_back_the_next_one",
    ),
    Mutation(
        scenario=SUSPENSION,
        bug="what was due while suspended is made up for",
        changes=(
            ("core/planner.py", "    if edited or current is None:\n", "    if edited:\n"),
            (
                "core/planner.py",
                "    if ledger.schedule is not None and (old :=",
                "    if ledger.schedule is not None and current is not None and (old :=",
            ),
        ),
        test=f"{INTEGRATION}/test_suspension.py"
        "::test_while_suspended_nothing_is_written_per_slot_and_it_is_one_row_afterwards",
    ),
    _bug(
        CLOCK,
        "it sleeps until the next slot, whatever becomes of the clock",
        "runtime/loop.py",
        "LONGEST_SLEEP = 1.0",
        "LONGEST_SLEEP = 3600.0",
        f"{INTEGRATION}/test_outages.py"
        "::test_does_a_suspension_hold_that_was_over_and_that_a_restore_has_brought_back",
    ),
    _bug(
        CLOCK,
        "the ledger follows a clock that is set back",
        "core/planner.py",
        "    if facts.ledger is not None:\n        return _Draft(facts=facts, now=now, ledger=facts.ledger)\n",
        "    if facts.ledger is not None:\n"
        "        known = replace(facts.ledger, last_decided=min(facts.ledger.last_decided, now))\n"
        "        return _Draft(facts=facts, now=now, ledger=known)\n",
        f"{INTEGRATION}/test_outages.py"
        "::test_a_clock_set_back_runs_nothing_again_and_goes_on_where_the_ledger_ends",
    ),
    _bug(
        HEALTH,
        "a loop that stands is not told",
        "runtime/health.py",
        "        if stood > LOOP_STANDS:\n",
        "        if False:\n",
        f"{UNIT}/test_health.py::test_what_has_stopped_is_told",
    ),
    _bug(
        HEALTH,
        "a lease that was lost is not told",
        "runtime/health.py",
        "        if elector is not None and elector.lapsed_for() > LAPSED:\n",
        "        if False:\n",
        f"{UNIT}/test_health.py::test_what_has_stopped_is_told",
    ),
)
