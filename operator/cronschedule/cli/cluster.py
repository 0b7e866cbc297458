"""The cluster, through kubectl: contexts, exec credentials and proxies are its business, not ours.

Whatever kubectl answers with, a caller gets data or one sentence (`CommandError`).
"""

import difflib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cronschedule.api.names import GROUP, PLURAL, SCHEDULE_LABEL
from cronschedule.cli.errors import CommandError

SCHEDULES = f"{PLURAL}.{GROUP}"
SILENCE = 2.0
"""Seconds after which what kubectl says (a sign-in prompt of a credential plugin) is shown while it still runs."""

Object = dict[str, Any]


class NotFound(CommandError):
    """The object is not there."""


class Forbidden(CommandError):
    """The cluster knows who asks, and says no."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """Which cluster and namespace is meant; what is `None` or empty, kubectl takes from its configuration."""

    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False

    def within(self, namespace: str) -> "Cluster":
        return replace(self, namespace=namespace, all_namespaces=False)

    def run(self, *words: str, stdin: str | None = None, scope: bool = True) -> str:
        """kubectl's answer to these words. Raises `CommandError`."""
        options = [f"--context={self.context}"] if self.context else []
        options += [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        if scope and self.all_namespaces:
            options += ["--all-namespaces"]
        elif scope and self.namespace:
            options += [f"--namespace={self.namespace}"]
        return _kubectl([*words[:1], *options, *words[1:]], stdin)

    def read(self, *words: str, scope: bool = True) -> Object:
        """The object, or the list, that `kubectl get …` shows."""
        answer: Object = json.loads(self.run("get", *words, "--output=json", scope=scope))
        return answer

    def create(self, manifest: Mapping[str, Any]) -> Object:
        answer = self.run("create", "--filename=-", "--output=json", stdin=json.dumps(manifest))
        created: Object = json.loads(answer)
        return created

    def schedule(self, name: str) -> Object:
        """The CronSchedule. `NotFound` says what may have been meant."""
        try:
            return self.read(SCHEDULES, name)
        except NotFound:
            raise NotFound(self._not_there(name)) from None

    def own_namespace(self) -> Object | None:
        """The namespace; who may not read it relies on what the operator has written into the status."""
        try:
            return self.read("namespaces", str(self.namespace), scope=False)
        except Forbidden:
            return None

    def schedules(self) -> list[Object]:
        """The CronSchedules of the namespace, or of all of them."""
        return list(self.read(SCHEDULES)["items"])

    def jobs_of(self, schedule: Mapping[str, Any]) -> list[Object]:
        """The Jobs that belong to a CronSchedule."""
        metadata = schedule["metadata"]
        here = self.within(metadata["namespace"])
        listed = here.read("jobs.batch", f"--selector={SCHEDULE_LABEL}={metadata['name']}")["items"]
        return [job for job in listed if _owner_uid(job) == metadata["uid"]]

    def _not_there(self, name: str) -> str:
        """What to say of a name that is not there: close names of the namespace, else namespaces that have it."""
        here = self.namespace or self.current_namespace()
        sentence = f"there is no CronSchedule {name!r} in namespace {here!r}"
        try:
            known = [_name(each) for each in self.within(here).schedules()]
            close = difflib.get_close_matches(name, known, n=1)
            if close:
                return f"{sentence}: did you mean {close[0]}?"
            elsewhere = replace(self, all_namespaces=True).schedules()
            found = sorted(each["metadata"]["namespace"] for each in elsewhere if _name(each) == name)
        except CommandError:
            return sentence
        return f"{sentence}, but in {', '.join(found[:3])}: add -n {found[0]}" if found else sentence

    def current_namespace(self) -> str:
        """The namespace that kubectl would take."""
        if self.namespace:
            return self.namespace
        view = ("view", "--minify", "--output=jsonpath={..namespace}")
        return self.run("config", *view, scope=False).strip() or "default"


def _kubectl(words: Sequence[str], stdin: str | None) -> str:
    try:
        process = subprocess.Popen(
            ["kubectl", *words],
            stdin=None if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        reason = (
            "is not on the PATH" if isinstance(error, FileNotFoundError) else f"cannot run: {error.strerror}"
        )
        raise CommandError(f"kubectl {reason}, and the cluster is reached through it") from None
    answer, said = _communicate(process, stdin)
    if process.returncode:
        raise explain(said)
    return answer


def _communicate(process: "subprocess.Popen[bytes]", stdin: str | None) -> tuple[str, str]:
    shown = 0
    given = None if stdin is None else stdin.encode()
    while True:
        try:
            answer, said = process.communicate(given, timeout=SILENCE)
        except subprocess.TimeoutExpired as waiting:
            so_far = waiting.stderr or b""
            sys.stderr.write(so_far[shown:].decode(errors="replace"))
            sys.stderr.flush()
            shown, given = len(so_far), None
            continue
        return answer.decode(errors="replace"), said.decode(errors="replace")


def explain(said: str) -> CommandError:
    """What kubectl said on its standard error, as one sentence for a person."""
    lines = [line for line in said.splitlines() if line.strip() and not re.match(r"[EWI]\d{4} ", line)]
    line = next(
        (line for line in lines if _ERROR.match(line)), lines[-1] if lines else "kubectl failed, silently"
    )
    if "the server doesn't have a resource type" in line and PLURAL in line:
        return CommandError("this cluster knows no CronSchedules: the operator's CRD is not installed")
    if "localhost:8080" in line:
        return CommandError("no cluster is configured: kubectl has no kubeconfig with a current context")
    if line.startswith(("The connection to the server", "Unable to connect")):
        return CommandError(f"the cluster cannot be reached: {line.partition(' - did you')[0]}")
    message = _ERROR.sub("", line)
    if "(NotFound)" in line:
        return NotFound(message)
    if "(Forbidden)" in line or line.startswith("Error from server: admission"):
        return Forbidden(message)
    return CommandError(message)


_ERROR = re.compile(
    r"([Ee]rror from server( \(\w+\))?: |error: |(?=The connection to the server|Unable to connect))"
)


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])


def _owner_uid(job: Mapping[str, Any]) -> str | None:
    return next((owner["uid"] for owner in job["metadata"].get("ownerReferences") or []), None)
