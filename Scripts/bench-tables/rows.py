"""The figures that the programs print (Benchmarks/Sources/Measuring/Row.swift), and the tables made of them."""

# The reference of a table: the first of these contenders that has figures.
REFERENCES = ("C", "limit", "JSONDecoder and JSONEncoder", "origin alone")


class Rows:
    def __init__(self):
        # Part → work → who → (unit, median, 95th, 99th percentile), each in the order in which it came.
        self.parts = {}

    def read(self, text):
        for line in text.splitlines():
            fields = line.split("\t")
            if fields[0] != "row" or len(fields) != 8:
                continue
            _, part, what, who, unit = fields[:5]
            figures = [float(figure) if figure else None for figure in fields[5:]]
            self.parts.setdefault(part, {}).setdefault(what, {})[who] = (unit, *figures)

    def find(self, part, what, who):
        """The figure of the first part and work that begin like this; None where there is none."""
        for name, works in self.parts.items():
            if name.startswith(part):
                for work, figures in works.items():
                    if work.startswith(what) and who in figures:
                        return figures[who]
        return None

    def tables(self):
        return [table(part, works) for part, works in self.parts.items()]


def table(part, works):
    """One part: a line for each operation and a column for each contender, with the ratio to the reference."""
    everybody = []
    for figures in works.values():
        everybody += [who for who in figures if who not in everybody]
    everybody.sort(key=lambda who: (who != "pagecache", who not in REFERENCES))
    reference = next((who for who in REFERENCES if who in everybody), None)
    lines = ["### " + part[0].upper() + part[1:], ""]
    lines.append("| | " + " | ".join("%s, p50 / p95 / p99" % who if who == "pagecache" else who for who in everybody) + " |")
    lines.append("|---" * (len(everybody) + 1) + "|")
    for what, figures in works.items():
        unit = next(iter(figures.values()))[0]
        name = what + (", " + unit if unit else "")
        lines.append("| " + " | ".join([name] + [cell(who, figures, reference) for who in everybody]) + " |")
    return "\n".join(lines)


def cell(who, figures, reference):
    if who not in figures:
        return "–"
    _, median, p95, p99 = figures[who]
    text = shown(median)
    if who == "pagecache":
        text = " / ".join(shown(figure) for figure in (median, p95, p99) if figure is not None)
    base = figures.get(reference)
    if base is None or who == reference or not base[1] or not median:
        return text
    return "%s (%s ×)" % (text, shown(median / base[1]))


def shown(number):
    if number is None:
        return "–"
    return "%.2f" % number if number < 10 else "%.1f" % number if number < 100 else format(round(number), ",")
