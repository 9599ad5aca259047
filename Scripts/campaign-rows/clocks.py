"""A different wall clock in each run: no page is frozen or lost, and no storm of requests follows (R29)."""

import signal
from bench import Outcome, end, until
from origin import Origin

LIST = ["--page-size", "20"]
DAY, YEAR = 86_400, 31_557_600
# By how much the clock is wrong in the run that fails or dies; the next run has the right time, or the other way round.
JUMPS = {
    "a year ahead": YEAR,
    "a year behind": -YEAR,
    "in 2099": 73 * YEAR,
    "in 2038": 12 * YEAR,
    "in 1970": -56 * YEAR,
    "a day behind": -DAY,
    "ten minutes ahead": 600,
    "right": 0,
}
# The longest back-off of ours, and a bit.
CAP = 301


def jumps(bench, broken):
    outcome = Outcome()
    with Origin(items=200) as origin:
        for name, ahead in JUMPS.items():
            for turned in [False, True]:
                first, second = (0, ahead) if turned else (ahead, 0)
                words = f"then it was {name}" if turned else f"first it was {name}"
                run(bench, outcome, origin, words, first, second, broken)
                if broken and outcome.violations:
                    return outcome
    return outcome


def run(bench, outcome, origin, words, first, second, broken):
    place, url = bench.place(), origin.url()
    clock = lambda ahead: {"SHIM_CLOCK": str(ahead)}
    # A page fails: its retry is a matter of time. The control: an origin that asks for an hour, which is granted to it.
    pause = {"Retry-After": "3000"} if broken else {}
    origin.answer = lambda asked, _: (503, pause, b"") if asked.offset > 90 and asked.offset < 130 else None
    failed = place.sync(url, *LIST, more=clock(first))
    outcome.expect(failed.status == 75, f"{words}: {failed}")
    place.run("pin", url)
    before, _ = place.held(url, more=clock(second))
    origin.answer = None
    origin.taken()
    # No storm: only the missing pages, page one, and the requests that its age may cost.
    outcome.cases += 1
    place.run("sync", "--due", "--quiet", more=clock(second))
    asked = origin.taken()
    outcome.expect(len(asked) <= 20, f"{words}: {len(asked)} requests at once")
    # Nothing frozen: after the longest back-off the page is fetched.
    outcome.cases += 1
    due = place.run("sync", "--due", "--quiet", more=clock(second + CAP))
    held, _ = place.held(url, more=clock(second))
    outcome.expect(list(held.values()) == origin.truth(), lambda: f"{words}: {len(held)} items after the longest back-off; {due}")
    outcome.expect(before.items() <= held.items(), f"{words}: items are gone")
    # A moment in the future says nothing about freshness.
    outcome.cases += 1
    listed = place.run("list", "--json", more=clock(second + CAP + 120)).json
    outcome.expect(
        listed and listed[0]["freshness"] == "stale",
        lambda: f"{words}: two minutes old and {listed[0]['freshness'] if listed else 'gone'}",
    )
    # Nor about a lease whose owner is dead.
    outcome.cases += 1
    another = origin.url("other")
    origin.answer = lambda asked, _: origin.open.clear() if asked.name == "other" and asked.offset > 60 else None
    program = place.start("sync", another, "--quiet", *LIST, more=clock(first))
    until(lambda: not origin.open.is_set())
    end(program, signal.SIGKILL)
    origin.answer = None
    origin.open.set()
    resumed = place.sync(another, *LIST, more=clock(second))
    outcome.expect(resumed.status == 0, lambda: f"{words}: killed, then {resumed}")
    held, _ = place.held(another, more=clock(second))
    outcome.expect(list(held.values()) == origin.truth("other"), f"{words}: killed, then {len(held)} items")
    outcome.expect_sound(place, words)
    origin.taken()
    place.remove()
