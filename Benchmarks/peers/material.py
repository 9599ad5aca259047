"""The same pages as in every other program here, and the lines in which figures are handed over."""

import statistics
import time

PART = "one page of 50 × 500 B"


def page(number, edition=0):
    """A page as its bytes come over the wire: 50 items of 500 bytes."""
    items = []
    for item in range(number * 50, number * 50 + 50):
        head = '{"id":"item-%d","text":"' % item
        items.append(head + chr(ord("a") + (item + edition) % 26) * (498 - len(head)) + '"}')
    return ("[" + ",".join(items) + "]").encode()


def timed(rounds, work, prepare=lambda number: number):
    """Microseconds of each round; what `prepare` does is not in its time."""
    times = []
    for number in range(rounds):
        material = prepare(number)
        start = time.perf_counter_ns()
        work(material)
        times.append((time.perf_counter_ns() - start) / 1_000)
    return times


def row(what, who, times, part=PART, unit="µs"):
    """One figure: see Sources/Measuring/Row.swift."""
    times = sorted(times)

    def percentile(share):
        return times[min(len(times) - 1, int(len(times) * share))]

    figures = [statistics.median(times), percentile(0.95), percentile(0.99)]
    print("\t".join(["row", part, what, who, unit] + ["%.3f" % figure for figure in figures]), flush=True)


def mean_row(what, who, times, part=PART, unit="µs"):
    """The mean of the same, as a work of its own."""
    print("\t".join(["row", part, what + ", the mean", who, unit, "%.3f" % statistics.mean(times), "", ""]), flush=True)
