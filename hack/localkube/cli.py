"""The command line of hack/cluster."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from localkube import cluster, kwokctl, programs, records
from localkube.cluster import Cluster
from localkube.errors import LocalkubeError
from localkube.kubectl import executable

EXAMPLES = """\
examples:
  eval "$(hack/cluster up)"                            then kubectl talks to it
  hack/cluster up --name two --audit-log audit.jsonl   another one beside it
  hack/cluster kubectl get pods -A                     kubectl without setting KUBECONFIG
  hack/cluster stop kube-apiserver                     a fault; `start` ends it
  hack/cluster down --all

The first `up` takes about ten minutes where the programs have to be built; from then on five seconds.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        code: int = given.run(given)
    except LocalkubeError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; nothing is left behind.", file=sys.stderr)
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/cluster",
        description="A real Kubernetes control plane on this machine.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--name", default="dev", help="which cluster (default: dev)")
    _add_up(commands.add_parser("up", parents=[named], help="bring one up; prints `export KUBECONFIG=…`"))
    down = commands.add_parser("down", parents=[named], help="end it and remove everything of it")
    down.add_argument("--all", action="store_true", help="all clusters of this machine")
    down.set_defaults(run=_down)
    status = commands.add_parser("status", parents=[named], help="its components; exit code 1 if one is down")
    status.set_defaults(run=_status)
    commands.add_parser("list", help="the clusters of this machine").set_defaults(run=_list)
    kubectl = commands.add_parser("kubectl", parents=[named], help="run kubectl against it")
    kubectl.add_argument("words", nargs=argparse.REMAINDER)
    kubectl.set_defaults(run=_kubectl)
    for name, text in {
        "stop": "end a component at once, as a crash would",
        "pause": "let a component hang",
        "resume": "end a pause",
    }.items():
        fault = commands.add_parser(name, parents=[named], help=text)
        fault.add_argument("component", choices=kwokctl.COMPONENTS)
        fault.set_defaults(run=_fault, action=name)
    start = commands.add_parser("start", parents=[named], help="start what was stopped")
    start.set_defaults(run=_start)
    prepare = commands.add_parser("prepare", help="only fetch or build the programs")
    prepare.set_defaults(run=_prepare)
    return parser


def _add_up(up: argparse.ArgumentParser) -> None:
    up.add_argument("--kubeconfig", type=Path, metavar="FILE", help="add its context to this file")
    up.add_argument("--audit-log", type=Path, metavar="FILE", help="have who did what appended here")
    up.add_argument("--extra-args", action="append", default=[], metavar="COMPONENT=KEY=VALUE")
    up.add_argument("--without", action="append", default=[], choices=kwokctl.OPTIONAL, metavar="COMPONENT")
    up.add_argument("--binaries", type=Path, metavar="FOLDER", help="take the programs from here")
    up.add_argument("--kind", action="store_true", help="use Docker and kind instead of local processes")
    up.set_defaults(run=_up)


def _up(given: argparse.Namespace) -> int:
    cluster.sweep()
    if records.find(given.name):
        print(f"{given.name} is up already.", file=sys.stderr)
        running = Cluster.get(given.name)
    elif given.kind:
        running = Cluster.up_in_docker(name=given.name, kubeconfig=given.kubeconfig, owner=0)
    else:
        running = Cluster.up(
            name=given.name,
            kubeconfig=given.kubeconfig,
            audit_log=given.audit_log,
            extra_args=given.extra_args,
            without=given.without,
            binaries=given.binaries,
            owner=0,
        )
    print(f"export KUBECONFIG={running.kubeconfig}")
    return 0


def _down(given: argparse.Namespace) -> int:
    gone = cluster.sweep()
    wanted = [record for record in records.everything() if given.all or record.name == given.name]
    for record in wanted:
        cluster.remove(record)
    names = sorted([*gone, *(record.name for record in wanted)])
    print(f"Removed: {', '.join(names)}." if names else "Nothing to remove.", file=sys.stderr)
    return 0


def _status(given: argparse.Namespace) -> int:
    found = Cluster.get(given.name)
    components = found.components()
    for name, pid in components.items():
        print(f"{name:24} {f'running, process {pid}' if pid else 'stopped'}")
    print(f"{'kubeconfig':24} {found.kubeconfig}")
    print(f"{'logs':24} {found.logs}")
    return 0 if all(components.values()) else 1


def _list(given: argparse.Namespace) -> int:
    for name in cluster.sweep():
        print(f"{name:16} removed: nobody wanted it any more", file=sys.stderr)
    for record in records.everything():
        print(f"{record.name:16} {'starting' if record.launcher else 'running':10} {record.kubeconfig}")
    return 0


def _kubectl(given: argparse.Namespace) -> int:
    words = given.words[1:] if given.words[:1] == ["--"] else given.words
    command = [executable(), f"--kubeconfig={Cluster.get(given.name).kubeconfig}", *words]
    sys.stdout.flush()
    os.execv(command[0], command)


def _fault(given: argparse.Namespace) -> int:
    getattr(Cluster.get(given.name), given.action)(given.component)
    return 0


def _start(given: argparse.Namespace) -> int:
    Cluster.get(given.name).start()
    return 0


def _prepare(given: argparse.Namespace) -> int:
    print(programs.find())
    return 0
