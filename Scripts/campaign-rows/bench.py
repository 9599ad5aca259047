"""The parts that every experiment uses: the tool, a directory of its own, and the checks of a store."""

import csv, io, json, os, pathlib, random, shutil, signal, subprocess, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# What `pagecache --help` lists, and 128 + N for signals.
CODES = {0, 64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 129, 130, 143}


class Ended:
    def __init__(self, status, output, errors, seconds):
        self.status, self.output, self.errors, self.seconds = status, output, errors, seconds

    @property
    def json(self):
        try:
            return json.loads(self.output)
        except ValueError:
            return {}

    @property
    def lines(self):
        """Lines on standard error."""
        return self.errors.count(b"\n") + (not self.errors.endswith(b"\n") and self.errors != b"")

    def __str__(self):
        return f"{self.status}: {self.errors[-300:].decode(errors='replace').strip()}"


class Bench:
    """Settings of the whole campaign: how long a form, which seed, which programs."""

    def __init__(self, is_long, seed, programs, soak_seeds):
        self.is_long, self.seed, self.programs, self.soak_seeds = is_long, seed, pathlib.Path(programs), soak_seeds
        self.tool = str(self.programs / "pagecache")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="pagecache-campaign-"))
        # A PostgreSQL server in it runs as another user when this user is root.
        self.root.chmod(0o711)
        self.shim = self.build_shim()

    def pick(self, short, long):
        return long if self.is_long else short

    def chance(self, row):
        """The same numbers for the same seed, whatever other rows are run."""
        return random.Random(f"{self.seed} {row}")

    def place(self):
        return Place(self, tempfile.mkdtemp(dir=self.root))

    def build_shim(self):
        target = self.root / "shim.so"
        made = subprocess.run(
            [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", target, HERE / "shim.c", "-ldl"],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise SystemExit(f"the shim does not build:\n{made.stderr}")
        return str(target)

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)


class Place:
    """A directory with a store in it, and the tool that works on it."""

    def __init__(self, bench, folder):
        self.bench, self.folder, self.store = bench, folder, f"{folder}/store.sqlite"
        # What the shim does to every program started here; see shim.c.
        self.control = {}

    def copy(self):
        other = self.bench.place()
        shutil.copytree(self.folder, other.folder, dirs_exist_ok=True)
        return other

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, more=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PAGECACHE_", "SHIM_"))}
        shim = {**self.control, **(more or {})}
        if any(name.startswith("SHIM_") for name in shim):
            # A crash is found by its signal; the report of the runtime would take seconds.
            environment |= {"LD_PRELOAD": self.bench.shim, "SHIM_UNDER": self.folder}
        return environment | {"SWIFT_BACKTRACE": "enable=no", "HOME": self.folder} | shim

    def start(self, *arguments, more=None, store=True, command=None, **options):
        words = (command or [self.bench.tool]) + list(arguments) + (["--store", self.store] if store else [])
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(words, env=self.environment(more), cwd=self.folder, **options)

    def run(self, *arguments, timeout=60, **options):
        """Runs the tool to its end. A hang ends with the status None."""
        begun = time.monotonic()
        program = self.start(*arguments, **options)
        return finish(program, begun, timeout)

    def sync(self, url, *more, **options):
        return self.run("sync", url, "--json", "--quiet", "--wait", "0s", *more, **options)

    def held(self, url, **options):
        """What readers get: position → bytes; None where `show` fails. And how it ended."""
        ended = self.run("show", url, "--format", "csv", **options)
        return rows(ended.output), ended

    def verify(self):
        return self.run("verify", "--json")

    def pages(self, url):
        ended = self.run("pages", url, "--json")
        return ended.json if ended.status == 0 else []

    def files(self):
        return [path for path in pathlib.Path(self.folder).rglob("*") if path.is_file() and not path.is_symlink()]


def rows(text):
    """The lines of `show --format csv` by position. Payloads of the campaign's origins hold no line ends."""
    held = {}
    reader = csv.reader(io.StringIO(text.decode(errors="surrogateescape"), newline=""))
    for row in list(reader)[1:]:
        if len(row) == 3 and row[0].isdigit():
            held[int(row[0])] = row[2].encode(errors="surrogateescape")
    return held


def finish(program, begun=None, timeout=60):
    begun = begun or time.monotonic()
    try:
        output, errors = program.communicate(timeout=timeout)
        return Ended(program.returncode, output or b"", errors or b"", time.monotonic() - begun)
    except subprocess.TimeoutExpired:
        program.kill()
        output, errors = program.communicate()
        return Ended(None, output or b"", errors or b"", time.monotonic() - begun)


def end(program, number=signal.SIGKILL):
    """Ends a program that may have ended already, and waits for it."""
    try:
        program.send_signal(number)
    except ProcessLookupError:
        pass
    return finish(program)


def until(holds, seconds=20):
    """Waits for an event from another process."""
    limit = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > limit:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.01)


def has_open(program, path):
    try:
        return any(os.path.realpath(link.path) == os.path.realpath(path) for link in os.scandir(f"/proc/{program.pid}/fd"))
    except OSError:
        return False


class Outcome:
    """How an experiment went."""

    def __init__(self):
        self.cases, self.violations, self.notes = 0, [], []

    def expect(self, holds, words):
        if not holds:
            self.violations.append(words() if callable(words) else words)
        return bool(holds)

    def expect_exact(self, held, truth, words):
        """Bytes exact or a miss: never others (R7)."""
        wrong = [position for position, payload in held.items() if position >= len(truth) or truth[position] != payload]
        return self.expect(not wrong, lambda: f"{words}: other bytes at {wrong[:5]} ({len(wrong)} in all)")

    def expect_tidy(self, ended, words, codes=CODES, lines=1):
        """An exit code that is documented, one line at most unless more things are said, no signal, no hang."""
        fine = ended.status in codes and ended.lines <= lines
        return self.expect(fine, lambda: f"{words}: ended with {ended}, {ended.lines} lines")

    def expect_sound(self, place, words):
        ended = place.verify()
        # An empty file whose creator was killed counts as no store, and is no violation.
        is_nothing = ended.status == 66 and b"no process has created a store in it" in ended.errors
        return self.expect(ended.status == 0 or is_nothing, lambda: f"{words}: verify {ended} {ended.output[:300]}")
