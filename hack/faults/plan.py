"""What shall go wrong, for which requests, and when: a plan, which is a seed and rules, and a JSON file.

    {"seed": 7, "rules": [{"action": "answer", "code": 503, "verbs": "create", "resource": "jobs", "share": 0.2}]}

Whether the n-th request that a rule is about is hit follows from the seed, the rule's place and n alone, so the same
requests in the same order meet the same faults again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

Action = Literal[
    "delay",  # `seconds` pass, before the server sees the request or before its answer goes out
    "answer",  # this failure: `code`, and `retry_after` seconds where it is set
    "reset",  # the connection breaks
    "hang",  # no answer comes
    "drip",  # the answer comes byte by byte, over `seconds`
    "stale",  # a list as it was `seconds` ago, or earlier
    "twice",  # the server gets the request twice; the second answer counts
    "cut",  # a watch ends in the middle of an event, after `events` of them
    "end",  # a watch is ended in good order, after `events`
    "silence",  # nothing more is heard of a watch, after `events`
    "gone",  # a watch says 410, after `events`
    "repeat",  # each event of a watch comes twice
    "swap",  # two events of a watch come in the wrong order, again and again
    "token",  # the client's token is refused from now on; the next one is in its file after `seconds`
    "tls",  # new connections meet a certificate that nobody vouches for
]
STREAM_ACTIONS = frozenset(("cut", "end", "silence", "gone", "repeat", "swap"))

_PATH = re.compile(
    r"/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class PlanError(ValueError):
    """A plan that cannot be carried out; the message says where."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as rules see it. `verb` as in RBAC, `resource` such as `jobs` or `cronschedules/status`."""

    verb: str
    resource: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One way to fail. `verbs` are separated by commas; `resource` and `name` are globs.

    It holds from second `since` to `until` of the plan, for at most `times` requests, and hits a `share` of them.
    """

    action: Action
    verbs: str = ""
    resource: str = "*"
    name: str = "*"
    phase: Literal["before", "after"] = "before"
    share: float = 1.0
    times: int | None = None
    since: float = 0.0
    until: float | None = None
    seconds: float = 1.0
    code: int = 503
    retry_after: int | None = None
    events: int = 0

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise PlanError(f"there is no action {self.action!r}")
        if not 0 <= self.share <= 1:
            raise PlanError(f"share is {self.share}, which is not from 0 to 1")

    def is_about(self, asked: Asked, second: float) -> bool:
        """Whether the rule holds for this request, this many seconds after the plan began."""
        if not self.since <= second < (float("inf") if self.until is None else self.until):
            return False
        if self.action in STREAM_ACTIONS and asked.verb != "watch":
            return False
        if self.verbs and asked.verb not in self.verbs.split(","):
            return False
        return fnmatchcase(asked.resource, self.resource) and fnmatchcase(asked.name, self.name)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A seed and rules. The first rule that hits a request decides what becomes of it."""

    seed: int = 0
    rules: tuple[Rule, ...] = ()

    def write(self, file: Path) -> None:
        """Whoever reads the file meanwhile finds the old plan or the new one."""
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self), indent=1))
        fresh.replace(file)


class Dice:
    """A plan being carried out: which rule strikes the next request."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._seen = [0] * len(plan.rules)
        self._hit = [0] * len(plan.rules)

    def strike(self, asked: Asked, second: float) -> tuple[int, Rule] | None:
        """The rule that hits this request, and its place in the plan; None where all goes well."""
        for place, rule in enumerate(self._plan.rules):
            if not rule.is_about(asked, second) or (
                rule.times is not None and self._hit[place] >= rule.times
            ):
                continue
            self._seen[place] += 1
            if Random(f"{self._plan.seed}/{place}/{self._seen[place]}").random() < rule.share:
                self._hit[place] += 1
                return place, rule
        return None


def read_plan(file: Path) -> Plan:
    """Raises `PlanError`."""
    try:
        told = json.loads(file.read_text())
        return Plan(seed=int(told["seed"]), rules=tuple(_rule(each) for each in told["rules"]))
    except (ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{file}: {error}") from error


def _rule(told: Mapping[str, Any]) -> Rule:
    unknown = told.keys() - {field.name for field in fields(Rule)}
    if unknown:
        raise PlanError(f"a rule has no {', '.join(sorted(unknown))}")
    return Rule(**told)


def understand(method: str, path: str, query: Mapping[str, str]) -> Asked:
    """What a request is about; the resource is empty where it is none of Kubernetes' objects."""
    match = _PATH.fullmatch(path)
    if match is None:
        return Asked(verb=method.lower(), resource="")
    plural, name, subresource = match["plural"], match["name"] or "", match["subresource"]
    if method == "GET":
        watches = query.get("watch") in ("true", "1")
        verb = "watch" if watches else "get" if name else "list"
    else:
        verb = _VERBS.get(method, method.lower())
    return Asked(verb=verb, resource=f"{plural}/{subresource}" if subresource else plural, name=name)


def weather(seed: int, *, seconds: float, share: float = 0.03) -> Plan:
    """A plan of everything at random: a bit of each fault all the time, and now and then a stretch of a bad one.

    Not `stale`: an API server that answers a list with the past breaks its own promise, and ours stands on it.
    """
    random = Random(seed)
    drizzle = [
        Rule(action="delay", seconds=0.3, share=share * 3),
        Rule(action="delay", seconds=3, share=share),
        Rule(action="answer", code=503, share=share),
        Rule(action="answer", code=500, phase="after", share=share),
        Rule(action="answer", code=429, retry_after=2, share=share),
        Rule(action="answer", code=409, verbs="update,create", share=share),
        Rule(action="reset", share=share),
        Rule(action="reset", phase="after", share=share),
        Rule(action="twice", verbs="create,update,delete", share=share),
        Rule(action="drip", seconds=2, verbs="get,list,create,update", share=share),
        Rule(action="cut", events=5, share=0.2),
        Rule(action="silence", events=3, share=0.1),
        Rule(action="gone", events=4, share=0.1),
        Rule(action="swap", share=0.1),
        Rule(action="repeat", share=0.1),
    ]
    storms = []
    begin = 20.0
    while begin < seconds - 60:
        length = random.uniform(3, 25)
        bad: tuple[Action, ...] = ("answer", "reset", "hang", "tls", "token", "delay")
        storms.append(Rule(action=random.choice(bad), since=begin, until=begin + length, seconds=4))
        begin += length + random.uniform(30, 90)
    calm = [Rule(**{**asdict(rule), "until": seconds - 60}) for rule in drizzle]
    return Plan(seed=seed, rules=(*storms, *calm))
