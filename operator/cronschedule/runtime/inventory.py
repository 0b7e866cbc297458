"""What is known of the cluster: CronSchedules, Namespaces and Jobs, and a schedule's facts out of them.

Fed by the watches, by the audit, and by the answers to our own writes, which come first. Whatever is older than
what is held (by resourceVersion, for the same UID) is ignored. Every change pokes the schedules that it touches.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import from_json, to_json

from cronschedule.api import names
from cronschedule.api.mistakes import Mistake, read_status
from cronschedule.api.shapes import parse_time
from cronschedule.api.v1alpha1 import CronScheduleStatus
from cronschedule.core.facts import Facts, Retry
from cronschedule.core.jobs import Owner, SeenJob, read_time
from cronschedule.core.spec import Schedulable, read_schedulable
from cronschedule.core.status import read_ledger
from cronschedule.runtime.settings import Settings

Key = tuple[str, str]
"""Namespace and name of a CronSchedule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One CronSchedule. Spec and status are kept as JSON text: parsed they would take ten times the memory."""

    owner: Owner
    version: int
    generation: int
    created: int
    adopted: bool
    acknowledged: int
    deleting: bool
    spec: bytes
    status: bytes

    @property
    def key(self) -> Key:
        return self.owner.namespace, self.owner.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """One Namespace: the sentence that says why it is suspended, if it is; whether its labels make it ours."""

    uid: str
    version: int
    suspended: str | None
    terminating: bool
    ours: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """One schedule at one moment, ready for the planner."""

    entry: Entry
    facts: Facts
    status: CronScheduleStatus
    mistakes: tuple[Mistake, ...]
    jobs: Mapping[str, SeenJob]


@dataclass(kw_only=True)
class Inventory:
    """The cluster as it is known. `on_change` is told the key of each schedule that something happened to, `on_join` a
    Namespace whose labels have just made it ours: nothing is decided in it before `welcome()`."""

    settings: Settings
    on_change: Callable[[Key], None]
    on_join: Callable[[str], None]
    schedules: dict[Key, Entry] = field(default_factory=dict)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    jobs: dict[str, dict[str, SeenJob]] = field(default_factory=dict)
    retries: dict[str, Retry] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    """UIDs of CronSchedules dropped since the last audit began: a list may still show them."""
    catching_up: int = 0
    """How many runs are active in the cluster that catch up or backfill."""
    _joining: set[str] = field(default_factory=set)
    _keys: dict[str, Key] = field(default_factory=dict)
    _namespaces: dict[str, set[Key]] = field(default_factory=dict)

    # CronSchedules

    def take_schedule(self, body: Mapping[str, Any]) -> None:
        """A CronSchedule as a watch or a list shows it; told on, unless what is held is as new."""
        if self._is_news(body):
            entry = _entry(body)
            self._hold(entry)
            self.on_change(entry.key)

    def take_answer(self, body: Mapping[str, Any]) -> None:
        """A CronSchedule as a write of ours left it; nobody need be told. A watch may have been faster."""
        entry = _entry(body)
        known = self.schedules.get(entry.key)
        if known is not None and known.owner.uid == entry.owner.uid and known.version < entry.version:
            self._hold(entry)

    def believe_schedule(self, body: Mapping[str, Any]) -> None:
        """A CronSchedule as it truly is, even where that is older than what is held (etcd was restored)."""
        self._hold(_entry(body))

    def drop_schedule(self, key: Key, uid: str) -> None:
        """The CronSchedule with this UID is gone."""
        self.gone.add(uid)
        known = self.schedules.get(key)
        if known is not None and known.owner.uid == uid:
            self._forget(known)
            self.on_change(key)

    def _is_news(self, body: Mapping[str, Any]) -> bool:
        """Whether this is newer than what is held. Most that is watched is not: it echoes what we wrote."""
        metadata = body["metadata"]
        known = self.schedules.get((metadata["namespace"], metadata["name"]))
        is_newer = known is None or known.version < int(metadata["resourceVersion"])
        return is_newer and metadata["uid"] not in self.gone

    def _hold(self, entry: Entry) -> None:
        known = self.schedules.get(entry.key)
        if known is not None and known.owner.uid != entry.owner.uid:
            self._forget(known)
        self.schedules[entry.key] = entry
        self._keys[entry.owner.uid] = entry.key
        self._namespaces.setdefault(entry.owner.namespace, set()).add(entry.key)

    def _forget(self, entry: Entry) -> None:
        del self.schedules[entry.key]
        self._keys.pop(entry.owner.uid, None)
        self.retries.pop(entry.owner.uid, None)
        self._namespaces[entry.owner.namespace].discard(entry.key)

    # Namespaces

    def take_namespace(self, body: Mapping[str, Any]) -> None:
        """A Namespace, or its metadata, as a watch or a list shows it."""
        known = self.tenants.get(body["metadata"]["name"])
        if known is None or known.version < int(body["metadata"]["resourceVersion"]):
            self.believe_namespace(body)

    def believe_namespace(self, body: Mapping[str, Any]) -> None:
        """A Namespace as it truly is; its schedules are told when it is suspended, resumed or going."""
        metadata = body["metadata"]
        name, selector = metadata["name"], self.settings.suspension_selector
        labels = metadata.get("labels") or {}
        suspended = selector.matches(labels)
        tenant = Tenant(
            uid=metadata["uid"],
            version=int(metadata["resourceVersion"]),
            suspended=f"Namespace {name} has the label {selector.text}." if suspended else None,
            terminating=bool(metadata.get("deletionTimestamp")),
            ours=self.settings.namespace_selector.matches(labels),
        )
        known = self.tenants.get(name)
        self.tenants[name] = tenant
        if known is not None and tenant.ours and not known.ours:
            self._joining.add(name)
            self.on_join(name)
        if known is None or replace(known, version=tenant.version) != tenant:
            self._tell(name)

    def is_ours(self, name: str) -> bool:
        """Whether its schedules are decided here: it is known, its labels match, and all that is in it is known too."""
        tenant = self.tenants.get(name)
        return tenant is not None and tenant.ours and name not in self._joining

    def welcome(self, name: str) -> None:
        """All that another operator has decided in this Namespace is known."""
        self._joining.discard(name)
        self._tell(name)

    def _tell(self, name: str) -> None:
        for key in self._namespaces.get(name, ()):
            self.on_change(key)

    def suspension_of(self, name: str) -> str | None:
        """The sentence that says why the Namespace is suspended, if it is."""
        tenant = self.tenants.get(name)
        return tenant.suspended if tenant is not None else None

    def drop_namespace(self, name: str) -> None:
        self.tenants.pop(name, None)

    # Jobs

    def take_job(self, job: SeenJob) -> None:
        """A Job with our mark, as a watch or a list shows it."""
        before = self.jobs.get(job.owner_uid, {}).get(job.name)
        if self.hold_job(job) and (before is None or _differs(before, job)):
            self._poke_owner(job)

    def hold_job(self, job: SeenJob) -> bool:
        """Keep a Job without telling anyone; whether it was news."""
        known = self.jobs.setdefault(job.owner_uid, {})
        before = known.get(job.name)
        if before is not None and before.uid == job.uid and before.version >= job.version:
            return False
        known[job.name] = job
        self.catching_up += _catches_up(job) - (before is not None and _catches_up(before))
        return True

    def drop_job(self, job: SeenJob) -> None:
        """The Job with this UID is gone. A finished one is nobody's concern any more."""
        known = self.jobs.get(job.owner_uid, {})
        held = known.get(job.name)
        if held is None or held.uid != job.uid:
            return
        del known[job.name]
        self.catching_up -= _catches_up(held)
        if not known:
            del self.jobs[job.owner_uid]
        if held.state == "Active":
            self._poke_owner(job)

    def keep_jobs(self, uids: Collection[str], version: float, namespace: str | None) -> None:
        """The UIDs on a whole list of Jobs, as of `version`: whatever is older and not on it is gone.

        The list is that of one namespace, or of all where that is None.
        """
        held = [job for jobs in self.jobs.values() for job in jobs.values()]
        for job in held:
            listed = namespace in (None, job.namespace)
            if listed and job.uid not in uids and job.version <= version:
                self.drop_job(job)

    def jobs_of(self, owner: Owner) -> Mapping[str, SeenJob]:
        """The Jobs of a schedule, by name, as they are known now."""
        return self.jobs.get(owner.uid, {})

    def _poke_owner(self, job: SeenJob) -> None:
        key = self._keys.get(job.owner_uid)
        if key is not None:
            self.on_change(key)

    # Facts

    def snapshot(self, key: Key) -> Snapshot | None:
        """The schedule as it is known now; `None` when it is gone, going, or its namespace is, or not ours."""
        entry = self.schedules.get(key)
        tenant = self.tenants.get(key[0])
        if entry is None or entry.deleting or tenant is None or tenant.terminating:
            return None
        if not self.is_ours(key[0]):
            return None
        read = read_schedulable(from_json(entry.spec), name=entry.owner.name, unknown="ignore")
        status = read_status(from_json(entry.status))
        if isinstance(status, list):  # not ours, or damaged: as good as none
            status = CronScheduleStatus()
        jobs = self.jobs_of(entry.owner)
        facts = Facts(
            spec=read.spec if isinstance(read, Schedulable) else None,
            slots=read.slots if isinstance(read, Schedulable) else None,
            created=entry.created,
            adopted=entry.adopted,
            ledger=read_ledger(status),
            tenant_suspended=tenant.suspended,
            jobs=tuple(job.fact for job in jobs.values()),
            retry=self.retries.get(entry.owner.uid),
            misfire_threshold=self.settings.misfire_threshold,
        )
        mistakes = tuple(read) if isinstance(read, list) else ()
        return Snapshot(entry=entry, facts=facts, status=status, mistakes=mistakes, jobs=jobs)


def _entry(body: Mapping[str, Any]) -> Entry:
    metadata = body["metadata"]
    owner = Owner(namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"])
    annotations = metadata.get("annotations") or {}
    return Entry(
        owner=owner,
        version=int(metadata["resourceVersion"]),
        generation=int(metadata.get("generation") or 0),
        created=parse_time(metadata["creationTimestamp"]),
        adopted=names.ADOPTED_AT in annotations,
        acknowledged=read_time(annotations.get(names.ACKNOWLEDGED)) or 0,
        deleting=bool(metadata.get("deletionTimestamp")),
        spec=to_json(body.get("spec") or {}),
        status=to_json(body.get("status") or {}),
    )


def _catches_up(job: SeenJob) -> bool:
    return job.trigger in ("CatchUp", "Backfill") and job.fact.active


def _differs(before: SeenJob, job: SeenJob) -> bool:
    """Whether anything changed that a rule or a row depends on."""
    return (before.uid, before.fact, before.state) != (job.uid, job.fact, job.state)
