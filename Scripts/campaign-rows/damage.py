"""Files with other bytes than were written: flipped, torn, swapped, cut, emptied, foreign (R7, R46)."""

import sqlite3, struct
from bench import Outcome
from kills import Half
from origin import Origin

PAGE = 4_096


def flip(data, chance):
    place = chance.randrange(len(data))
    data[place] ^= 1 << chance.randrange(8)


def smash(data, chance):
    place = chance.randrange(len(data))
    for at in range(place, min(len(data), place + chance.randrange(1, 64))):
        data[at] = chance.randrange(256)


def interesting(data, chance):
    # Lengths, pointers and types of records stand in such numbers.
    place = chance.randrange(len(data) - 8)
    data[place : place + 4] = chance.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\x01"])


def swap(data, chance):
    first, second = (PAGE * chance.randrange(max(1, len(data) // PAGE)) for _ in range(2))
    data[first : first + PAGE], data[second : second + PAGE] = data[second : second + PAGE], data[first : first + PAGE]


def wipe(data, chance):
    first = PAGE * chance.randrange(max(1, len(data) // PAGE))
    data[first : first + PAGE] = bytes_of(chance.choice([0, None]), len(data[first : first + PAGE]), chance)


def bytes_of(value, count, chance):
    return bytearray(chance.randrange(256) if value is None else value for _ in range(count))


def cut(data, chance):
    del data[chance.randrange(len(data)) :]


def empty(data, chance):
    del data[:]


def longer(data, chance):
    data += bytes_of(None, chance.randrange(1, 3 * PAGE), chance)


KINDS = [flip] * 6 + [smash] * 3 + [interesting] * 3 + [swap, wipe, cut, longer]


def served_unchecked(path):
    """What SQLite alone serves of a store's pages, with no checksum looked at: position, count, and the bytes of the items."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1) as connection:
            # The text of a damaged file is not always UTF-8: the check may quote it.
            connection.text_factory = bytes
            if connection.execute("PRAGMA integrity_check").fetchone() != (b"ok",):
                return []
            return connection.execute(
                "SELECT page.offset, page.count, payload FROM page JOIN body ON body.id = page.body"
            ).fetchall()
    # The message of an error quotes names of the damaged schema, and may be no UTF-8 either.
    except (sqlite3.Error, UnicodeDecodeError):
        return []


def check_served(outcome, place, origin, url, words, broken):
    truth = origin.truth()
    if broken:
        # The control: the same files, read with the checksums left out.
        for offset, count, payload in served_unchecked(place.store):
            outcome.expect(payload == b"".join(truth[offset : offset + count]), f"{words}: other bytes from {offset} on")
        return
    held, ended = place.held(url, timeout=30)
    # Damaged, no list of this name, not a store, or of another version. What is missing and what is damaged are two lines.
    outcome.expect_tidy(ended, words, {0, 65, 66, 74, 75, 77, 78}, lines=2)
    outcome.expect_exact(held, truth, words)
    verified = place.run("verify", "--json", timeout=60)
    outcome.expect_tidy(verified, f"{words}: verify", {0, 65, 66, 74, 77, 78})
    outcome.expect(
        len(held) == len(truth) or verified.status != 0,
        lambda: f"{words}: {len(truth) - len(held)} items are missing and verify finds nothing",
    )


def check_mended(outcome, place, origin, url, words):
    """However bad it was: mended or set aside, the next run has the list again."""
    repaired = place.run("verify", "--repair", "--yes", "--json", timeout=60)
    outcome.expect_tidy(repaired, f"{words}: repair", {0, 65, 66, 74, 77, 78})
    synced = place.sync(url)
    # Damage that cannot be repaired in place is reported with the next step. A whole page one says nothing about the rest.
    if b"--set-aside" in repaired.output + repaired.errors or synced.status not in (0, 77):
        aside = place.run("verify", "--set-aside", "--yes", "--json")
        outcome.expect_tidy(aside, f"{words}: setting aside", {0, 65, 66, 77, 78})
        if aside.status == 0:
            synced = place.sync(url)
    if synced.status == 0:
        held, ended = place.held(url)
        outcome.expect(list(held.values()) == origin.truth(), lambda: f"{words}: {len(held)} items after mending: {repaired}, {synced}, {ended}")
    else:
        # A file without the mark of a store is left unchanged (R8).
        outcome.expect_tidy(synced, f"{words}: sync", {65, 77, 78})


def in_the_file(bench, broken):
    outcome, chance = Outcome(), bench.chance("damage")
    with Origin(items=300) as origin:
        url, good = origin.url(), bench.place()
        good.sync(url, "--page-size", "20")
        for case in range(bench.pick(100, 5_000)):
            if broken and outcome.violations:
                break
            place, kind = good.copy(), empty if case == 0 else chance.choice(KINDS)
            words = f"{kind.__name__} {case}, seed {bench.seed}"
            change(place.store, kind, 1 if case % 3 else chance.randrange(1, 9), chance)
            outcome.cases += 1
            check_served(outcome, place, origin, url, words, broken)
            if not broken and case % 5 == 0:
                check_mended(outcome, place, origin, url, words)
            place.remove()
    return outcome


def in_the_log(bench, broken):
    """The same in the log of a process that was killed before it merged it. A log that does not check ends there for SQLite
    (https://www.sqlite.org/walformat.html), so in half of the cases its own checksums are made to fit."""
    outcome, chance = Outcome(), bench.chance("damaged log")
    with Origin(items=300) as origin:
        half = Half(bench, origin)
        for case in range(bench.pick(80, 2_000)):
            if broken and outcome.violations:
                break
            place, kind = half.place.copy(), chance.choice(KINDS)
            words = f"{kind.__name__} {case} in the log, seed {bench.seed}"
            fits = case % 2 == 0 or broken
            change(place.store + "-wal", kind, 1, chance, fit if fits else None)
            outcome.cases += 1
            if broken:
                check_served(outcome, place, origin, origin.url(), words, broken)
            else:
                held, ended = place.held(origin.url(), timeout=30)
                outcome.expect_tidy(ended, words, {0, 65, 66, 74, 75, 77, 78}, lines=2)
                outcome.expect_exact(held, origin.truth(), words)
                if case % 5 == 0:
                    check_mended(outcome, place, origin, origin.url(), words)
            place.remove()
    return outcome


def change(path, kind, times, chance, afterwards=None):
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        for _ in range(times):
            if len(data) > 8:
                kind(data, chance)
        if afterwards:
            afterwards(data)
        file.seek(0)
        file.truncate()
        file.write(data)


def fit(log):
    """Makes the checksums of a log right for what is in it: of each frame over the first 8 bytes of its header and its page,
    beginning with that of the frame before (https://www.sqlite.org/fileformat.html#checksum_algorithm)."""
    order = ">" if len(log) > 3 and log[3] & 1 else "<"
    first = second = 0

    def over(part):
        nonlocal first, second
        for a, b in struct.iter_unpack(order + "II", part):
            first = (first + a + second) & 0xFFFFFFFF
            second = (second + b + first) & 0xFFFFFFFF

    if len(log) < 32:
        return
    over(bytes(log[:24]))
    log[24:32] = struct.pack(">II", first, second)
    for frame in range(32, len(log) - 24 - PAGE + 1, 24 + PAGE):
        log[frame + 8 : frame + 16] = log[16:24]
        over(bytes(log[frame : frame + 8]))
        over(bytes(log[frame + 24 : frame + 24 + PAGE]))
        log[frame + 16 : frame + 24] = struct.pack(">II", first, second)


def leaves(data, name, path):
    """The leaves of a table or index, in the order of their keys (https://www.sqlite.org/fileformat.html#b_tree_pages)."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [name]).fetchone()[0]
    found, waiting = [], [root]
    while waiting:
        page = waiting.pop(0)
        start = (page - 1) * PAGE
        if data[start] not in (2, 5):
            found.append(page)
            continue
        cells = [struct.unpack_from(">H", data, start + 12 + 2 * n)[0] for n in range(struct.unpack_from(">H", data, start + 3)[0])]
        children = [struct.unpack_from(">I", data, start + cell)[0] for cell in cells]
        waiting = children + [struct.unpack_from(">I", data, start + 8)[0]] + waiting
    return found


def expect_mended(outcome, place, url, truth, case):
    """`show` and `verify` report the damage, never a line twice. `sync` ends with 65 until `--repair` removes the damage."""
    shown = place.run("show", url)
    lines = shown.output.split(b"\n")[:-1]
    outcome.expect(len(lines) == len(set(lines)), f"{case}: show serves a line twice")
    outcome.expect(set(lines) <= set(truth), f"{case}: show serves what the origin never sent")
    outcome.expect(lines == truth or shown.status == 65, f"{case}: show ends with {shown.status}, and {len(lines)} of {len(truth)} lines")
    outcome.expect(place.run("verify", "--quiet").status == 65, f"{case}: verify finds nothing")
    for attempt in range(2):
        synced = place.sync(url)
        outcome.expect(synced.status == 65, f"{case}: sync {attempt} ends with {synced.status}")
        outcome.expect(b"verify --repair" in synced.errors, f"{case}: sync {attempt} does not name the repair: {synced}")
    repaired = place.run("verify", "--repair", "--yes")
    outcome.expect(repaired.status == 0, f"{case}: repair {repaired}")
    synced = place.sync(url)
    outcome.expect(synced.status == 0, f"{case}: sync after the repair {synced}")
    outcome.expect(place.run("show", url).output.split(b"\n")[:-1] == truth, f"{case}: not the origin's list afterwards")
    outcome.expect(place.run("verify", "--quiet").status == 0, f"{case}: not sound afterwards")


def damaged_trees(bench, broken, change, name):
    """`change` makes the cases of a file: pairs of a word and the damaged bytes."""
    outcome, chance = Outcome(), bench.chance(name)
    with Origin(items=600) as origin:
        url, good = origin.url(), bench.place()
        good.sync(url)
        truth, intact = origin.truth(), open(good.store, "rb").read()
        cases = list(change(intact, good.store))
        for word, data in chance.sample(cases, min(len(cases), bench.pick(6, 100))):
            outcome.cases += 1
            place = bench.place()
            # The control uses the undamaged file, for which no message is expected.
            with open(place.store, "wb") as file:
                file.write(intact if broken else data)
            expect_mended(outcome, place, url, truth, word)
            place.remove()
    return outcome


def leaf_headers(intact, path):
    for name in ["body", "page", "identity", "ledger"]:
        for page in leaves(intact, name, path):
            data = bytearray(intact)
            data[(page - 1) * PAGE + 3] ^= 0x10
            yield f"{name}, leaf {page}", data


def repeated_cells(intact, path):
    for page in leaves(intact, "page", path):
        start = (page - 1) * PAGE
        for cell in range(1, struct.unpack_from(">H", intact, start + 3)[0]):
            data, pointer = bytearray(intact), start + 8 + 2 * cell
            data[pointer : pointer + 2] = data[pointer - 2 : pointer]
            yield f"page {page}, cell {cell}", data


def damaged_leaves(bench, broken):
    return damaged_trees(bench, broken, leaf_headers, "leaves")


def duplicate_cells(bench, broken):
    return damaged_trees(bench, broken, repeated_cells, "cells")
