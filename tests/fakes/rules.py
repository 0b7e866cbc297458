"""What the API server does with one request: its checks, in its order, and its answers. No time passes here.

`tests/e2e/test_fake_agrees.py` asks the real one the same questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import jsonpatch

from fakes.calls import Call
from fakes.store import Object, Store, copy


def stamp(seconds: int) -> str:
    """RFC 3339, whole seconds, UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Rules:
    """Applies calls to a store. Lists and watches are not among them."""

    def __init__(self, store: Store, now: Callable[[], int]) -> None:
        self._store = store
        self._now = now
        self._made = 0

    def apply(self, call: Call) -> Object:
        """Raises `ApiError`. The answer is the caller's own copy."""
        if call.query.get("dryRun"):
            raise NotImplementedError("the fake has no dry run")
        handler = {
            "get": self._get,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
        }[call.verb]
        answer: Object = copy(handler(call))
        return answer

    def _get(self, call: Call) -> Object:
        found = self._store.objects.get(call.key)
        if found is None:
            raise call.refused(404, "NotFound", "not found")
        return found

    def _create(self, call: Call) -> Object:
        body = copy(call.body)
        meta = body.setdefault("metadata", {})
        if call.kind.namespaced and meta.setdefault("namespace", call.namespace) != call.namespace:
            says = "the namespace of the provided object does not match the namespace sent on the request"
            raise call.refusal(400, "BadRequest", says, name=None, group=None, kind=None)
        self._made += 1
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = f"{meta['generateName']}{self._made:05d}"
        # The order is the API server's. It makes a full quota hide that the name is taken.
        self._admit_namespace(call)
        meta.update(uid=f"00000000-0000-4000-8000-{self._made:012d}", creationTimestamp=stamp(self._now()))
        meta.pop("resourceVersion", None)
        if call.kind.has_generation:
            meta["generation"] = 1
        if call.kind.has_status:
            body.pop("status", None)
        if call.kind.plural == "namespaces":
            body["status"] = {"phase": "Active"}
        self._validate(call, body)
        self._admit_quota(call)
        key = (call.kind.plural, call.namespace or "", meta["name"])
        if key in self._store.objects:
            raise call.refused(409, "AlreadyExists", "already exists")
        return self._store.write(key, self._conform(call, body))

    def _admit_namespace(self, call: Call) -> None:
        if not call.kind.namespaced:
            return
        namespace = self._store.objects.get(("namespaces", "", call.namespace or ""))
        if namespace is None:
            says = f'namespaces "{call.namespace}" not found'
            raise call.refusal(404, "NotFound", says, kind="namespaces", group="", name=call.namespace)
        if namespace["status"]["phase"] == "Terminating":
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {call.namespace} is being terminated",
                "field": "metadata.namespace",
            }
            says = (
                f"is forbidden: unable to create new content in namespace {call.namespace} "
                "because it is being terminated"
            )
            raise call.refused(403, "Forbidden", says, causes=[cause])

    def _admit_quota(self, call: Call) -> None:
        counted = f"count/{call.kind.qualified}"
        for quota in self._store.select("resourcequotas", call.namespace, lambda _: True):
            limit = quota["spec"].get("hard", {}).get(counted)
            used = len(self._store.select(call.kind.plural, call.namespace, lambda _: True))
            if limit is not None and used >= int(limit):
                says = (
                    f"is forbidden: exceeded quota: {quota['metadata']['name']}, requested: {counted}=1, "
                    f"used: {counted}={used}, limited: {counted}={limit}"
                )
                raise call.refused(403, "Forbidden", says)

    def _validate(self, call: Call, body: Object) -> None:
        if not body["metadata"].get("name"):
            says = "Required value: name or generateName is required"
            raise call.invalid("metadata.name", "FieldValueRequired", says)
        if call.kind.plural == "jobs":
            pod = body.get("spec", {}).get("template", {}).get("spec", {})
            if not pod.get("containers"):
                where = "spec.template.spec.containers"
                raise call.invalid(where, "FieldValueRequired", "Required value")
            if pod.get("restartPolicy") not in ("OnFailure", "Never"):
                says = 'Required value: valid values: "OnFailure", "Never"'
                raise call.invalid("spec.template.spec.restartPolicy", "FieldValueRequired", says)
        if call.kind.plural == "events":
            for key in ("eventTime", "reportingInstance", "action", "reason"):
                if not body.get(key):
                    raise call.invalid(key, "FieldValueRequired", "Required value")
            if body.get("type") not in ("Normal", "Warning"):
                says = f'Invalid value: "{body.get("type", "")}": has invalid value: {body.get("type", "")}'
                raise call.invalid("type", "FieldValueInvalid", says)
            if len(body.get("note", "")) > 1024:
                says = 'Invalid value: "": can have at most 1024 characters'
                raise call.invalid("message", "FieldValueInvalid", says)

    def _update(self, call: Call, *, body: Object | None = None) -> Object:
        before = self._get(call)
        body = copy(call.body) if body is None else body
        meta = body.get("metadata") or {}
        uid = meta.get("uid")
        if uid and uid != before["metadata"]["uid"]:
            where = f"/registry/{call.kind.group}/{'/'.join(call.key)}"
            raise call.conflict(
                f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: "
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before['metadata']['uid']}"
            )
        asked = meta.get("resourceVersion")
        if not asked and (call.kind.schema or call.kind.plural == "leases"):
            says = "Invalid value: 0: must be specified for an update"
            where = "metadata.resourceVersion"
            raise call.invalid(where, "FieldValueInvalid", says, of=call.kind.plural)
        if asked and asked != before["metadata"]["resourceVersion"]:
            raise call.conflict(
                "the object has been modified; please apply your changes to the latest version and try again"
            )
        return self._replace(call, before, body)

    def _replace(self, call: Call, before: Object, body: Object) -> Object:
        if call.subresource == "status":
            after = {**before, "status": body.get("status")}
        else:
            kept = (
                "uid",
                "creationTimestamp",
                "deletionTimestamp",
                "generation",
                "resourceVersion",
                "namespace",
            )
            meta = {key: value for key, value in (body.get("metadata") or {}).items() if key not in kept}
            meta |= {key: before["metadata"][key] for key in kept if key in before["metadata"]}
            after = {**body, "metadata": meta}
            if call.kind.has_status:
                after = {**after, "status": before.get("status")}
        if after.get("status") is None:
            after.pop("status", None)
        after = self._conform(call, copy(after))
        if after == before:
            return before  # nothing is written, no event is sent
        rest_before, rest_after = (
            {k: v for k, v in told.items() if k not in ("metadata", "status")} for told in (before, after)
        )
        if call.kind.has_generation and rest_before != rest_after:
            after["metadata"] = {**after["metadata"], "generation": before["metadata"]["generation"] + 1}
        if after["metadata"].get("deletionTimestamp") and not after["metadata"].get("finalizers"):
            return self._store.write(call.key, None)
        return self._store.write(call.key, after)

    def _patch(self, call: Call) -> Object:
        before = copy(self._get(call))
        if call.content_type == "application/merge-patch+json":
            after = merge(before, call.body)
        elif call.content_type == "application/json-patch+json":
            try:
                after = jsonpatch.apply_patch(before, call.body)
            except jsonpatch.JsonPatchException as error:
                raise call.refusal(422, "Invalid", str(error)) from error
        else:
            raise call.refusal(415, "UnsupportedMediaType", f"no patches of type {call.content_type}")
        return self._update(call, body=after)

    def _delete(self, call: Call) -> Object:
        before = self._get(call)
        meta, options = before["metadata"], call.body or {}
        if options.get("propagationPolicy", "Background") != "Background":
            raise NotImplementedError("the fake only deletes in the background")
        for key, label, why in (
            ("uid", "UID", "deleted and then recreated"),
            ("resourceVersion", "ResourceVersion", "modified"),
        ):
            wanted = (options.get("preconditions") or {}).get(key)
            if wanted and wanted != meta[key]:
                says = f"the {label} in the precondition ({wanted}) does not match the {label} in record"
                raise call.conflict(
                    f"{says} ({meta[key]}). The object might have been {why}", of=call.kind.kind
                )
        if call.kind.plural == "namespaces":
            if before["status"]["phase"] == "Terminating":
                return before
            gone = {**before, "metadata": {**meta, "deletionTimestamp": stamp(self._now())}}
            return self._store.write(call.key, {**gone, "status": {"phase": "Terminating"}})
        if meta.get("finalizers"):
            if meta.get("deletionTimestamp"):
                return before
            aged = {"generation": meta["generation"] + 1} if "generation" in meta else {}
            meta = {**meta, **aged, "deletionTimestamp": stamp(self._now())}
            return self._store.write(call.key, {**before, "metadata": meta})
        self._store.write(call.key, None)
        details = {"name": call.name, "group": call.kind.group, "kind": call.kind.plural, "uid": meta["uid"]}
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}

    def _conform(self, call: Call, told: Object) -> Object:
        if call.kind.schema is None:
            return told
        roots = ("apiVersion", "kind", "metadata")
        rest = {key: value for key, value in told.items() if key not in roots}
        conform(call.kind.schema, rest)
        return {**{key: told[key] for key in roots}, **rest}


def merge(before: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    after = dict(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = merge(after.get(key), value)
    return after


def conform(schema: Mapping[str, Any], told: Any) -> None:
    """Prune and default in place, as a structural schema does."""
    if isinstance(told, list):
        for item in told:
            conform(schema.get("items") or {}, item)
    if not isinstance(told, dict):
        return
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for key in [key for key in told if key not in properties]:
        if isinstance(others, dict):
            conform(others, told[key])
        elif not others and not schema.get("x-kubernetes-preserve-unknown-fields"):
            del told[key]
    for key, child in properties.items():
        if key not in told and "default" in child:
            told[key] = copy(child["default"])
        if key in told:
            conform(child, told[key])
