"""Leader election in fake time: two electors, one lease, each with a wall clock of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest

from cronschedule.runtime.kube import Api, NotLeading
from cronschedule.runtime.leader import Elector, LeaderApi, LeaseLost
from cronschedule.runtime.settings import Election, read_settings
from fakes.clock import LoopClock
from fakes.faults import Answer, Delay, Fault, Hang, Reset
from fakes.kube import FakeKube

pytestmark = [pytest.mark.looptime(noop_cycles=0)]

NOON = 1_800_014_400
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/cronschedule-operator"


def election() -> Election:
    told = read_settings({}).election
    assert told is not None
    return told


class Machine(LoopClock):
    """The clocks of a machine that may have slept."""

    slept = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept


class Replica:
    """One elector as a task, on a machine whose wall clock is `skew` seconds off."""

    def __init__(self, kube: Api, name: str, *, skew: int = 0) -> None:
        self.machine = Machine(NOON + skew)
        self.elector = Elector(
            api=kube,
            clock=self.machine,
            random=Random(name),
            election=election(),
            namespace="default",
            identity=name,
        )
        self.task = asyncio.create_task(self.elector.run())

    def holds(self) -> bool:
        return self.elector.holds()

    async def stop(self) -> None:
        """Like SIGTERM."""
        await self.kill()
        await self.elector.release()

    async def kill(self) -> None:
        """Like SIGKILL."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def lost(self) -> str:
        """Why it ended by itself."""
        with pytest.raises(LeaseLost) as told:
            await self.task
        return str(told.value)


class Place:
    """A cluster and the replicas in it."""

    def __init__(self) -> None:
        self.clock = LoopClock(NOON)
        self.kube = FakeKube(clock=self.clock, latency=0.01)
        self.replicas: list[Replica] = []

    def start(self, name: str, *, skew: int = 0) -> Replica:
        self.replicas.append(Replica(self.kube, name, skew=skew))
        return self.replicas[-1]

    async def leader(self, name: str = "a", *, skew: int = 0) -> Replica:
        replica = self.start(name, skew=skew)
        await replica.elector.taken.wait()
        return replica

    def fault(self, **how: Any) -> None:
        self.kube.faults.append(Fault(resource="leases", **how))

    def heal(self) -> None:
        self.kube.faults.clear()

    def record(self) -> dict[str, Any]:
        found = self.kube.find("leases", "default", "cronschedule-operator")
        assert found is not None
        return dict(found["spec"])

    def holder(self) -> str:
        return str(self.record()["holderIdentity"])

    def seconds(self) -> float:
        return self.clock.precise() - NOON

    async def wait(self, seconds: float) -> None:
        """Let time pass, and see at each tenth of a second that no two lead."""
        for _ in range(math.ceil(seconds * 10)):
            await asyncio.sleep(0.1)
            assert sum(replica.holds() for replica in self.replicas) <= 1


@contextlib.asynccontextmanager
async def cluster() -> AsyncIterator[Place]:
    place = Place()
    try:
        yield place
    finally:
        for replica in place.replicas:
            await replica.kill()


async def test_a_lease_that_is_not_there_is_taken_at_once() -> None:
    async with cluster() as place:
        await place.leader("a")
        assert place.seconds() < 0.05
        record = place.record()
        stamp = record.pop("renewTime")
        assert stamp.startswith("2027-01-15T12:00:00.")
        assert record == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": stamp,
            "leaseTransitions": 0,
        }


async def test_only_one_of_three_leads() -> None:
    async with cluster() as place:
        for name in "abc":
            place.start(name)
        await place.wait(120)
        assert [replica.holds() for replica in place.replicas].count(True) == 1
        assert place.record()["leaseTransitions"] == 0


async def test_a_renewal_is_one_put_and_a_standby_only_reads() -> None:
    async with cluster() as place:
        await place.leader("a")
        place.start("b")
        await place.wait(1)
        before = place.kube.calls.copy()
        await place.wait(60)
        told = place.kube.calls - before
        assert told["update", "leases"] == 30
        assert 30 <= told["get", "leases"] <= 40
        assert set(told) == {("update", "leases"), ("get", "leases")}


async def test_acquire_time_stays_while_renew_time_moves() -> None:
    async with cluster() as place:
        await place.leader("a")
        first = place.record()
        await place.wait(30)
        later = place.record()
        assert later["acquireTime"] == first["acquireTime"]
        assert later["renewTime"] > first["renewTime"]
        assert later["leaseTransitions"] == 0


async def test_a_released_lease_is_taken_within_a_retry_period() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b")
        await place.wait(30)
        await a.stop()
        released = place.record()
        assert (released["holderIdentity"], released["leaseDurationSeconds"]) == ("", 1)
        since = place.seconds()
        await b.elector.taken.wait()
        assert place.seconds() - since < 2.1
        assert (place.holder(), place.record()["leaseTransitions"]) == ("b", 1)


async def test_a_released_lease_is_taken_at_once_by_who_comes() -> None:
    async with cluster() as place:
        await (await place.leader("a")).stop()
        since = place.seconds()
        await place.leader("b")
        assert place.seconds() - since < 0.05


@pytest.mark.parametrize("skew", [-300, 0, 300])
async def test_a_dead_leader_is_followed_when_its_lease_has_lapsed_and_not_before(skew: int) -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b", skew=skew)
        await place.wait(31)
        await a.kill()
        since = place.seconds()
        await place.wait(12)
        assert not b.holds()
        await b.elector.taken.wait()
        assert 12 < place.seconds() - since <= 17.1
        assert place.record()["leaseTransitions"] == 1


@pytest.mark.parametrize("skew", [-300, 300])
async def test_clocks_that_differ_take_no_lease_from_a_leader_that_lives(skew: int) -> None:
    async with cluster() as place:
        a = await place.leader("a", skew=skew)
        b = place.start("b", skew=-skew)
        await place.wait(600)
        assert a.holds()
        assert not b.holds()


async def test_a_leader_that_cannot_renew_ends_before_its_lease_has_lapsed() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        place.start("b")
        await place.wait(20)
        place.fault(verb="update", action=Answer(code=503), times=math.inf)
        failing = place.seconds()
        assert "not renewed" in await a.lost()
        assert 8 <= place.seconds() - failing <= 10.1
        assert not a.holds()


async def test_an_outage_shorter_than_the_deadline_costs_no_leader() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b")
        await place.wait(20.5)
        place.fault(action=Reset(), times=math.inf)
        await place.wait(7)
        place.heal()
        await place.wait(30)
        assert a.holds()
        assert not b.holds()


async def test_after_an_outage_a_standby_leads() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b")
        await place.wait(20)
        place.fault(action=Reset(), times=math.inf)
        await place.wait(3600)
        assert "not renewed" in await a.lost()
        assert not b.holds()
        place.heal()
        await place.wait(17)
        assert b.holds()


@pytest.mark.parametrize("phase", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_renewal_without_an_answer_is_made_good(phase: Any, nth: int) -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b")
        place.fault(verb="update", action=Reset(), phase=phase, nth=nth)
        await place.wait(60)
        assert a.holds()
        assert not b.holds()
        assert place.record()["leaseTransitions"] == 0


async def test_a_renewal_that_hangs_is_given_up_in_time_for_another() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        place.fault(verb="update", action=Hang())
        await place.wait(60)
        assert a.holds()


async def test_the_deadline_counts_from_before_the_request() -> None:
    """An answer that takes four seconds makes the lease as old as it was when it was asked for."""
    async with cluster() as place:
        a = await place.leader("a")
        await place.wait(1)
        place.fault(verb="update", action=Delay(4), phase="after")
        await place.wait(5.2)
        assert a.holds()
        place.fault(verb="update", action=Hang(), times=math.inf)
        since = place.seconds()
        await a.lost()
        assert place.seconds() - since < 10 - 4


@pytest.mark.parametrize("phase", ["before", "after"])
async def test_taking_without_an_answer_is_tried_again(phase: Any) -> None:
    async with cluster() as place:
        place.fault(verb="create", action=Reset(), phase=phase)
        a = await place.leader("a")
        assert place.seconds() < 2.1
        await place.wait(30)
        assert a.holds()
        assert place.record()["leaseTransitions"] == 0


async def test_a_conflict_with_a_stranger_that_leaves_the_holder_alone_costs_nothing() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        for _ in itertools.repeat(None, 10):
            place.kube.edit(
                "leases", "default", "cronschedule-operator", {"metadata": {"labels": {"x": "y"}}}
            )
            await place.wait(3)
        assert a.holds()


async def test_a_deleted_lease_is_made_again_by_its_leader() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        await place.wait(3)
        place.kube.remove("leases", "default", "cronschedule-operator")
        await place.wait(3)
        assert a.holds()
        assert place.holder() == "a"


async def test_a_deleted_lease_is_nobody_elses_while_its_leader_may_live() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b")
        for after in (30, 31, 31.5):
            await place.wait(after)
            place.kube.remove("leases", "default", "cronschedule-operator")
        await place.wait(30)
        assert a.holds()
        assert not b.elector.taken.is_set()


async def test_a_deleted_lease_of_a_dead_leader_is_taken_once_it_would_have_lapsed() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b")
        await place.wait(31)
        await a.kill()
        place.kube.remove("leases", "default", "cronschedule-operator")
        since = place.seconds()
        await b.elector.taken.wait()
        assert 12 < place.seconds() - since <= 17.1


async def test_a_leader_whose_lease_was_given_to_another_ends_at_once() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        place.kube.edit("leases", "default", "cronschedule-operator", {"spec": {"holderIdentity": "b"}})
        since = place.seconds()
        assert "b has taken it" in await a.lost()
        assert place.seconds() - since < 2.1
        assert not a.holds()


async def test_a_record_that_does_not_change_is_waited_for_from_when_it_is_seen() -> None:
    """Its times are an hour old: that says nothing, for that clock may be an hour off."""
    async with cluster() as place:
        a = await place.leader("a", skew=-3600)
        await a.kill()
        await place.wait(7)
        since = place.seconds()
        await place.leader("b")
        assert 15 <= place.seconds() - since <= 15.1


async def test_the_holders_own_duration_counts() -> None:
    async with cluster() as place:
        await (await place.leader("a")).kill()
        place.kube.edit("leases", "default", "cronschedule-operator", {"spec": {"leaseDurationSeconds": 40}})
        since = place.seconds()
        await place.leader("b")
        assert 40 <= place.seconds() - since <= 40.1


async def test_a_stop_in_the_middle_of_a_renewal_releases_all_the_same() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        place.fault(verb="update", action=Hang(), phase="after")
        await place.wait(2.5)
        await a.stop()
        assert place.holder() == ""


async def test_who_never_led_releases_nothing() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        b = place.start("b")
        await place.wait(5)
        await b.stop()
        await place.wait(5)
        assert a.holds()


@pytest.mark.parametrize("verb", ["get", "update"])
async def test_a_release_that_fails_once_is_tried_again(verb: str) -> None:
    async with cluster() as place:
        a = await place.leader("a")
        place.fault(action=Answer(code=429), verb=verb, nth=1, times=1)
        await a.kill()
        await a.elector.release()
        assert place.holder() == ""


async def test_a_release_that_gets_no_answer_ends() -> None:
    async with cluster() as place:
        a = await place.leader("a")
        await a.kill()
        place.fault(action=Hang(), times=math.inf)
        since = place.seconds()
        await a.elector.release()
        assert place.seconds() - since <= 3.1


async def test_a_lease_that_may_not_be_written_is_asked_for_again_without_haste() -> None:
    async with cluster() as place:
        place.fault(verb="create", action=Answer(code=403, reason="Forbidden"), times=math.inf)
        a = place.start("a")
        await place.wait(60)
        assert not a.holds()
        assert place.kube.calls["create", "leases"] <= 40


async def test_a_paused_leader_writes_nothing_once_it_goes_on() -> None:
    """Its loop stands still for twenty seconds, as a process that is stopped; the first thing it does is to write."""
    async with cluster() as place:
        a = await place.leader("a")
        api = LeaderApi(place.kube, a.elector)
        job = "/apis/batch/v1/namespaces/default/jobs"
        a.machine.slept = 20
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            with pytest.raises(NotLeading):
                await api.request(method, job, body={})
        assert (await api.request("GET", job))["items"] == []
        assert place.kube.calls["create", "jobs"] == 0
        assert "not renewed" in await a.lost()


async def test_a_standby_may_not_write() -> None:
    async with cluster() as place:
        await place.leader("a")
        b = place.start("b")
        await place.wait(5)
        with pytest.raises(NotLeading):
            await LeaderApi(place.kube, b.elector).request("DELETE", LEASE)
        assert place.holder() == "a"


@pytest.mark.parametrize("seed", range(20))
async def test_no_two_ever_lead_whatever_the_answers(seed: int) -> None:
    """Three replicas, started again when they end, with faults at random on every request for the lease."""
    random = Random(seed)
    async with cluster() as place:
        living = {name: place.start(name, skew=random.randint(-300, 300)) for name in "abc"}
        led = set()
        for number in range(120):
            if random.random() < 0.5:
                action = random.choice(
                    [Reset(), Hang(), Delay(random.uniform(0, 12)), Answer(code=503), Answer(code=409)]
                )
                phase: Any = random.choice(["before", "after"])
                place.fault(action=action, phase=phase, nth=random.randint(1, 4), times=random.randint(1, 6))
            if random.random() < 0.1:
                name = random.choice("abc")
                await (living[name].stop() if random.random() < 0.5 else living[name].kill())
            for name, replica in list(living.items()):
                if replica.task.done():
                    place.replicas.remove(replica)
                    living[name] = place.start(f"{name[0]}{number}", skew=random.randint(-300, 300))
            await place.wait(random.uniform(0.5, 6))
            led |= {name for name, replica in living.items() if replica.holds()}
        assert len(led) >= 2, "the faults were too mild"
