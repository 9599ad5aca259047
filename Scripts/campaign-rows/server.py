"""A PostgreSQL server whose disk is full: it is said to be full, nothing is lost, and the store is usable again once there is room."""

import os, re, shutil, subprocess
from bench import ROOT, Outcome
from origin import Origin


def full_disk(bench, broken):
    """The tables of the store are in a tablespace of 4 MiB; the server's log is elsewhere. The control: 64 MiB."""
    outcome, folder = Outcome(), bench.root / f"server-full-{'broken' if broken else 'whole'}"
    subprocess.run([ROOT / "Scripts/postgres", "start", folder], check=True)
    small, is_mounted = folder / "small", False
    try:
        address = re.search(r"PAGECACHE_TEST_POSTGRES='(.*)'", (folder / "env").read_text())[1]
        small.mkdir()
        size = "size=64m" if broken else "size=4m"
        is_mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", small], capture_output=True).returncode == 0
        if not is_mounted:
            outcome.notes.append("no file system of its own may be mounted here")
            return outcome
        if os.getuid() == 0:
            shutil.chown(small, "postgres", "postgres")
        small.chmod(0o700)
        for sql in [f"CREATE TABLESPACE small LOCATION '{small}'", "ALTER ROLE pagecache SET default_tablespace = 'small'"]:
            subprocess.run(["psql", "-q", address, "-c", sql], check=True)
        with Origin(items=20_000) as origin:
            use(bench, outcome, origin, address, small)
    finally:
        subprocess.run([ROOT / "Scripts/postgres", "stop", folder], check=False)
        if is_mounted:
            subprocess.run(["umount", "-l", small], check=False)
    return outcome


def use(bench, outcome, origin, address, small):
    url, place = origin.url(), bench.place()
    place.store = address
    outcome.cases += 1
    ended = place.sync(url)
    outcome.expect_tidy(ended, "sync", {74})
    outcome.expect(b'"disk_full"' in ended.errors, lambda: f"not told that the disk is full: {ended}")
    held, shown = place.held(url)
    outcome.expect(len(held) > 0, lambda: f"nothing is served: {shown}")
    outcome.expect_exact(held, origin.truth(), "a full disk")
    # Reading needs no room.
    for command in [["list"], ["verify"], ["why", url]]:
        outcome.cases += 1
        outcome.expect_tidy(place.run(*command, "--quiet"), command[0], {0})
    outcome.cases += 1
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    resumed = place.sync(url)
    outcome.expect(resumed.status == 0, lambda: f"with room again: {resumed}")
    after, shown = place.held(url)
    outcome.expect(list(after.values()) == origin.truth(), lambda: f"with room again: {len(after)} items; {shown}")
    outcome.expect(held.items() <= after.items(), "items are gone")
    outcome.expect_sound(place, "with room again")
