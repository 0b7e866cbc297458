"""A kubectl for tests: answers from the JSON file in FAKE_WORLD, with the real one's words where it refuses."""

import json
import os
import sys

KINDS = {
    "cronschedules.cronschedule.dev": "CronSchedule",
    "jobs.batch": "Job",
    "job": "Job",
    "namespaces": "Namespace",
    "namespace": "Namespace",
    "cronjobs.batch": "CronJob",
    "backfills.cronschedule.dev": "Backfill",
}


def end(said, code=1):
    sys.stderr.write(said + "\n")
    sys.exit(code)


def merge(target, patch):
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = value


def main():
    path = os.environ["FAKE_WORLD"]
    with open(path) as file:
        world = json.load(file)
    words = sys.argv[1:]
    world["calls"].append(words)
    options = dict(word.lstrip("-").partition("=")[::2] for word in words if word.startswith("-"))
    plain = [word for word in words if not word.startswith("-")]
    verb, rest = plain[0], plain[1:]
    try:
        answer(world, verb, rest, options)
    finally:
        with open(path, "w") as file:
            json.dump(world, file)


def answer(world, verb, rest, options):
    if verb == "config":
        sys.stdout.write("default")
        return
    if verb == "create":
        created = json.load(sys.stdin)
        refuse(world, created["kind"])
        if "name" not in created["metadata"]:
            base = created["metadata"]["generateName"][:58]  # as the API server does it
            created["metadata"]["name"] = f"{base}{len(world['objects']):05}"
        known = [o for o in world["objects"] if same(o, created["kind"], created["metadata"]["name"])]
        if known:
            end(
                f'Error from server (AlreadyExists): jobs.batch "{created["metadata"]["name"]}" already exists'
            )
        created["metadata"] |= {
            "uid": f"uid-{created['metadata']['name']}",
            "resourceVersion": "1",
            "creationTimestamp": "2025-11-30T12:00:00Z",
        }
        world["objects"].append(created)
        json.dump(created, sys.stdout)
        return
    kind = KINDS[rest[0]]
    refuse(world, kind)
    namespace = None if "all-namespaces" in options else options.get("namespace", "default")
    found = [o for o in world["objects"] if o["kind"] == kind and in_scope(o, kind, namespace)]
    found = [o for o in found if selected(o, options.get("selector", ""))]
    if len(rest) > 1:
        found = [o for o in found if o["metadata"]["name"] == rest[1]]
        if not found:
            end(f'Error from server (NotFound): {rest[0]} "{rest[1]}" not found')
    if verb == "patch":
        merge(found[0], json.loads(options["patch"]))
    elif verb == "delete":
        world["objects"].remove(found[0])
        return
    if options.get("output", "").startswith("jsonpath"):
        sys.stdout.write(" ".join(o["metadata"]["name"] for o in found))
    else:
        json.dump(found[0] if len(rest) > 1 else {"kind": "List", "items": found}, sys.stdout)


def refuse(world, kind):
    if kind in world["denied"]:
        end(world["denied"][kind])


def same(item, kind, name):
    return item["kind"] == kind and item["metadata"]["name"] == name


def in_scope(item, kind, namespace):
    return kind == "Namespace" or namespace is None or item["metadata"]["namespace"] == namespace


def selected(item, selector):
    labels = item["metadata"].get("labels") or {}
    return all(
        labels.get(term.partition("=")[0]) == term.partition("=")[2] for term in selector.split(",") if term
    )


main()
