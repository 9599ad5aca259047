"""Signals at random moments, once and twice, and readers that go away: kept, quick, and the right code (R14, R31)."""

import os, signal, subprocess, time
from bench import Outcome, finish, until
from kills import check_resumed
from origin import Origin

LIST = ["--page-size", "20"]


def signals(bench, broken):
    outcome, chance = Outcome(), bench.chance("signals")
    with Origin(items=800, pause=0.01) as origin:
        url = origin.url()
        count = bench.pick(30, 1_000)
        while outcome.cases < count and not (broken and outcome.violations):
            place = bench.place()
            number = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
            twice = chance.random() < 0.25
            words = f"{number.name}{' twice' if twice else ''}, case {outcome.cases}, seed {bench.seed}"
            origin.taken()
            program = place.start("sync", url, "--quiet", *LIST)
            try:
                # Not while the program is loading: before it installs its handlers, a signal ends it as any program.
                until(lambda: origin.asked)
                program.wait(chance.uniform(0, 0.3))
                finish(program)
                place.remove()
                continue
            except subprocess.TimeoutExpired:
                pass
            before, _ = place.held(url) if chance.random() < 0.5 else ({}, None)
            outcome.cases += 1
            begun = time.monotonic()
            # The control sends the signal that no program can handle.
            program.send_signal(signal.SIGKILL if broken else number)
            if twice and not broken:
                program.send_signal(number)
            ended = finish(program, begun)
            # One second on an idle machine; this machine may be busy.
            outcome.expect(ended.seconds < 5, f"{words}: {ended.seconds:.1f} s to the end")
            # The program may have ended at the moment of the signal.
            outcome.expect_tidy(ended, words, {0, 128 + number})
            held, shown = place.held(url)
            outcome.expect(shown.status in (0, 66, 75), lambda: f"{words}: show {shown}")
            outcome.expect_exact(held, origin.truth(), words)
            outcome.expect(before.items() <= held.items(), f"{words}: items are gone")
            outcome.expect(
                twice or all(page["state"] != "in_flight" for page in place.pages(url)), f"{words}: pages are left in flight"
            )
            origin.taken()
            resumed = place.sync(url, *LIST)
            if os.path.exists(place.store):
                check_resumed(outcome, resumed, origin, held, words)
            place.remove()
        # A reader takes one line and ends (`| head -n 1`): the tool ends without a message.
        place = bench.place()
        place.sync(url)
        for command in [
            ["show", url],
            ["show", url, "--json"],
            ["pages", url],
            ["export", url],
            ["list"],
            ["sync", url],
            ["verify"],
        ]:
            outcome.cases += 1
            read, write = os.pipe()
            program = place.start(*command, stdout=write)
            os.close(write)
            os.read(read, 1)
            os.close(read)
            ended = finish(program)
            outcome.expect(ended.errors == b"" or ended.status == 0, lambda: f"| head, {command[0]}: {ended}")
            outcome.expect(ended.status is not None and ended.status >= 0, lambda: f"| head, {command[0]}: {ended}")
    return outcome
