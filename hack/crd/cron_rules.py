"""`semantics.md` §2 in CEL: what the API server refuses of a cron text, field by field.

The rules see the text as `self`. Their expressions are long because CEL in a CRD has no variables, and each begins at
`self` because the API server prices a rule before it runs: cheap are only lists cut from a text of bounded length.
"""

from dataclasses import dataclass

from crd.structural import Schema

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
MACROS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")

FIELDS = r"self.findAll(r'[^ \t]+')"
A_MACRO = r"self.matches(r'^[ \t]*@')"
A_ZONE = r"self.matches(r'^[ \t]*(?i:(CRON_)?TZ)[ \t]*=')"


@dataclass(frozen=True, kw_only=True)
class Field:
    """One of the five fields: its place in the text, its values as regular expressions, and how to tell them."""

    name: str
    place: int
    values: str
    steps: str
    most: int
    names: tuple[str, ...] = ()
    first: int = 0
    allowed: str
    example: str

    @property
    def text(self) -> str:
        """CEL for the field's text."""
        return f"{FIELDS}[{self.place}]"

    @property
    def value(self) -> str:
        return f"(0*({self.values})|{'|'.join(self.names)})" if self.names else f"0*({self.values})"

    @property
    def span(self) -> str:
        """A regular expression for an item of the field's list that does not begin with `*`."""
        return f"{self.value}(-{self.value})?(/0*({self.steps}))?"

    @property
    def star(self) -> str:
        """A regular expression for an item with a step from `*`."""
        return f"[*]/0*({self.steps})"

    @property
    def numbered(self) -> str:
        """CEL for the field's text with numbers for names."""
        replaced = "".join(f".replace('{name}', '{n}')" for n, name in enumerate(self.names, self.first))
        return f"{self.text}.lowerAscii(){replaced}" if self.names else self.text


MINUTE = Field(
    name="minute",
    place=0,
    values="[0-9]|[1-5][0-9]",
    steps="[1-9]|[1-5][0-9]|60",
    most=60,
    allowed="numbers from 0 to 59",
    example="0,30 or 10-50/20 or */15",
)
HOUR = Field(
    name="hour",
    place=1,
    values="[0-9]|1[0-9]|2[0-3]",
    steps="[1-9]|1[0-9]|2[0-4]",
    most=24,
    allowed="numbers from 0 to 23",
    example="9,17 or 9-17/2 or */6",
)
DAY = Field(
    name="day-of-month",
    place=2,
    values="[1-9]|[12][0-9]|3[01]",
    steps="[1-9]|[12][0-9]|3[01]",
    most=31,
    allowed="numbers from 1 to 31",
    example="1,15 or 1-7 or */10",
)
MONTH = Field(
    name="month",
    place=3,
    values="[1-9]|1[0-2]",
    steps="[1-9]|1[0-2]",
    most=12,
    names=MONTHS,
    first=1,
    allowed="numbers from 1 to 12 or names from jan to dec",
    example="1,7 or apr-sep or */3",
)
WEEKDAY = Field(
    name="day-of-week",
    place=4,
    values="[0-7]",
    steps="[1-7]",
    most=7,
    names=WEEKDAYS,
    allowed="numbers from 0 to 7 (0 and 7 are Sunday) or names from sun to sat",
    example="1,3 or mon-fri or */2",
)


def schedule_rules() -> list[Schema]:
    """The rules of `spec.schedule`, in the order in which their messages are shown."""
    return [
        _characters(),
        _no_zone(),
        _macro(),
        _five_fields(),
        *(_items(field) for field in (MINUTE, HOUR, DAY, MONTH, WEEKDAY)),
        *(_ranges(field) for field in (MINUTE, HOUR, DAY, MONTH, WEEKDAY)),
        _comes(),
    ]


def _characters() -> Schema:
    return {
        "rule": r"self.matches(r'^[\t -~]*$')",
        "message": "only letters, digits, blanks, tabs and the signs * , - / are allowed",
    }


def _no_zone() -> Schema:
    return {
        "rule": f"!{A_ZONE}",
        "message": "a time zone is not allowed in the text, write it into spec.timeZone",
    }


def _macro() -> Schema:
    names = "|".join(macro[1:] for macro in MACROS)
    return {
        "rule": rf"!{A_MACRO} || self.matches(r'^[ \t]*@({names})[ \t]*$')",
        "message": f"of the texts that begin with @ only these are allowed: {', '.join(MACROS)}",
    }


def _five_fields() -> Schema:
    what = "five fields are needed: minute hour day-of-month month day-of-week, such as 0 9 * * mon-fri"
    return {
        "rule": f"{A_MACRO} || {A_ZONE} || {FIELDS}.size() == 5",
        "message": what,
    }


def _guarded(rule: str) -> str:
    """The rule for texts of five fields; others have their own message."""
    return f"{FIELDS}.size() != 5 || {rule}"


def _items(field: Field) -> Schema:
    what = (
        f"the {field.name} field accepts * alone or a list of {field.allowed}, ranges of them and steps from 1 to"
        f" {field.most}, such as {field.example}"
    )
    right = f"i.matches('^(?i:{field.star}|{field.span})$')"
    wrong = f"{field.text}.split(',').filter(i, !{right})[0]"
    return {
        "rule": _guarded(f"{field.text} == '*' || {field.text}.split(',').all(i, {right})"),
        "message": what,
        "messageExpression": f"'{what}; the list item \"' + {wrong} + '\" is none of these'",
    }


def _ranges(field: Field) -> Schema:
    what = f"a range in the {field.name} field goes from a smaller to a larger value"
    return {
        "rule": _guarded(
            f"{field.numbered}.split(',').all(i, !i.matches('^0*[0-9]{{1,2}}-0*[0-9]{{1,2}}(/.*)?$')"
            " || int(i.split('-')[0]) < int(i.split('-')[1].split('/')[0]))"
        ),
        "message": what,
        "messageExpression": f"'{what}, and not so in \"' + {field.text} + '\"'",
    }


def _comes() -> Schema:
    """Some month must have one of the days, where both day fields must match.

    Only texts with no day before the 30th are looked at: every month has a 29th, February in leap years, and every day
    of the week meets it sooner or later.
    """
    days = "0*3[01](-0*31)?(/[0-9]+)?"
    months, weekdays = MONTH.span, f"{WEEKDAY.span}|[*]|{WEEKDAY.star}"
    lists = r"[ \t]+".join(f"({one})(,({one}))*" for one in (days, months, weekdays))
    late = rf"self.matches(r'^(?i)[ \t]*([^ \t]+[ \t]+){{2}}{lists}[ \t]*$')"
    starred = f"{WEEKDAY.text}.split(',').exists(i, i.startsWith('*'))"
    every = f"[0, 1, 2, 3, 4, 5, 6].all(v, {_spans(WEEKDAY)}.exists(s, {_has('v')} || v == 0 && {_has('7')}))"
    has_31 = f"{_spans(MONTH)}.exists(s, [1, 3, 5, 7, 8, 10, 12].exists(v, {_has('v')}))"
    has_30 = f"{_spans(MONTH)}.exists(s, [4, 6, 9, 11].exists(v, {_has('v')}))"
    on_30 = f"{DAY.text}.split(',').exists(i, i.matches('^0*30'))"
    return {
        "rule": f"!{late} || !({starred} || {every}) || {has_31} || {on_30} && {has_30}",
        "message": "none of the months has a day that the day-of-month field asks for, so it would never run",
    }


def _spans(field: Field) -> str:
    """CEL for a list of [first, last, step], one for each item; `a/n` goes on to the field's end."""
    end = 6 if field is WEEKDAY else 12
    first = "int(i.split('/')[0].split('-')[0])"
    if field is WEEKDAY:
        first = f"i.matches('^0*7/') ? 0 : {first}"
    last = f"i.contains('-') ? int(i.split('/')[0].split('-')[1]) : i.contains('/') ? {end} : {first}"
    step = "i.contains('/') ? int(i.split('/')[1]) : 1"
    return f"{field.numbered}.split(',').map(i, [{first}, {last}, {step}])"


def _has(value: str) -> str:
    """CEL that tells whether the span `s` has the value."""
    return f"({value} >= s[0] && {value} <= s[1] && ({value} - s[0]) % s[2] == 0)"
