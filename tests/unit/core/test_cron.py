"""The parser of cron texts: semantics.md §2, what is refused, with which words, and what is taken."""

import pytest
from cron_values import as_sets, scanned, text_with

from cronschedule.core.cron import MACROS, CronError, parse_cron


def refusal(text: str) -> str:
    with pytest.raises(CronError) as caught:
        parse_cron(text)
    return str(caught.value)


REFUSED_IN_A_FIELD = {
    "minute above 59": ("minute", "60", "'60' is not allowed; values are 0-59"),
    "hour above 23": ("hour", "24", "'24' is not allowed; values are 0-23"),
    "day 0": ("day-of-month", "0", "'0' is not allowed; values are 1-31"),
    "day above 31": ("day-of-month", "32", "'32' is not allowed; values are 1-31"),
    "month 0": ("month", "0", "values are 1-12 or jan-dec"),
    "month above 12": ("month", "13", "values are 1-12 or jan-dec"),
    "weekday above 7": ("day-of-week", "8", "values are 0-7 or sun-sat (0 and 7 are Sunday)"),
    "range end out of bounds": ("hour", "20-24", "'24' in '20-24' is not allowed"),
    "range start out of bounds": ("day-of-month", "0-5", "'0' in '0-5' is not allowed"),
    "month name among minutes": ("minute", "jan", "'jan' is not allowed"),
    "month name among weekdays": ("day-of-week", "feb", "'feb' is not allowed"),
    "weekday name among months": ("month", "mon", "'mon' is not allowed"),
    "long weekday name": ("day-of-week", "sunday", "'sunday' is not allowed"),
    "equal range": ("minute", "5-5", "the range '5-5' is one value"),
    "equal range of names": ("month", "feb-feb", "the range 'feb-feb' is one value"),
    "equal range with leading zero": ("minute", "05-5", "is one value"),
    "equal range with a step": ("minute", "5-5/2", "is one value"),
    "reversed range": ("hour", "22-4", "the range '22-4' runs backwards"),
    "reversed weekdays": ("day-of-week", "sat-sun", "runs backwards"),
    "reversed weekdays in numbers": ("day-of-week", "7-1", "runs backwards"),
    "star first in a list": ("minute", "*,5", "a bare *"),
    "star last in a list": ("day-of-month", "1,*", "a bare *"),
    "two stars": ("hour", "*,*", "a bare *"),
    "empty item in the middle": ("minute", "1,,2", "an empty item in a list"),
    "empty item at the end": ("minute", "1,", "an empty item in a list"),
    "empty item at the start": ("minute", ",1", "an empty item in a list"),
    "nothing but a comma": ("minute", ",", "an empty item in a list"),
    "plus sign": ("minute", "+5", "'+5' is not allowed"),
    "minus sign": ("minute", "-5", "is not allowed"),
    "sign in a step": ("minute", "*/-5", "the step of '*/-5' must be a whole number from 1 to 60"),
    "plus in a step": ("minute", "*/+5", "must be a whole number from 1 to 60"),
    "open range": ("minute", "5-", "is not allowed"),
    "range of three": ("minute", "1-3-5", "is not allowed"),
    "star in a range": ("minute", "*-5", "is not allowed"),
    "range to a star": ("minute", "5-*", "is not allowed"),
    "two stars in one item": ("minute", "**", "is not allowed"),
    "step of nothing": ("minute", "/5", "is not allowed"),
    "step without a number": ("minute", "*/", "must be a whole number from 1 to 60"),
    "two steps": ("minute", "*/5/2", "must be a whole number from 1 to 60"),
    "step by name": ("month", "*/feb", "must be a whole number from 1 to 12"),
    "step 0": ("minute", "*/0", "must be a whole number from 1 to 60"),
    "step 0 of a range": ("minute", "10-20/0", "must be a whole number from 1 to 60"),
    "step above the minutes": ("minute", "*/61", "must be a whole number from 1 to 60"),
    "step above the hours": ("hour", "*/25", "must be a whole number from 1 to 24"),
    "step above the days": ("day-of-month", "*/32", "must be a whole number from 1 to 31"),
    "step above the months": ("month", "1/13", "must be a whole number from 1 to 12"),
    "step above the weekdays": ("day-of-week", "1-5/8", "must be a whole number from 1 to 7"),
    "L for the last day": ("day-of-month", "L", "'L' is not allowed"),
    "L for the last Friday": ("day-of-week", "5L", "'5L' is not allowed"),
    "L before a weekday": ("day-of-week", "L5", "'L5' is not allowed"),
    "W for a workday": ("day-of-month", "15W", "'15W' is not allowed"),
    "# for the second Monday": ("day-of-week", "1#2", "'1#2' is not allowed"),
    "? for any day": ("day-of-month", "?", "'?' is not allowed"),
    "? for any weekday": ("day-of-week", "?", "'?' is not allowed"),
    "H for a hashed minute": ("minute", "H", "'H' is not allowed"),
    "H with a step": ("minute", "H/15", "is not allowed"),
    "H with bounds": ("minute", "H(0-9)", "is not allowed"),
    "R for a random minute": ("minute", "R", "'R' is not allowed"),
    "~ for a random minute": ("minute", "0~30", "'0~30' is not allowed"),
    "decimals": ("minute", "1.5", "'1.5' is not allowed"),
    "underscore": ("minute", "1_0", "'1_0' is not allowed"),
    "hexadecimal": ("minute", "0x5", "'0x5' is not allowed"),
    "semicolon": ("minute", "1;2", "'1;2' is not allowed"),
}


@pytest.mark.parametrize(("field", "item", "words"), REFUSED_IN_A_FIELD.values(), ids=REFUSED_IN_A_FIELD)
def test_a_field_is_refused_by_name_and_with_what_is_allowed(field: str, item: str, words: str) -> None:
    message = refusal(text_with(field, item))
    assert message.startswith(f"{field}: ")
    assert words in message


LONG = ",".join(str(n) for n in [*range(0, 8), *range(10, 36)]) + " * * * *"
REFUSED_AS_A_WHOLE = {
    "nothing": ("", "the schedule has 0 fields; exactly five are allowed"),
    "blanks": ("   ", "the schedule has 0 fields"),
    "four fields": ("0 9 * *", "the schedule has 4 fields"),
    "seconds or a year": ("0 0 9 * * *", "the schedule has 6 fields; exactly five are allowed"),
    "seconds and a year": ("0 0 9 * * * 2026", "the schedule has 7 fields"),
    "101 characters": (LONG, "the schedule has 101 characters; at most 100 are allowed"),
    "@reboot": ("@reboot", "'@reboot' is not a macro that is allowed; use one of @hourly @daily"),
    "@every": ("@every 5m", "'@every 5m' is not a macro"),
    "a macro in capitals": ("@Daily", "'@Daily' is not a macro"),
    "a macro with a field": ("@hourly *", "'@hourly *' is not a macro"),
    "an unknown macro": ("@fortnightly", "'@fortnightly' is not a macro"),
    "a macro and a whole schedule": ("@daily 0 9 * *", "is not a macro"),
    "TZ=": ("TZ=Europe/Berlin 0 9 * * *", "the field timeZone"),
    "CRON_TZ=": ("CRON_TZ=UTC 0 9 * * *", "the field timeZone"),
    "CRON_TZ= before a macro": ("CRON_TZ=UTC @daily", "the field timeZone"),
    "CRON_TZ= in place of a field": ("CRON_TZ=UTC 9 * * *", "the field timeZone"),
    "a line break": ("0 9 * * *\n", "printable ASCII characters, blanks and tabs"),
    "a line break between fields": ("0 9\n* * *", "printable ASCII"),
    "a no-break space": ("0\u00a09 * * *", "printable ASCII"),
    "a form feed": ("0\f9 * * *", "printable ASCII"),
    "full-width digits": ("\uff10 9 * * *", "printable ASCII"),
    "Arabic digits": ("\u0665 9 * * *", "printable ASCII"),
    "a superscript digit": ("\u00b2 9 * * *", "printable ASCII"),
    "a NUL": ("0 9 * * *\0", "printable ASCII"),
    "30 February": ("0 0 30 2 *", "day-of-month: none of the months given has a day 30"),
    "the 31st of short months": ("0 0 31 4,6,9,11 *", "none of the months given has a day 31"),
    "31 February on any weekday": ("0 0 31 2 0-6", "never run"),
    "30 February with a starred weekday": ("0 0 30 2 */2", "never run"),
    "31 February from a starred list": ("0 0 31 2 1,*/6", "never run"),
    "30 and 31 February": ("0 0 30,31 feb *", "has a day 30"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED_AS_A_WHOLE.values(), ids=REFUSED_AS_A_WHOLE)
def test_a_text_is_refused_with_what_is_allowed(text: str, words: str) -> None:
    assert words in refusal(text)


TAKEN = {
    "names in any case": ("0 0 * JAN-Mar,dEC MON-fri", "0 0 * 1-3,12 1-5"),
    "Sunday as 7": ("0 0 * * 7", "0 0 * * 0"),
    "Sunday as 0 and 7": ("0 0 * * 0,7", "0 0 * * 0"),
    "a range to Sunday": ("0 0 * * 5-7", "0 0 * * 5,6,0"),
    "a range of a name and 7": ("0 0 * * fri-7", "0 0 * * 0,5,6"),
    "Saturday and Sunday as a range": ("0 0 * * sat-7", "0 0 * * 0,6"),
    "a step to Sunday": ("0 0 * * 1-7/2", "0 0 * * 0,1,3,5"),
    "all weekdays, Sunday twice": ("0 0 * * 0-7", "0 0 * * *"),
    "all weekdays from Monday": ("0 0 * * 1-7", "0 0 * * *"),
    "leading zeros": ("05 007 01 0002 00", "5 7 1 2 0"),
    "repeated items": ("5,5,05 7 * * *", "5 7 * * *"),
    "overlapping items": ("0-10,5-15 7 * * *", "0-15 7 * * *"),
    "items out of order": ("45,0,30 7 * * *", "0,30,45 7 * * *"),
    "tabs and blanks between fields": ("0\t9  * \t * *", "0 9 * * *"),
    "blanks around": ("  0 9 * * *\t", "0 9 * * *"),
    "from a value to the end": ("50/5 * * * *", "50,55 * * * *"),
    "from the last value": ("59/15 * * * *", "59 * * * *"),
    "from an hour to the end": ("0 20/2 * * *", "0 20,22 * * *"),
    "from a day to the end": ("0 0 25/3 * *", "0 0 25,28,31 * *"),
    "from a month to the end": ("0 0 1 oct/1 *", "0 0 1 10-12 *"),
    "from a weekday to Saturday": ("0 0 * * thu/2", "0 0 * * 4,6"),
    "a step of the number of minutes": ("*/60 * * * *", "0 * * * *"),
    "a step of the number of hours": ("0 */24 * * *", "0 0 * * *"),
    "a step beyond the range": ("10-20/15 * * * *", "10 * * * *"),
    "29 February": ("0 0 29 2 *", "0 0 29 feb *"),
    "31 February or Mondays": ("0 0 31 2 1", "0 0 31 2 mon"),
    "the 31st of some long month": ("0 0 31 4,5 *", "0 0 31 may,4 *"),
    "the first of several days that comes": ("0 0 29,31 2 *", "0 0 31,29 2 *"),
}


@pytest.mark.parametrize(("text", "plain"), TAKEN.values(), ids=TAKEN)
def test_another_way_of_writing_means_the_same(text: str, plain: str) -> None:
    assert as_sets(parse_cron(text)) == as_sets(parse_cron(plain)) == scanned(plain)


@pytest.mark.parametrize("macro", MACROS)
def test_a_macro_stands_for_its_five_fields(macro: str) -> None:
    assert as_sets(parse_cron(macro)) == as_sets(parse_cron(MACROS[macro]))
    assert parse_cron(f" {macro}\t").times == parse_cron(macro).times


def test_there_are_seven_macros() -> None:
    assert sorted(MACROS) == ["@annually", "@daily", "@hourly", "@midnight", "@monthly", "@weekly", "@yearly"]


def test_a_hundred_characters_are_taken() -> None:
    shorter = LONG.replace(",35", "")
    assert parse_cron(f"{shorter:<100}").times == parse_cron(shorter).times
    assert "101 characters" in refusal(f"{shorter:<101}")


EITHER_DAY = {
    "both given": ("0 0 13 * 5", "either"),
    "both given as lists": ("0 0 1,15 * mon,fri", "either"),
    "day given, weekday any": ("0 0 13 * *", "both"),
    "weekday given, day any": ("0 0 * * 5", "both"),
    "starred step of days": ("0 0 */2 * 5", "both"),
    "starred step of weekdays": ("0 0 13 * */2", "both"),
    "a starred item late in the list": ("0 0 13,*/13 * 5", "both"),
    "a range of all weekdays": ("0 0 13 * 0-6", "both"),
    "a list of all weekdays": ("0 0 13 * sun,mon,tue,wed,thu,fri,sat", "both"),
    "all weekdays from Monday to Sunday": ("0 0 13 * 1-7", "both"),
    "a range of all days": ("0 0 1-31 * 5", "both"),
    "all days from the first on": ("0 0 1/1 * 5", "both"),
    "a range of nearly all days": ("0 0 1-30 * 5", "either"),
    "an unstarred step of days": ("0 0 1/2 * 5", "either"),
    "a range with a step": ("0 0 1-31/2 * 5", "either"),
}


@pytest.mark.parametrize(("text", "needed"), EITHER_DAY.values(), ids=EITHER_DAY)
def test_either_day_field_suffices_only_when_neither_is_starred(text: str, needed: str) -> None:
    assert parse_cron(text).either_day is (needed == "either")


WALL_CLOCK = {
    "a time of day": ("30 2 * * *", "wall-clock"),
    "several times of day": ("0,30 2,3 * * *", "wall-clock"),
    "a range of hours with a step": ("0 2-6/2 * * *", "wall-clock"),
    "from a minute on": ("5/15 2 * * *", "wall-clock"),
    "nearly all hours": ("5 0-22 * * *", "wall-clock"),
    "any minute": ("* 2 * * *", "interval"),
    "a starred step of minutes": ("*/15 2 * * *", "interval"),
    "a starred step of hours": ("30 */2 * * *", "interval"),
    "any hour": ("30 * * * *", "interval"),
    "a starred item late in the list": ("30 1,*/6 * * *", "interval"),
    "all hours as a range": ("5 0-23 * * *", "interval"),
    "all hours in two ranges": ("5 0-11,12-23 * * *", "interval"),
    "all minutes as a range": ("0-59 2 * * *", "interval"),
    "all minutes from 0 on": ("0/1 2 * * *", "interval"),
    "hourly": ("@hourly", "interval"),
    "daily": ("@daily", "wall-clock"),
}


@pytest.mark.parametrize(("text", "kind"), WALL_CLOCK.values(), ids=WALL_CLOCK)
def test_a_schedule_is_wall_clock_when_neither_minute_nor_hour_is_starred(text: str, kind: str) -> None:
    assert parse_cron(text).wall_clock is (kind == "wall-clock")
