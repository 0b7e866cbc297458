"""A timeline and what else there is to say → the text of an HTML file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from itertools import islice

from cronschedule.cli.output import one_line
from cronschedule.cli.page.timeline import Mark, Timeline
from cronschedule.cli.story import Line

MOST_LINES = 1000
"""Lines of the story that are written out below the picture."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""Content-Security-Policy: the file may load nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What is shown: a title, a sentence, the picture, the story in lines, and sentences with the totals."""

    title: str
    opening: str
    timeline: Timeline
    lines: Sequence[Line]
    more: int
    closing: Sequence[str]


def first_lines(lines: Iterable[Line], timeline: Timeline) -> tuple[list[Line], int]:
    """All lines into the picture; the first of them, and how many more there are."""

    def drawn() -> Iterator[Line]:
        for line in lines:
            timeline.add(line)
            yield line

    coming = drawn()
    kept = list(islice(coming, MOST_LINES))
    return kept, sum(1 for _ in coming)


def render(page: Page) -> str:
    """The whole file."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{_text(page.title)}</title>
<style>
{_file("style.css")}</style>
</head>
<body>
<main>
<header>
<h1>{_text(page.title)}</h1>
<p>{_text(page.opening)}</p>
</header>
{_figure(page.timeline)}
<section aria-labelledby="totals">
<h2 id="totals">Totals</h2>
{"".join(f"<p>{_text(sentence)}</p>" for sentence in page.closing)}
</section>
{_story(page)}
</main>
<div id="tip" role="status" aria-live="polite" hidden></div>
<script>
{_file("script.js")}</script>
</body>
</html>
"""


def _figure(timeline: Timeline) -> str:
    lanes = [_lane(timeline, name, marks) for name, marks in timeline.sorted_lanes()]
    return f"""<section aria-labelledby="timeline">
<h2 id="timeline">Timeline</h2>
<p class="hint">Times are those of {_text(timeline.zone)}. Tab goes from lane to lane, the arrow keys along it.</p>
<div class="figure">
<div class="ground" aria-hidden="true">{_bands(timeline)}{_ticks(timeline)}</div>
{"".join(lanes) or '<p class="nothing">Nothing happened.</p>'}
</div>
{_legend(timeline)}
</section>"""


def _lane(timeline: Timeline, name: str, marks: Sequence[Mark]) -> str:
    options = []
    for position, mark in enumerate(marks):
        left = timeline.share(mark.start)
        width = timeline.share(mark.end) - left
        said = _text(timeline.sentence(name, mark))
        options.append(
            f'<div role="option" aria-selected="false" tabindex="{-1 if position else 0}" aria-label="{said}"'
            f' style="left:{left:.3f}%;width:{width:.3f}%"></div>'
        )
    label = f"lane-{_slug(name)}"
    total = sum(mark.count for mark in marks)
    many = f" <small>{total:,}</small>" if total else ""
    return (
        f'<div class="lane {_slug(name)}"><span class="name" id="{label}">{_text(name)}{many}</span>'
        f'<div class="track" role="listbox" aria-orientation="horizontal" aria-labelledby="{label}">'
        f"{''.join(options)}</div></div>\n"
    )


def _bands(timeline: Timeline) -> str:
    return "".join(
        f'<div class="band {_slug(band.name)}" style="left:{timeline.share(band.start):.3f}%;'
        f'width:{timeline.share(band.end) - timeline.share(band.start):.3f}%"></div>'
        for band in timeline.bands
    )


def _ticks(timeline: Timeline) -> str:
    return "".join(
        f'<div class="tick{" strong" if tick.strong else ""}" style="left:{timeline.share(tick.at):.3f}%">'
        f"<span>{_text(tick.label)}</span></div>"
        for tick in timeline.ticks()
    )


def _legend(timeline: Timeline) -> str:
    names = dict.fromkeys(band.name for band in timeline.bands)
    if not names:
        return ""
    items = "".join(f'<li class="{_slug(name)}">{_text(name)}</li>' for name in names)
    return f'<ul class="legend" aria-label="Bands">{items}</ul>'


def _story(page: Page) -> str:
    rows = "".join(_row(line) for line in page.lines)
    more = f'<p class="hint">{page.more:,} more lines are left out here.</p>' if page.more else ""
    return f"""<section aria-labelledby="story">
<h2 id="story">Story</h2>
<div class="table" role="region" aria-label="Story, line by line" tabindex="0"><table>
<thead><tr><th scope="col">Time</th><th scope="col">What</th><th scope="col">Why</th></tr></thead>
<tbody>
{rows}</tbody>
</table></div>
{more}
</section>"""


def _row(line: Line) -> str:
    cells = "".join(f"<td>{_text(text)}</td>" for text in (line.time, line.what, line.why))
    return f'<tr class="{line.style}">{cells}</tr>\n'


def _text(text: str) -> str:
    return escape(one_line(text), quote=True)


def _slug(name: str) -> str:
    return "".join(c.lower() if c.isalnum() else "-" for c in name)


def _file(name: str) -> str:
    return resources.files("cronschedule.cli.page").joinpath(name).read_text(encoding="utf-8")
