"""What the API server refuses beyond the plain schema: the rules of `api.md` in CEL, so that no webhook is needed."""

from crd.cron_rules import schedule_rules
from crd.structural import Schema
from cronschedule.api.names import LONGEST_NAME
from cronschedule.api.shapes import DURATION_PATTERN, DURATION_SHAPE


def name_rules() -> list[Schema]:
    """The rules of the whole object. It changes with every status written, so an old object is let be."""
    return [
        {
            "rule": f"oldSelf.hasValue() || size(self.metadata.name) <= {LONGEST_NAME}",
            "optionalOldSelf": True,
            "message": f"metadata.name may have {LONGEST_NAME} characters at most, as its Jobs' names are longer",
        }
    ]


def add_rules(spec: Schema) -> None:
    """Put the rules into the schema of the spec."""
    fields = spec["properties"]
    fields["schedule"]["x-kubernetes-validations"] = schedule_rules()
    fields["timeZone"]["x-kubernetes-validations"] = _zone_rules()
    fields["maxStaleness"]["x-kubernetes-validations"] = _duration_rules()
    catch_up = fields["catchUp"]["properties"]
    catch_up["maxAge"]["x-kubernetes-validations"] = _duration_rules()
    fields["jobTemplate"]["properties"]["spec"]["x-kubernetes-validations"] = _job_rules()
    spec["x-kubernetes-validations"] = [
        {
            "rule": "self.misfirePolicy == 'CatchUp' || !has(self.catchUp)",
            "message": "catchUp is allowed only with misfirePolicy CatchUp",
            "reason": "FieldValueForbidden",
            "fieldPath": ".catchUp",
        },
        {
            "rule": "self.misfirePolicy != 'CatchUp' || self.concurrencyPolicy != 'Replace'",
            "message": "concurrencyPolicy Replace is not allowed with misfirePolicy CatchUp, use Forbid or Allow",
            "fieldPath": ".concurrencyPolicy",
        },
    ]


def _zone_rules() -> list[Schema]:
    """The server's own database knows the zones, but takes offsets and some names that are none for zones too.

    It fails, rather than saying no, for a name it does not know; a value that was there before is therefore not asked
    about, or the status of an object that another server had let in could never be written.
    """
    name = "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"
    others = "['Local', 'Factory', 'localtime', 'posixrules']"
    shape = f"self.matches('{name}') && !self.matches('^(posix|right)/') && !(self in {others})"
    return [
        {
            "rule": shape,
            "message": "a name of the IANA time zone database is needed, such as Europe/Berlin or Etc/UTC",
        },
        {
            "rule": "(oldSelf.hasValue() && oldSelf.value() == self)"
            f" || !({shape}) || timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0",
            "optionalOldSelf": True,
            "message": "this name is not in the IANA time zone database",
        },
    ]


def _duration_rules() -> list[Schema]:
    small = "^(0*[0-9]{1,5}h)?(0*[0-9]{1,5}m)?(0*[0-9]{1,5}s)?$"
    shape = f"self.matches('^{DURATION_PATTERN}$')"
    bounds = (
        f"self.matches('{small}') && duration(self) >= duration('1m') && duration(self) <= duration('24h')"
    )
    return [
        {"rule": shape, "message": f"write {DURATION_SHAPE}"},
        {"rule": f"!{shape} || ({bounds})", "message": "1m to 24h is allowed"},
    ]


def _job_rules() -> list[Schema]:
    why = "is not allowed in a template, every Job gets a selector of its own"
    return [
        {
            "rule": "!has(self.selector)",
            "message": f"selector {why}",
            "reason": "FieldValueForbidden",
            "fieldPath": ".selector",
        },
        {
            "rule": "!has(self.manualSelector)",
            "message": f"manualSelector {why}",
            "reason": "FieldValueForbidden",
            "fieldPath": ".manualSelector",
        },
    ]
