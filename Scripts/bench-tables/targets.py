"""What is aimed at, and whether it is met: each target with the figures that decide it."""

from rows import shown

SIZES = (100_000, 1_000_000, 10_000_000)
PAGE, GROWTH, LIST = "one page of", "growth", "a list of"
MEMORY = "50 items × 500 B, in memory"
DECODING = "50 items × 500 B, not in memory"


def ratio(part, what, other, other_what=None, index=1, who="pagecache"):
    """The ratio of the library's figure to another contender's: of the medians, or of the value at `index`."""

    def value(rows):
        ours, theirs = rows.find(part, what, who), rows.find(part, other_what or what, other)
        return None if ours is None or theirs is None or not theirs[index] else ours[index] / theirs[index]

    return value


def tail(part, what, index):
    """The 95th (2) or the 99th (3) percentile."""
    return lambda rows: None if rows.find(part, what, "pagecache") is None else rows.find(part, what, "pagecache")[index]


def inverse(part, what, other):
    of = ratio(part, what, other)
    return lambda rows: None if not of(rows) else 1 / of(rows)


def figure(part, what, scale=1.0):
    return lambda rows: None if rows.find(part, what, "pagecache") is None else rows.find(part, what, "pagecache")[1] * scale


def beyond(part, what):
    """What is ours of a count that is partly SQLite's."""

    def value(rows):
        ours, theirs = rows.find(part, what, "pagecache"), rows.find(part, what, "C")
        return None if ours is None or theirs is None else ours[1] - theirs[1]

    return value


def greatest(*values):
    def value(rows):
        found = [one(rows) for one in values]
        return None if None in found else max(found)

    return value


def grown(what, who="pagecache"):
    """The work at the greatest size over the same at 100,000 items."""

    def value(rows):
        small, *large = [rows.find(GROWTH, "%s, at %d items" % (what, size), who) for size in SIZES]
        large = [figures for figures in large if figures]
        return large[-1][1] / small[1] if small and large else None

    return value


def under_writer(who):
    """The greater 99th percentile under a writer over the idle one."""
    words = ("another thread commits", "another process commits")
    return greatest(
        *[ratio("reads under", "read a page, " + word, who, "read a page, no writer", index=3, who=who) for word in words]
    )


# The label, the measurement, the bound, whether the bound is the least or the most, the unit.
TARGETS = [
    ("commit a page, beside C", ratio(PAGE, "commit a page", "C"), 1.25, "most", "×"),
    ("  all of them, by the mean, for comparison", ratio(PAGE, "commit a page, the mean", "C"), None, "most", "×"),
    ("commit a page: faster than GRDB's raw rows", inverse(PAGE, "commit a page", "GRDB rows"), 3, "least", "×"),
    ("  by the mean, for comparison", inverse(PAGE, "commit a page, the mean", "GRDB rows"), None, "least", "×"),
    ("refresh, unchanged page, beside C", ratio(PAGE, "refresh, unchanged", "C"), 1.5, "most", "×"),
    (
        "read a cached page, verified, own thread, beside C",
        greatest(*[ratio(PAGE, "read a page, %s, own thread" % w, "C") for w in ("any of all", "one of 50")]),
        1.3, "most", "×",
    ),
    (
        "the same through async",
        greatest(*[ratio(PAGE, "read a page, %s, async" % w, "C") for w in ("any of all", "one of 50")]), 2, "most", "×",
    ),
    ("cached-first snapshot, in memory: list.current", figure(MEMORY, "list.current"), 3, "most", "µs"),
    ("  list.load, followed by a listener", figure(MEMORY, "list.load(.cacheOnly), followed"), 3, "most", "µs"),
    ("  repository.page", figure(MEMORY, "repository.page"), 3, "most", "µs"),
    (
        "typed and not in memory, beside decoding alone: repository.page",
        ratio(DECODING, "repository.page", "limit"), 1.05, "most", "×",
    ),
    ("  a list's first load", ratio(DECODING, "a list's first load", "limit"), 1.05, "most", "×"),
    ("  by hand, for comparison", ratio(DECODING, "by hand", "limit"), None, "most", "×"),
    (
        "ledger write, beside C",
        greatest(*[ratio(LIST, "ledger: " + w, "C") for w in ("a failure, first", "a failure, not", "a lease")]),
        1.25, "most", "×",
    ),
    ("shift of a list of 100,000 items", figure("a list of 100000", "shift", 1e-3), 10, "most", "ms"),
    (
        "cold process to its first page, beside C, static",
        ratio("a cold process", "to its first", "C", who="pagecache, static"), 2, "most", "×",
    ),
    ("  dynamic", ratio("a cold process", "to its first", "C"), 2.5, "most", "×"),
    *[row
      for w in ("commit", "read, own thread", "refresh, unchanged", "ledger: a failure")
      for row in [
          ("growth: %s, beside 100,000 items" % w, grown(w), 1.5, "most", "×"),
          ("  of the C program, for comparison", grown(w, "C"), None, "most", "×"),
      ]],
    ("reads under constant writes: p99 beside idle", under_writer("pagecache"), 3, "most", "×"),
    ("  of the C program, for comparison", under_writer("C"), None, "most", "×"),
    ("first sync: peak memory", figure("first sync", "peak"), 100, "most", "MB"),
    ("  faster than a loop with requests-cache", inverse("first sync", "seconds", "requests-cache"), 5, "least", "×"),
    ("  faster than dlt", inverse("first sync", "seconds", "dlt"), 5, "least", "×"),
    ("  beside the origin alone", ratio("first sync", "seconds", "origin alone"), None, "most", "×"),
    ("  beside fetching only", ratio("first sync", "seconds", "fetching only"), None, "most", "×"),
    ("  beside C, storing only", ratio("first sync", "seconds", "C, storing only"), None, "most", "×"),
    *[("a fleet: claim + commit of a page, beside pgbench, %d clients" % clients,
       ratio("a fleet", "claim + commit of a page, %d" % clients, "pgbench"), 0.7, "least", "×") for clients in (1, 4, 8)],
    ("a fleet: leases, batched by 16, 8 clients", figure("a fleet", "leases, batched by 16, 8"), 50_000, "least", "1/s"),
    ("a fleet: read through the local copy, beside SQLite", ratio("a fleet", "read a page of 50", "SQLite"), 1.2, "most", "×"),
    ("a fleet: a change is seen by another replica, p50", figure("a fleet", "a change is seen"), 10, "most", "ms"),
    ("  p99", tail("a fleet", "a change is seen", 3), 50, "most", "ms"),
    ("  through PgBouncer, versions compared every 100 ms, p50", figure("a fleet", "the same through"), 110, "most", "ms"),
    ("a fleet: an idle replica", figure("a fleet", "an idle replica: transactions"), 1, "most", "1/s"),
    ("a fleet: first sync of 10^6 items, beside SQLite", ratio("a fleet", "first sync of", "SQLite"), 2, "most", "×"),
    ("allocations: a steady warm raw read, in all", figure("allocations", "a steady"), 2, "most", ""),
    ("  beyond those of the C program", beyond("allocations", "a steady"), 2, "most", ""),
    ("allocations: a page commit, in all", figure("allocations", "a page commit"), 10, "most", ""),
    ("  beyond those of the C program", beyond("allocations", "a page commit"), 10, "most", ""),
]


def table(rows):
    lines = ["| target | at most / at least | measured | |", "|---|---|---|---|"]
    for words, value, bound, kind, unit in TARGETS:
        measured = value(rows)
        name = ("… " if words.startswith("  ") else "") + words.strip()
        sign = "" if bound is None else ("≤ " if kind == "most" else "≥ ") + ("%g" % bound) + " " + unit
        lines.append("| %s | %s | %s | %s |" % (name, sign.strip(), told(measured, unit), verdict(measured, bound, kind)))
    return "\n".join(lines)


def unmeasured(rows):
    """The names of targets for which there is no figure, each with the one below which it stands."""
    missing, above = [], ""
    for words, value, *_ in TARGETS:
        above = words if not words.startswith("  ") else above
        if value(rows) is None:
            missing.append(above if words == above else "%s … %s" % (above, words.strip()))
    return missing


def told(measured, unit):
    return "not measured in this run" if measured is None else (shown(measured) + " " + unit).strip()


def verdict(measured, bound, kind):
    if measured is None or bound is None:
        return ""
    if (measured <= bound) if kind == "most" else (measured >= bound):
        return "met"
    off = measured / bound if kind == "most" else bound / measured
    if off >= 2:
        return "**missed**, %s times" % shown(off)
    percent = round((off - 1) * 100)
    return "**missed**, by %s %%" % (percent if percent > 0 else "less than 1")
