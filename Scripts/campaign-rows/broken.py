"""A copy of the package with planted bugs, which an environment variable switches on. The suites must notice each."""

import os, shutil, subprocess
from bench import ROOT

WORK = ROOT / ".build" / "campaign"
# In the copy only; the package itself has no such switch.
SWITCH = """
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Whether a planted bug is awake.
package enum Control {
    package static func isAwake(_ name: String) -> Bool {
        guard let word = getenv("PAGECACHE_CONTROL") else { return false }
        return String(cString: word) == name
    }
}
"""
BUGS = {
    "checksums are not compared": (
        "Sources/PageModel/Rows/BodyCodec.swift",
        "guard seal.value == checksum else",
        'guard Control.isAwake("checksums are not compared") || seal.value == checksum else',
    ),
    "a failed commit is reported as done": (
        "Sources/PageStore/SQLite/Transaction.swift",
        "else { try run(TransactionKind.commit) }",
        'else if Control.isAwake("a failed commit is reported as done") { try? run(TransactionKind.commit) } '
        "else { try run(TransactionKind.commit) }",
    ),
    "every owner counts as dead": (
        "Sources/PageStore/Leases/OwnerLock.swift",
        "if String(number, radix: 36) == name { return true }",
        "if String(number, radix: 36) == name { return true }\n        "
        + 'if Control.isAwake("every owner counts as dead") { return false }',
    ),
    "every origin is trusted": (
        "Sources/HTTPPageSource/Wire/OriginPolicy.swift",
        "if url.hasSameOrigin(as: home) { return true }",
        'if Control.isAwake("every origin is trusted") || url.hasSameOrigin(as: home) { return true }',
    ),
    "a pause may be negative": (
        "Sources/HTTPPageSource/Wire/RetryAfter.swift",
        "return max(date - now, .zero)",
        'return Control.isAwake("a pause may be negative") ? date - now : max(date - now, .zero)',
    ),
    "a commit is reported before it is made": (
        "Tests/StoreWorker/KilledWriter.swift",
        "            if case .committed(let version) = try await store.commit(plan)",
        '            if Control.isAwake("a commit is reported before it is made") { say("\\(page)") }\n'
        "            if case .committed(let version) = try await store.commit(plan)",
    ),
    "each commit is reported once": (
        "Tests/StoreWorker/KilledWriter.swift",
        '            say("\\(page)")\n        }\n',
        '            if !Control.isAwake("a commit is reported before it is made") { say("\\(page)") }\n        }\n',
    ),
    "successes stay in the ledger": (
        "Sources/PageStore/Tables/LedgerTable.swift",
        "try connection.run(forgetSuccess, .int(query.rawValue), .int(offset))",
        'if Control.isAwake("successes stay in the ledger") { return }\n'
        "        try connection.run(forgetSuccess, .int(query.rawValue), .int(offset))",
    ),
    "a lease on the server excludes no other replica": (
        "Sources/PostgresPageStore/Leases/LeaseStatements.swift",
        'l.start IS NULL OR NOT \\(LedgerStatements.counts(uptime: "m.up", boot: "$8"))',
        'l.start IS NULL OR NOT \\(Control.isAwake("a lease on the server excludes no other replica") ? "false" '
        ': LedgerStatements.counts(uptime: "m.up", boot: "$8"))',
    ),
    "an equal counter is an equal version": (
        "Sources/PostgresPageStore/LocalCopy/CheckedLists.swift",
        "before.record.contentVersion == checked.record.contentVersion",
        '(Control.isAwake("an equal counter is an equal version") '
        "? before.record.contentVersion.counter == checked.record.contentVersion.counter "
        ": before.record.contentVersion == checked.record.contentVersion)",
    ),
    "an observer reads before LISTEN only": (
        "Sources/PostgresPageStore/Notices/ServerChangeNotifier.swift",
        "if event == .reconnected || hub.hasObservers { await",
        'if !Control.isAwake("an observer reads before LISTEN only"), event == .reconnected || hub.hasObservers { await',
    ),
}


def check():
    """The bugs that cannot be planted, because the code has changed."""
    for name, (file, old, _) in BUGS.items():
        count = (ROOT / file).read_text().count(old)
        if count != 1:
            yield f"cannot plant '{name}' in {file}: '{old}' is there {count} times"


def plant(tree):
    """Copies the package to `tree`, and puts every bug in."""
    for wrong in check():
        raise SystemExit(wrong)
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for part in ["Sources", "Tests", "Migrations"]:
        shutil.copytree(ROOT / part, tree / part, symlinks=True)
    # Tests start servers with these.
    for part in ["Scripts", "Models"]:
        (tree / part).symlink_to(ROOT / part)
    for file in ["Package.swift", "Package.resolved"]:
        if (ROOT / file).exists():
            shutil.copy(ROOT / file, tree / file)
    (tree / "Sources/PageModel/Control.swift").write_text(SWITCH.lstrip())
    for name, (file, old, new) in BUGS.items():
        path = tree / file
        text = path.read_text()
        # Planting a bug again has no effect.
        head = "" if file.startswith("Sources/PageModel/") else "import PageModel\n"
        path.write_text(head + text.replace(old, new))


class Broken:
    """Built once, when the first control asks for it."""

    def __init__(self, swift):
        self.swift, self.tree, self.is_built = swift, WORK / "tree", False

    def test(self, bug, filter, environment):
        words = [*self.swift, "test", "--scratch-path", str(WORK / "build")]
        if not self.is_built:
            plant(self.tree)
            built = subprocess.run(
                [*self.swift, "build", "--build-tests", "--scratch-path", str(WORK / "build")],
                cwd=self.tree,
                capture_output=True,
                text=True,
            )
            if built.returncode:
                raise SystemExit(f"the package with planted bugs does not build:\n{built.stdout[-3000:]}{built.stderr[-2000:]}")
            self.is_built = True
        return subprocess.run(
            [*words, "--skip-build", "--filter", filter],
            cwd=self.tree,
            capture_output=True,
            text=True,
            env={**os.environ, **environment, "PAGECACHE_CONTROL": bug},
        )
