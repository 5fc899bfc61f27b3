"""A picture of loads and saves over the number of items, beside libsecret: docs/figures.svg. Made of the figures of one run."""
import html
import math

# {(series, "load" or "save"): {items: microseconds}}
figures = {}
SERIES = ["TokenKeep's vault", "libsecret's file backend", "Secret Service by TokenKeep", "Secret Service by libsecret"]
VAULT, FILE, OURS, THEIRS = SERIES

PANEL, TOP, HEIGHT, GAP, LEFT, KEYS = 330, 46, 300, 70, 64, 56
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f } .head { font-weight: 600 } .grid { stroke: #d0d7de } .page { fill: #ffffff }
  .line { fill: none; stroke-width: 2 } .theirs { stroke-dasharray: 5 4 } .vault { stroke: #0969da; fill: #0969da } .bus { stroke: #bc4c00; fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    text { fill: #c9d1d9 } .grid { stroke: #30363d } .page { fill: #0d1117 } .vault { stroke: #58a6ff; fill: #58a6ff } .bus { stroke: #f0883e; fill: #f0883e }
  }
"""


def note(series, what, items, microseconds):
    """Notes a figure for the picture."""
    figures.setdefault((series, what), {})[items] = microseconds


def classes(series):
    return ("vault" if series in (VAULT, FILE) else "bus") + ("" if series in (VAULT, OURS) else " theirs")


def words(microseconds):
    return f"{microseconds / 1e6:g} s" if microseconds >= 1e6 else f"{microseconds / 1e3:g} ms" if microseconds >= 1e3 else f"{microseconds:g} µs"


def panel(what, left, sizes, decades):
    """The lines of one operation, both axes logarithmic."""
    low, high = decades
    width = math.log10(sizes[-1]) or 1

    def across(items):
        return left + PANEL * math.log10(items) / width

    def up(microseconds):
        return TOP + HEIGHT * (high - math.log10(microseconds)) / (high - low)

    yield f'<text class="head" x="{left}" y="{TOP - 16}">{"A load" if what == "load" else "A save"}, by the number of items</text>'
    for decade in range(low, high + 1):
        y = up(10 ** decade)
        yield f'<path class="grid" d="M{left} {y:.1f}h{PANEL}"/><text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{words(10 ** decade)}</text>'
    for items in sizes:
        yield f'<text x="{across(items):.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{items:,}</text>'.replace(",", " ")
    for series in SERIES:
        points = sorted(figures.get((series, what), {}).items())
        place = [(across(items), up(value)) for items, value in points]
        if place:
            yield f'<path class="line {classes(series)}" style="fill: none" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in place) + '"/>'
        for x, y in place:
            yield f'<circle class="{classes(series)}" style="stroke-dasharray: none" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def write(path):
    """Writes the picture. Does nothing if a series was not measured."""
    if any((series, what) not in figures for series in SERIES for what in ("load", "save")):
        print(f"\n{path} is left as it is: not everything in it was measured")
        return
    values = [value for points in figures.values() for value in points.values()]
    sizes = sorted({items for points in figures.values() for items in points})
    decades = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    width, height = LEFT + 2 * PANEL + GAP + 40, TOP + HEIGHT + KEYS + 40
    parts = [part for number, what in enumerate(("load", "save")) for part in panel(what, LEFT + number * (PANEL + GAP), sizes, decades)]
    for number, series in enumerate(SERIES):
        x, y = LEFT + number % 2 * (PANEL + GAP), TOP + HEIGHT + 50 + number // 2 * 22
        parts.append(f'<path class="line {classes(series)}" style="fill: none" d="M{x} {y - 4}h34"/><text x="{x + 42}" y="{y}">{html.escape(series)}</text>')
    picture = "\n".join(parts)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>Time of a load and of a save over the number of items, of TokenKeep and libsecret; both axes are logarithmic</title>
<style>{STYLE}</style>
<rect class="page" width="{width}" height="{height}"/>
{picture}
</svg>
""")
