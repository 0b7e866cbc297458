"""Argo CD, as far as it concerns one resource: it runs the Lua of hack/argocd with the object as `obj`."""

from pathlib import Path
from typing import Any

from lupa import lua54

LUA = Path(__file__).resolve().parents[2] / "hack" / "argocd"


def run(script: str, schedule: dict[str, Any]) -> Any:
    """What a script of hack/argocd returns for a schedule."""
    runtime = lua54.LuaRuntime(unpack_returned_tuples=True)
    runtime.globals().obj = _to_lua(runtime, schedule)
    return _to_python(runtime.execute((LUA / script).read_text()))


def _to_lua(runtime: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return runtime.table_from({key: _to_lua(runtime, part) for key, part in value.items()})
    if isinstance(value, list):
        return runtime.table_from([_to_lua(runtime, part) for part in value])
    return value


def _to_python(value: Any) -> Any:
    if lua54.lua_type(value) != "table":
        return value
    keys = list(value.keys())
    if keys and keys == list(range(1, len(keys) + 1)):
        return [_to_python(value[key]) for key in keys]
    return {key: _to_python(value[key]) for key in keys}
