"""The experiments that are Swift suites, as rows of the same table, and the sanitizers, which are whole builds."""

import os, re, shutil, subprocess
from bench import HERE, ROOT, Outcome
from broken import WORK, Broken

SWIFT = [os.environ.get("SWIFT", "swift")]
BROKEN = Broken(SWIFT)
ISSUE = re.compile(
    r"recorded an issue|^error: |: error: |Fatal error|unexpected signal|WARNING: ThreadSanitizer|ERROR: AddressSanitizer", re.M
)


def told(result, count):
    """The output of a test run as cases and violations. `count` matches a case; without it a case is a test or an argument."""
    outcome, text = Outcome(), result.stdout + result.stderr
    numbers = re.findall(count, text) if count else []
    numbers = numbers or re.findall(r"with (\d+) test cases? passed", text) or re.findall(r"Test run with (\d+) tests?", text)
    outcome.cases = sum(int(number) for number in numbers)
    outcome.violations = [line.strip()[:300] for line in text.splitlines() if ISSUE.search(line)]
    if result.returncode and not outcome.violations:
        outcome.violations = [f"ended with {result.returncode}: {text[-400:]}"]
    if not outcome.cases and not outcome.violations:
        outcome.violations = ["no test was run"]
    return outcome


def suite(filter, bug, count=None, more=None):
    """A row that runs these tests, and the same tests with one bug awake in them."""

    def run(bench, broken):
        environment = dict(more or {}) if bench.is_long else {}
        if broken:
            return told(BROKEN.test(bug, filter, {}), count)
        environment |= {"PAGECACHE_SOAK": "1"} if bench.is_long else {}
        result = subprocess.run(
            [*SWIFT, "test", "--skip-build", "--filter", filter],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        return told(result, count)

    return run


def on_server(filter, count, bug=None, filter_of_control=None):
    """Suites with a server, which also says that others can be started."""

    def run(bench, broken):
        found, folder = [], bench.root / f"server-{abs(hash(filter)) % 10_000}-{'broken' if broken else 'whole'}"
        subprocess.run([ROOT / "Scripts/postgres", "start", folder], check=True)
        try:
            found = re.findall(r"export (\w+)='(.*)'", (folder / "env").read_text())
            os.environ.update(found)
            return suite(filter_of_control if broken else filter, bug, count)(bench, broken)
        finally:
            for name, _ in found:
                os.environ.pop(name, None)
            subprocess.run([ROOT / "Scripts/postgres", "stop", folder])

    return run


fleet = on_server(
    r"PostgresPageStoreTests\.Fleet",
    r"fleet.*: (\d+) steps",
    "a lease on the server excludes no other replica",
    r"PostgresPageStoreTests\.FleetTests/killedAndStopped",
)
local_copy = on_server(
    r"PostgresPageStoreTests\.LocalCopy", None, "an equal counter is an equal version", r"PostgresPageStoreTests\.LocalCopyTests/stamp"
)
lost_at_a_crash = on_server(
    r"LocalCopyLossTests/immediateStop",
    r"local copy: (\d+) counters came again",
    "an equal counter is an equal version",
    r"LocalCopyLossTests/immediateStop",
)
lost_at_a_failover = on_server(
    r"LocalCopyLossTests/failover", None, "an equal counter is an equal version", r"LocalCopyLossTests/failover"
)
listening = on_server(
    r"ServerTests/committedBeforeListening",
    None,
    "an observer reads before LISTEN only",
    r"ServerTests/committedBeforeListening",
)
lives_on_server = on_server(r"SimulationTests/onServer", r"lives on the server.*: (\d+)")


def power_loss(bench, broken):
    """Its control is in the suite: a store that never waits for the disk, the images of which must be bad."""
    if not broken:
        return suite(r"PowerLossTests/kept", None, r"(\d+) images")(bench, False)
    result = subprocess.run(
        [*SWIFT, "test", "--skip-build", "--filter", r"PowerLossTests/control"], cwd=ROOT, capture_output=True, text=True
    )
    outcome = Outcome()
    found = re.search(r"never synced: (\d+) images, (\d+) bad", result.stdout + result.stderr)
    if found:
        outcome.cases = int(found[1])
        outcome.violations = [f"{found[2]} of {found[1]} images are bad"] if int(found[2]) else []
    return outcome


def lives(subject, mode):
    """Lives from seeds. The control: planted bugs, each of which the lives must catch; an escaped bug is reported."""

    def run(bench, broken):
        outcome = Outcome()
        if broken:
            result = subprocess.run([ROOT / "Scripts" / "mutants", str(bench.soak_seeds)], capture_output=True, text=True)
            caught = [line for line in result.stdout.splitlines()[2:] if line.startswith("|")]
            outcome.cases = len(caught)
            outcome.violations = caught if result.returncode == 0 else []
            outcome.notes = [line for line in caught if "NOT CAUGHT" in line]
            return outcome
        count = bench.soak_seeds if subject == "runs" else bench.soak_seeds // 4
        result = subprocess.run(
            [ROOT / ".build/release/Simulator", subject, mode, "0", str(max(1, count) - 1)], capture_output=True, text=True
        )
        found = re.search(r"(\d+) lives, (\d+) failures", result.stdout)
        outcome.cases = int(found[1]) if found else 0
        outcome.violations = [line for line in result.stdout.splitlines() if line.startswith("seed ")]
        if result.returncode and not outcome.violations or not found:
            outcome.violations = [f"ended with {result.returncode}: {result.stderr[-300:]}"]
        return outcome

    return run


def copied(kind):
    """A copy of the package to be built for a sanitizer; for that of threads with a mutex that it knows (mutex.swift)."""
    tree = WORK / f"{kind}-tree"
    shutil.rmtree(tree, ignore_errors=True)
    # The documentation, too: tests compare it with the code.
    for part in ["Sources", "Tests", "Migrations", "Documentation"]:
        shutil.copytree(ROOT / part, tree / part, symlinks=True)
    shutil.copy(ROOT / "Package.swift", tree)
    if kind == "thread":
        users = {path.relative_to(tree).parts[:2] for path in tree.rglob("*.swift") if "Mutex" in path.read_text()}
        for module in users:
            shutil.copy(HERE / "mutex.swift", tree.joinpath(*module) / "SanitizerMutex.swift")
    return tree


def sanitizer(kind, control):
    """All suites without time measurements, in a build of its own. The control: a few lines with the bug that it looks for."""

    def run(bench, broken):
        if broken:
            program = bench.root / control
            built = subprocess.run(
                [f"{SWIFT[0]}c", f"-sanitize={kind}", str(HERE / f"{control}.swift"), "-o", str(program)],
                capture_output=True,
                text=True,
            )
            outcome = Outcome()
            outcome.cases = 1
            ended = subprocess.run([program], capture_output=True, text=True) if built.returncode == 0 else built
            outcome.violations = [line for line in ended.stderr.splitlines() if "Sanitizer:" in line][:1]
            return outcome
        environment = {
            **os.environ,
            "PAGECACHE_SEEDS": "200",
            "FUZZ_CASES": "2000",
            "TSAN_OPTIONS": f"halt_on_error=0 suppressions={HERE / 'threads.supp'}",
            "ASAN_OPTIONS": "detect_leaks=0",
        }
        outcome, tree = Outcome(), copied(kind)
        # The simulation in a process of its own, one test at a time: its tests take ten times as long, and have time limits.
        for filter in [r"^(PageModelTests|PageStorageTests|PageStoreTests|PagedRepositoryTests|HTTPPageSourceTests)\.", r"^SimulationTests\."]:
            result = subprocess.run(
                [*SWIFT, "test", f"--sanitize={kind}", "--no-parallel", "--scratch-path", str(WORK / kind), "--filter", filter],
                cwd=tree,
                capture_output=True,
                text=True,
                env=environment,
            )
            part = told(result, None)
            outcome.cases += part.cases
            outcome.violations += part.violations
        # Of ten that are printed, those first that no other row would find.
        outcome.violations.sort(key=lambda line: "Sanitizer" not in line)
        return outcome

    return run
