"""Processes that die: at random moments, and instead of every call that changes a file (R14, R30, R31, G5)."""

import os, signal, subprocess, time
from bench import Outcome, end, finish, until
from origin import Origin

LIST = ["--page-size", "20"]


def check_death(outcome, place, origin, url, words, before):
    """The checks right after a kill. `before`: the items that a reader saw while the process still ran.
    Returns what is held; None when there is no store yet."""
    if not os.path.exists(place.store) or os.path.getsize(place.store) == 0:
        outcome.expect(not before, f"{words}: the store is gone")
        return None
    outcome.expect_sound(place, words)
    held, ended = place.held(url)
    # 66: it died before the first page was there. 75: pages are missing, and `show` says so.
    is_incomplete = ended.status == 75 and b"incomplete: " in ended.errors
    outcome.expect(ended.status == 0 or is_incomplete or ended.status == 66 and not before, lambda: f"{words}: show {ended}")
    outcome.expect_exact(held, origin.truth(), words)
    outcome.expect(before.items() <= held.items(), lambda: f"{words}: {len(before.keys() - held.keys())} items were there before")
    return held


def check_resumed(outcome, ended, origin, held, words, overlap=2):
    """R31: the run after it brings everything, and asks for nothing that was there, but page one and items of overlap: one
    before, and one behind where the page behind came first."""
    outcome.expect(ended.status == 0, lambda: f"{words}: resumed: {ended}")
    for asked in origin.taken():
        window = range(asked.offset, min(asked.offset + asked.limit, origin.items))
        again = sum(position in held for position in window)
        outcome.expect(
            asked.offset == 0 or again <= overlap,
            lambda: f"{words}: {asked.target} was asked for again, {again} of {len(window)} were held",
        )


def check_end(outcome, place, origin, url, words):
    """The store holds the origin's list, and is done with."""
    full, _ = place.held(url)
    outcome.expect(list(full.values()) == origin.truth(), f"{words}: {len(full)} items in the end")
    place.remove()


def random_moments(bench, broken):
    """kill -9 of `sync`, repeated until one run ends by itself; then the next store."""
    outcome, chance = Outcome(), bench.chance("random moments")
    deaths = bench.pick(40, 5_000) if not broken else 30
    with Origin(items=600, pause=0.004) as origin:
        url = origin.url()
        while outcome.cases < deaths and not (broken and outcome.violations):
            place = bench.place()
            while True:
                words = f"death {outcome.cases}, seed {bench.seed}"
                # The control: a disk that once says it has written and has not.
                more = {"SHIM_FAULT": f"write,lost,{chance.randrange(20, 120)}"} if broken else None
                begun = time.monotonic()
                program = place.start("sync", url, "--quiet", *LIST, more=more)
                try:
                    program.wait(chance.uniform(0, 0.25))
                    outcome.expect_tidy(finish(program), words)
                    break
                except subprocess.TimeoutExpired:
                    before = {}
                    if chance.random() < 0.5:
                        # A stopped process can be compared: its committed items must exist afterwards.
                        program.send_signal(signal.SIGSTOP)
                        asked = time.monotonic()
                        before = place.held(url)[0]
                        waited = time.monotonic() - asked
                        # Twice the busy budget: a stopped process with a lock delays others no longer.
                        outcome.expect(waited < 12, lambda: f"{words}: a reader beside one that stands still took {waited:.0f} s")
                    end(program)
                    outcome.cases += 1
                    held = check_death(outcome, place, origin, url, words, before)
                    origin.taken()
                    if held is not None and chance.random() < 0.2:
                        check_resumed(outcome, place.sync(url, *LIST), origin, held, words)
                        break
            held, _ = place.held(url)
            outcome.expect(
                broken or [held.get(n) for n in range(origin.items)] == origin.truth(),
                f"{words}: not the origin's list in the end",
            )
            outcome.expect_sound(place, f"{words}, in the end")
            place.remove()
            origin.taken()
    return outcome


class Half:
    """A store as a process leaves it that was killed in the middle of a list: with its log, and pages in flight."""

    def __init__(self, bench, origin):
        self.place, url = bench.place(), origin.url()
        origin.answer = lambda asked, _: origin.open.clear() if asked.offset > origin.items // 3 else None
        program = self.place.start("sync", url, "--quiet", *LIST)
        until(lambda: not origin.open.is_set())
        program.send_signal(signal.SIGSTOP)
        end(program)
        origin.answer = None
        origin.open.set()
        self.held, ended = self.place.held(url)
        if not 0 < len(self.held) < origin.items:
            raise RuntimeError(f"no half of a list: {len(self.held)} items, {ended}")
        origin.taken()


CALLS = ["write", "sync", "truncate", "unlink", "open"]


def every_call(bench, broken):
    """SIGKILL instead of the Nth call of a kind, N = 1… until a run ends unkilled; on a blank place and on half a list."""
    outcome = Outcome()
    with Origin(items=120) as origin:
        url, half = origin.url(), Half(bench, origin)
        for call in CALLS:
            for begins in (["half"] if broken else ["blank", "half"]):
                # The control needs only to be seen; the short form takes every seventh call, a different one for each seed.
                step = 9 if broken else bench.pick(7, 1)
                number = 1 if step == 1 else 1 + bench.seed % step
                while not (broken and outcome.violations):
                    place = half.place.copy() if begins == "half" else bench.place()
                    words = f"killed instead of {call} {number}, {begins}"
                    ended = place.sync(url, *LIST, more={"SHIM_FAULT": f"{call},kill,{number}"})
                    if ended.status != -signal.SIGKILL:
                        outcome.expect_tidy(ended, f"{call}, never killed", {0})
                        break
                    outcome.cases += 1
                    if broken:
                        # The control deletes the log.
                        for path in place.files():
                            if path.name.endswith("-wal"):
                                path.unlink()
                    held = check_death(outcome, place, origin, url, words, half.held if begins == "half" else {})
                    origin.taken()
                    check_resumed(outcome, place.sync(url, *LIST), origin, held or {}, words)
                    check_end(outcome, place, origin, url, words)
                    number += step
        half.place.remove()
    return outcome


ERRORS = {"EIO": "5", "ENOSPC": "28", "half written": "half"}


def failing_calls(bench, broken):
    """An error instead of the Nth call, once and from then on: the run reports it, loses nothing, and the next run continues."""
    outcome = Outcome()
    with Origin(items=120) as origin:
        url, half = origin.url(), Half(bench, origin)
        # The control: the disk reports no error, and does not write.
        kinds = {"not written": "lost"} if broken else ERRORS
        faults = [
            (call, name, code, ever)
            for call in ["read", *CALLS]
            for name, code in kinds.items()
            for ever in ["", "+"]
            if code != "half" or (call, ever) == ("write", "")
        ]
        for call, name, code, ever in faults:
            step = bench.pick(17, 1)
            number = 1 if step == 1 else 1 + bench.seed % step
            while not (broken and outcome.violations):
                place, fired = half.place.copy(), bench.root / "fired"
                fired.unlink(missing_ok=True)
                words = f"{name} at {call} {number}{ever}"
                ended = place.sync(url, *LIST, more={"SHIM_FAULT": f"{call},{code},{number}{ever}", "SHIM_FIRED": str(fired)})
                if not fired.exists():
                    place.remove()
                    break
                outcome.cases += 1
                # Done all the same, the store cannot be read or written, or made; never 70, which would be an error of ours.
                outcome.expect_tidy(ended, words, {0, 65, 73, 74, 75, 77})
                held = check_death(outcome, place, origin, url, words, half.held)
                origin.taken()
                outcome.expect(place.sync(url, *LIST).status == 0, f"{words}: it does not go on")
                check_end(outcome, place, origin, url, words)
                number += step
        half.place.remove()
    return outcome
