"""Several processes on one store: no page is lost or fetched by two at once, and no call returns busy (R30, R41, R42)."""

import signal, threading, time
from bench import Outcome, finish, rows
from origin import Origin

LIST = ["--page-size", "20"]


def check_flights(outcome, asked, words):
    """Single flight: while somebody asks for a page, nobody else does; and what was had is not asked for again. Page one is what
    every run begins with."""
    seen = {}
    for request in asked:
        if request.offset == 0:
            continue
        place = request.name, request.offset
        if place in seen:
            when = "at the same time" if request.begun < (seen[place].ended or request.begun) else "one after the other"
            outcome.violations.append(f"{words}: {request.target} was asked for twice, {when}")
        seen[place] = request


def together(bench, broken):
    """One list, brought in by all of them at once."""
    outcome = Outcome()
    number = bench.pick(4, 8)
    with Origin(items=1_000, pause=0.01) as origin:
        for lap in range(bench.pick(4, 60)):
            if broken and outcome.violations:
                break
            place, words = bench.place(), f"lap {lap}"
            # Two runs of the tool with an unknown list both detect it, and one of them begins the list.
            place.sync(origin.url(), *LIST, "--max-pages", "1")
            origin.taken()
            # The control: every lock is granted to everybody.
            more = {"SHIM_UNLOCKED": "1"} if broken else None
            programs = [place.start("sync", origin.url(), "--json", "--quiet", *LIST, more=more) for _ in range(number)]
            for program in programs:
                outcome.cases += 1
                ended = finish(program)
                outcome.expect(ended.status == 0, lambda: f"{words}: {ended}")
            check_flights(outcome, origin.taken(), words)
            held, shown = place.held(origin.url())
            outcome.expect(list(held.values()) == origin.truth(), lambda: f"{words}: {len(held)} items in the end, {shown}")
            outcome.expect_sound(place, words)
            place.remove()
    return outcome


def everything(bench, broken):
    """Each with a list of its own, which it brings in, pins, sweeps and purges; all read one that is shared, and one watches."""
    outcome, number = Outcome(), bench.pick(4, 8)
    limit = time.monotonic() + (5 if broken else bench.pick(15, 300))
    with Origin(items=300, pause=0.002) as origin:
        place = bench.place()
        place.sync(origin.url("shared"), *LIST)
        watched = []
        watch = place.start("watch", "--format", "ndjson")
        listener = threading.Thread(target=lambda: watched.extend(watch.stdout))
        listener.start()
        # The control: every lock is granted to everybody.
        more = {"SHIM_UNLOCKED": "1"} if broken else None
        members = [
            threading.Thread(target=member, args=(bench, outcome, origin, place, name, limit, more)) for name in range(number)
        ]
        for one in members:
            one.start()
        for one in members:
            one.join()
        watch.send_signal(signal.SIGINT)
        listener.join()
        outcome.expect(watch.wait(20) in (0, 130), f"watch ended with {watch.returncode}")
        watch.stderr.close()
        outcome.expect(broken or len(watched) > 0, "watch heard of nothing")
        for line in watched:
            outcome.expect(line.startswith(b"{") and line.endswith(b"}\n"), lambda: f"watch said {line[:80]}")
        outcome.expect_sound(place, "in the end")
        for name in range(number):
            own = origin.url(f"own{name}")
            outcome.expect(place.sync(own, *LIST).status == 0, f"own{name} cannot be brought in in the end")
            outcome.expect(
                list(place.held(own)[0].values()) == origin.truth(f"own{name}"), f"own{name} is not the origin's in the end"
            )
    return outcome


def member(bench, outcome, origin, place, name, limit, more):
    """Runs random commands, and knows the expected contents of its own list."""
    chance, own, shared = bench.chance(f"member {name}"), origin.url(f"own{name}"), origin.url("shared")
    is_there = False
    while time.monotonic() < limit:
        steps = [
            ["sync", own],
            ["sync", own, "--sweep"],
            ["show", own],
            ["pin", own],
            ["unpin", own],
            ["pages", own],
            ["purge", own, "--yes"],
            ["sync", shared],
            ["show", shared],
            ["pages", shared],
            ["verify"],
            ["list"],
            ["gc", "--max-bytes", "1000000000"],
        ]
        words = chance.choice(steps) if is_there else ["sync", own]
        size = LIST if words[0] == "sync" else []
        form = ["--format", "csv"] if words[0] == "show" else ["--json"]
        ended, said = place.run(*words, *size, *form, more=more), f"member {name}, {' '.join(words)}"
        outcome.cases += 1
        fine = outcome.expect_tidy(ended, said, {0}, lines=3 if words[0] == "sync" else 0)
        if words[0] == "show" and fine:
            # Nobody else touches its own list, and the shared one never changes.
            truth = origin.truth(words[1].rsplit("/", 1)[1])
            outcome.expect(list(rows(ended.output).values()) == truth, f"{said}: not the {len(truth)} items")
        is_there = words[0] != "purge" if own in words else is_there
