"""Options that several commands share. Those about the cluster may stand before the command or after it."""

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any

import click

from cronschedule.cli.cluster import SCHEDULES, Cluster
from cronschedule.cli.errors import CommandError

Decorated = Callable[..., Any]


def cluster_options(command: Decorated) -> Decorated:
    """-n, --context, --kubeconfig; a command (not the group) gets them as its argument `cluster`."""
    return _take_cluster(command, [_NAMESPACE, _CONTEXT, _KUBECONFIG])


def cluster_options_across(command: Decorated) -> Decorated:
    """The same, and -A for all namespaces."""
    return _take_cluster(command, [_NAMESPACE, _ALL, _CONTEXT, _KUBECONFIG])


def output_option(*formats: str) -> Callable[[Decorated], Decorated]:
    """-o with these formats, the first of them the default."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Form of the answer.",
    )


file_option = click.option(
    "-f",
    "--filename",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="YAML or JSON; - reads standard input.",
)


def _take_cluster(command: Decorated, options: list[Callable[[Decorated], Decorated]]) -> Decorated:
    @click.pass_context
    def with_cluster(ctx: click.Context, /, *args: Any, **given: Any) -> Any:
        named = {
            name: given.pop(name, None) for name in ("namespace", "all_namespaces", "context", "kubeconfig")
        }
        before: Mapping[str, Any] = ctx.parent.obj if ctx.parent is not None and ctx.parent.obj else {}
        chosen = {name: value or before.get(name) for name, value in named.items()}
        if isinstance(ctx.command, click.Group):
            ctx.obj = chosen
            return None
        if named["namespace"] and named["all_namespaces"]:
            raise click.UsageError("-n and -A exclude each other")
        if named["namespace"]:
            chosen["all_namespaces"] = False
        return command(*args, cluster=_cluster(chosen), **given)

    decorated: Decorated = update_wrapper(with_cluster, command)
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _cluster(chosen: Mapping[str, Any]) -> Cluster:
    return Cluster(
        context=chosen.get("context"),
        kubeconfig=chosen.get("kubeconfig"),
        namespace=chosen.get("namespace"),
        all_namespaces=bool(chosen.get("all_namespaces")),
    )


def _complete(
    words: Callable[[Cluster], list[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completion by what the cluster knows, of the cluster named so far; nothing where it cannot be reached."""

    def complete(ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
        try:
            return [word for word in words(_cluster(ctx.params)) if word.startswith(typed)]
        except CommandError:
            return []

    return complete


def _schedule_names(cluster: Cluster) -> list[str]:
    return cluster.run("get", SCHEDULES, *_NAMES).split()


name_argument = click.argument("name", shell_complete=_complete(_schedule_names))
names_argument = click.argument("names", nargs=-1, required=True, shell_complete=_complete(_schedule_names))
optional_name_argument = click.argument("name", required=False, shell_complete=_complete(_schedule_names))


_NAMES = ("--output=jsonpath={.items[*].metadata.name}",)
_NAMESPACE = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Namespace; default: kubectl's current one.",
    shell_complete=_complete(lambda cluster: cluster.run("get", "namespaces", *_NAMES, scope=False).split()),
)
_ALL = click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
_CONTEXT = click.option(
    "--context",
    metavar="NAME",
    help="Context of the kubeconfig.",
    shell_complete=_complete(
        lambda cluster: cluster.run("config", "get-contexts", "-o=name", scope=False).split()
    ),
)
_KUBECONFIG = click.option("--kubeconfig", metavar="FILE", type=click.Path(), help="Path of the kubeconfig.")
