"""How long a new process takes to its first cached page, from its start to its end: the library, a C program, GRDB, Python."""

import os, pathlib, subprocess, sys, tempfile, time

PYTHON = """
import sqlite3, sys
store = sqlite3.connect(sys.argv[1] + "/limit.sqlite")
query = store.execute("SELECT id FROM query WHERE key = 'list'").fetchone()[0]
body = store.execute("SELECT body FROM page WHERE query = ? AND offset = 0", (query,)).fetchone()[0]
print(len(store.execute("SELECT layout, payload FROM body WHERE id = ?", (body,)).fetchone()[1]))
"""


def run(root, rounds, is_quick):
    """Rows, as text."""
    home = root / "Benchmarks"
    programs = home / ".build/release"
    with tempfile.TemporaryDirectory(prefix="pagecache-cold-") as place:
        subprocess.run([programs / "StoreBenchmark", "--prepare", place], check=True)
        subprocess.run([programs / "GRDBPeer", "--prepare", place], check=True)
        contenders = {
            "pagecache": [programs / "ColdStore", place],
            "C": [programs / "ColdLimit", place, root / "Migrations/v0001_pages.sql"],
            "GRDB rows": [programs / "GRDBPeer", "--cold", place],
            "Python sqlite3": [sys.executable, "-c", PYTHON, place],
        }
        static = None if is_quick else statically_linked(home)
        if static:
            contenders["pagecache, static"] = [static, place]
        times = {who: [] for who in contenders}
        for _ in range(rounds):
            for who, command in contenders.items():
                times[who].append(milliseconds([str(word) for word in command]))
    return "\n".join(row(who, sorted(taken)) for who, taken in times.items())


def milliseconds(command):
    # The process alone: no pipes, and its output is not read.
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=nowhere)
    _, status = os.waitpid(process, 0)
    taken = (time.perf_counter() - start) * 1_000
    if status != 0:
        sys.exit("bench: %s ended with %d" % (command[0], status))
    return taken


def statically_linked(home):
    """The same program with Swift's own libraries inside it. None where that cannot be built."""
    scratch = home / ".build-static"
    swift = os.environ.get("SWIFT", "swift")
    form = ["-c", "release", "--static-swift-stdlib", "--product", "ColdStore", "--scratch-path", scratch]
    build = [swift, "build", *form, "--quiet"]
    done = subprocess.run(build, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pathlib.Path(scratch) / "release/ColdStore" if done.returncode == 0 else None


def row(who, times):
    figures = [times[int(len(times) * share)] for share in (0.5, 0.95, 0.99)]
    return "\t".join(["row", "a cold process", "to its first page", who, "ms"] + ["%.3f" % figure for figure in figures])
