"""`convert`: CronJobs → CronSchedules, with every difference said."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.errors import CommandError, InputError
from cronschedule.cli.options import cluster_options_across
from cronschedule.cli.output import painter, say_json, to_yaml, warn

CRON_JOBS = "cronjobs.batch"


@click.command("convert")
@click.argument("names", nargs=-1)
@click.option(
    "-f",
    "--filename",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="YAML or JSON; - reads standard input.",
)
@click.option("--from-cluster", is_flag=True, help="The CronJobs with these NAMES, or all of the namespace.")
@click.option("-o", "--output", type=click.Choice(("yaml", "json")), default="yaml", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="Leave the differences out.")
@cluster_options_across
def command(
    *,
    names: tuple[str, ...],
    filename: str | None,
    from_cluster: bool,
    output: str,
    quiet: bool,
    cluster: Cluster,
) -> None:
    """Make CronSchedules of CronJobs, and say every difference.

    The manifests go to standard output, the differences to standard error, a line each. Other objects of a file are
    left alone. Nothing on the cluster is changed.

    \b
    Examples:
      kubectl cronschedule convert -f cronjob.yaml > cronschedule.yaml
      kubectl cronschedule convert --from-cluster nightly -n team-a
    """
    from cronschedule.cli.cronjobs import convert

    if from_cluster == (filename is not None) or (names and not from_cluster):
        raise click.UsageError("give either a file, -f FILE, or --from-cluster [NAME ...]")
    converted, mistakes = [], []
    for name, cron_job in _live(names, cluster) if from_cluster else _written(str(filename)):
        done = convert(cron_job, words.now())
        mistakes += [f"{name}: {mistake}" for mistake in done.mistakes]
        converted += [done.manifest] if done.manifest else []
        if not quiet and not done.mistakes:
            _tell(name, done.differences)
    if output == "json":
        say_json(
            converted[0] if len(converted) == 1 else {"apiVersion": "v1", "kind": "List", "items": converted}
        )
    else:
        sys.stdout.write("---\n".join(to_yaml(manifest) for manifest in converted))
    if mistakes:
        raise InputError(mistakes)


def _tell(name: str, differences: Iterable[object]) -> None:
    paint = painter(sys.stderr)
    for difference in differences:
        warn(f"{paint(name, 'strong')}: {difference}")


def _live(names: tuple[str, ...], cluster: Cluster) -> Iterator[tuple[str, dict[str, Any]]]:
    if names:
        items = [cluster.read(CRON_JOBS, name) for name in names]
    else:
        items = cluster.read(CRON_JOBS)["items"]
    if not items:
        raise CommandError("there are no CronJobs here")
    for item in items:
        yield item["metadata"]["name"], item


def _written(filename: str) -> Iterator[tuple[str, dict[str, Any]]]:
    from cronschedule.cli.cronjobs import is_cron_job
    from cronschedule.cli.documents import objects_of, read_documents

    documents = read_documents(filename)
    found = [value for document in documents for value, _ in objects_of(document) if is_cron_job(value)]
    if not found:
        raise InputError([f"{documents[0].source}: holds no CronJob"])
    for value in found:
        metadata = value.get("metadata")
        yield str(metadata.get("name", "CronJob") if isinstance(metadata, dict) else "CronJob"), value
