"""The HTML pages: one file, nothing from outside, every mark with its sentence."""

import json
from html.parser import HTMLParser

import pytest
from objects import run, schedule, skip, suspension

DAY = {
    "schedule": {"schedule": "0 * * * *", "timeZone": "Europe/Berlin"},
    "from": "2026-03-28T23:00:00Z",
    "to": "2026-03-29T23:00:00Z",
}
EVENTFUL = DAY | {
    "operatorDown": [{"from": "2026-03-29T00:30:00Z", "to": "2026-03-29T05:10:00Z"}],
    "tenantSuspended": [{"from": "2026-03-29T10:30:00Z", "to": "2026-03-29T14:30:00Z"}],
    "runDuration": "20m",
    "edits": [{"at": "2026-03-29T16:30:00Z", "spec": {"suspend": True}}],
}
VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """What is on a page, read strictly: a tag that is not closed is a mistake."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts, self.ids = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs)
        self.elements.append((tag, attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def having(self, **wanted):
        return [a for _, a in self.elements if all(a.get(key) == value for key, value in wanted.items())]

    @property
    def lanes(self):
        """Name of each lane → what its marks say."""
        lanes, name = {}, ""
        for _, attributes in self.elements:
            if attributes.get("class", "") == "name":
                name = attributes["id"].removeprefix("lane-")
                lanes[name] = []
            if attributes.get("role") == "option":
                lanes[name].append(attributes["aria-label"])
        return lanes


def simulated(cli, scenario):
    answer = cli("simulate", "-f", "-", "-o", "html", stdin=json.dumps(scenario))
    assert answer.code == 0, answer.err
    return Page(answer.out)


def test_a_page_loads_nothing(cli):
    page = simulated(cli, EVENTFUL)

    (policy,) = page.having(**{"http-equiv": "Content-Security-Policy"})
    assert policy["content"].startswith("default-src 'none'")
    assert [a for _, a in page.elements if a.get("src")] == []
    assert {a["href"] for _, a in page.elements if "href" in a} == {"data:,"}
    assert "://" not in "".join(page.texts)


def test_a_page_can_be_told_by_a_screen_reader(cli):
    page = simulated(cli, EVENTFUL)

    assert len(page.ids) == len(set(page.ids))
    named = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    assert named <= set(page.ids)
    assert page.having(lang="en")
    assert all(a["aria-label"] for a in page.having(role="option"))


def test_every_lane_is_one_stop_of_the_tab_key(cli):
    page = simulated(cli, EVENTFUL)

    stops = page.having(role="option", tabindex="0")
    assert len(stops) == len(page.lanes)


def test_marks_say_what_happened(cli):
    lanes = simulated(cli, EVENTFUL).lanes

    runs, skips = ["succeeded"], ["coalesced", "tenantsuspended"]
    assert list(lanes) == [*runs, "ran-late", *skips, "operator-down", "suspended", "events"]
    assert lanes["succeeded"][0] == "Sun 2026-03-29 01:00 +01:00: Run. on time; succeeded after 20m."
    assert lanes["coalesced"][0].startswith(
        "Sun 2026-03-29 03:00 … 06:00 +02:00: Skipped Coalesced (4 slots)."
    )
    assert lanes["operator-down"] == ["Sun 2026-03-29 01:30 +01:00: Operator down. for 4h 40m"]
    assert lanes["events"] == [
        "Sun 2026-03-29 03:00 +02:00: Clock change. clocks go forward from 02:00 to 03:00",
        "Sun 2026-03-29 18:30 +02:00: Edited. suspend: False → True",
    ]


def test_outages_and_suspensions_lie_behind_all_lanes(cli):
    page = simulated(cli, EVENTFUL)

    assert [a["class"] for _, a in page.elements if "band " in a.get("class", "")] == [
        "band operator-down",
        "band suspended",
        "band suspended",
    ]


RARE = {"schedule": {"schedule": "0 0 1 1 *", "timeZone": "Europe/Berlin"}}


@pytest.mark.parametrize(
    ("end", "labels"),
    [
        pytest.param("2026-03-28T23:04:00Z", "29 Mar|00:01|00:02|00:03|00:04", id="minutes"),
        pytest.param(
            "2026-03-29T07:00:00Z",
            "29 Mar|01:00|03:00|04:00|05:00|06:00|07:00|08:00|09:00",
            id="hours, one left out",
        ),
        pytest.param(
            "2026-04-01T22:00:00Z", "29 Mar|12:00|30 Mar|12:00|31 Mar|12:00|01 Apr|12:00|02 Apr", id="days"
        ),
        pytest.param("2026-05-10T22:00:00Z", "30 Mar|06 Apr|13 Apr|20 Apr|27 Apr|04 May|11 May", id="weeks"),
    ],
)
def test_the_axis_has_round_times_of_the_zone(cli, end, labels):
    answer = cli("simulate", "-f", "-", "-o", "html", stdin=json.dumps(DAY | RARE | {"to": end}))

    ticks = [
        part.partition("<span>")[2].partition("</span>")[0]
        for part in answer.out.split('<div class="tick')[1:]
    ]
    assert "|".join(ticks) == labels


def test_marks_that_would_touch_are_one(cli):
    page = simulated(cli, DAY | {"schedule": {"schedule": "* * * * *"}, "to": "2026-04-28T23:00:00Z"})

    (said,) = page.lanes["succeeded"]
    assert said.endswith("Succeeded, 44,640 slots.")
    assert len([tag for tag, _ in page.elements if tag == "tr"]) == 1001
    assert "43,640 more lines are left out here." in page.texts


def test_what_people_wrote_is_text_and_nothing_else(cli, cluster):
    evil = '</div><script>alert("x")</script>'
    cluster.add(schedule(status={"runHistory": [skip("2025-11-30T11:00:00Z", "JobRejected", evil)]}))

    page = Page(cli("history", "billing", "-o", "html").out)

    assert len([tag for tag, _ in page.elements if tag == "script"]) == 1
    assert evil in page.lanes["jobrejected"][0]


def test_the_history_of_a_schedule_as_a_picture(cli, cluster):
    rows = [
        run("2025-11-30T11:00:00Z", "Active"),
        run("2025-11-30T09:00:00Z", "Failed", message="too bad", startTime="2025-11-30T09:30:00Z"),
        skip(
            "2025-11-30T08:00:00Z",
            "TenantSuspended",
            "Namespace.",
            count=3,
            firstScheduledTime="2025-11-30T06:00:00Z",
        ),
    ]
    cluster.add(schedule(status={"runHistory": rows} | suspension(since="2025-11-30T11:30:00Z")))

    page = Page(cli("history", "billing", "-o", "html").out)

    assert list(page.lanes) == ["active", "failed", "ran-late", "tenantsuspended"]
    assert page.lanes["active"] == ["Sun 2025-11-30 12:00 +01:00: Active. billing-11"]
    assert len([a for _, a in page.elements if a.get("class") == "band suspended"]) == 2
    assert "Suspended since Sun 2025-11-30 12:30 +01:00 (TenantSuspended)." in page.texts


@pytest.mark.parametrize(
    "status",
    [pytest.param({}, id="nothing yet"), pytest.param(suspension(), id="only a suspension")],
)
def test_a_schedule_without_rows_has_a_page_too(cli, cluster, status):
    cluster.add(schedule(status=status))

    assert "Nothing happened." in Page(cli("history", "billing", "-o", "html").out).texts


def test_a_picture_is_of_one_schedule(cli, cluster):
    answer = cli("history", "-o", "html")

    assert (answer.code, answer.err) == (2, "-o html is a picture of one schedule: give its NAME\n")
