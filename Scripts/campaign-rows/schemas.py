"""Files that are almost a store: newer, older, half made, and hostile (R8, R46)."""

import pathlib, sqlite3, time
from bench import Outcome
from origin import Origin
from places import contents

MIGRATION = sorted(pathlib.Path(__file__).resolve().parents[2].joinpath("Migrations").glob("v*.sql"))
ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT {} FROM r"
QUERY_COLUMNS = (
    "x AS id, '' AS scope, '' AS key, 0 AS name_hash, 0 AS generation, 0 AS revision, 'unknown' AS total_kind, NULL AS total, "
    "NULL AS list_end, 0 AS created_at, NULL AS validated_at, NULL AS invalidated_at, NULL AS fresh_for, 0 AS allows_duplicates, "
    "'' AS paging, '' AS source, NULL AS sweep_position, NULL AS sweep_cursor, NULL AS sweep_started_at, 0 AS pinned, 0 AS seal"
)

# What was done to a good store, and how commands must end.
HOSTILE = {
    "a trigger that empties it": ("CREATE TRIGGER t AFTER INSERT ON ledger BEGIN DELETE FROM page; DELETE FROM body; END", {65}),
    "a trigger on updates": ("CREATE TRIGGER t AFTER UPDATE ON query BEGIN DELETE FROM page; END", {65}),
    "an endless view for a table": (f"DROP TABLE query; CREATE VIEW query AS {ENDLESS.format(QUERY_COLUMNS)}", {65}),
    "an endless view beside": (f"CREATE VIEW extra AS {ENDLESS.format('x')}", {65}),
    "a table too many": ("CREATE TABLE extra (a)", {65}),
    "an index too many": ("CREATE INDEX extra ON page (fingerprint)", {65}),
    "an index on an expression": ("CREATE INDEX extra ON body (length(payload))", {65}),
    "a column too many": ("ALTER TABLE page ADD COLUMN extra TEXT", {65}),
    "a column without its check": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (count >= 0)', '') "
        "WHERE name = 'page'; PRAGMA writable_schema = OFF",
        {65},
    ),
    "a table missing": ("DROP TABLE identity", {65}),
    "a schema that is no SQL": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABEL x' WHERE name = 'tally'",
        {65},
    ),
    "a newer version": (
        "PRAGMA user_version = 4711; INSERT INTO migration VALUES (4711, 'later', 'c', 0)",
        {78},
    ),
    "the next version": (
        f"PRAGMA user_version = {len(MIGRATION) + 1}; INSERT INTO migration VALUES ({len(MIGRATION) + 1}, 'next', 'c', 0)",
        {78},
    ),
    "a version that the tables disprove": ("PRAGMA user_version = 4711", {65}),
    "a negative version": ("PRAGMA user_version = -1", {78, 65}),
    "somebody else's stamp": ("PRAGMA application_id = 7", {65}),
    "no stamp": ("PRAGMA application_id = 0", {65}),
    "the tables, and no version": ("PRAGMA user_version = 0", {65, 66, 70, 77}),
}


def statements(script):
    parts, part = [], ""
    for line in script.splitlines():
        part += line + "\n"
        if sqlite3.complete_statement(part):
            parts, part = parts + [part], ""
    return parts


def altered(bench, broken):
    outcome = Outcome()
    with Origin(items=100) as origin:
        url, good = origin.url(), bench.place()
        good.sync(url, "--page-size", "20")
        for name, (script, codes) in HOSTILE.items():
            place = good.copy()
            with sqlite3.connect(place.store) as connection:
                connection.executescript(script)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") if "writable" not in script else None
            connection.close()
            before = pathlib.Path(place.store).read_bytes()
            outcome.cases += 1
            if broken:
                # The control opens these files like any database, within three seconds.
                outcome.expect(is_harmless(place.store), f"{name}: it bites")
                continue
            for words in [
                ["show", url],
                ["list"],
                ["sync", url, "--quiet", "--wait", "0s"],
                ["verify"],
                ["purge", "--all", "--yes"],
            ]:
                ended = place.run(*words, timeout=20)
                outcome.expect_tidy(ended, f"{name}, {words[0]}", codes)
                outcome.expect(pathlib.Path(place.store).read_bytes() == before, f"{name}, {words[0]}: the file was changed")
            place.remove()
    return outcome


def is_harmless(path):
    """Reads and writes a store as a program would that trusts it."""
    connection, limit = sqlite3.connect(path), time.monotonic() + 3
    connection.set_progress_handler(lambda: time.monotonic() > limit, 10_000)
    try:
        version = (
            connection.execute("PRAGMA user_version").fetchone()[0],
            connection.execute("PRAGMA application_id").fetchone()[0],
        )
        pages = connection.execute("SELECT count(*) FROM page").fetchone()
        connection.execute("INSERT INTO ledger (query, offset, state, attempts) VALUES (99, 1, 'ok', 1)")
        connection.execute("UPDATE query SET pinned = 1")
        return version == (len(MIGRATION), 0x70676361) and pages == connection.execute("SELECT count(*) FROM page").fetchone()
    except sqlite3.Error:
        return False
    finally:
        connection.close()


def half_made(bench, broken):
    """A store whose making stopped after each statement in turn, committed, as no process of ours leaves it, and a blank one, as
    they do. Migrated or refused, and nothing between. (Kills inside a migration are cases of "instead of every call".)"""
    outcome = Outcome()
    with Origin(items=100) as origin:
        url = origin.url()
        parts = [part for file in MIGRATION for part in statements(file.read_text())]
        for number in range(len(parts) + 1):
            for version in range(len(MIGRATION) + 1):
                place, words = bench.place(), f"{number} of {len(parts)} statements, version {version}"
                with sqlite3.connect(place.store) as connection:
                    connection.execute("PRAGMA application_id = 1885823841")
                    connection.executescript("".join(parts[:number]) + f"PRAGMA user_version = {version}")
                connection.close()
                before = contents(place.folder)["store.sqlite"]
                outcome.cases += 1
                if broken:
                    # The control treats the file as a whole store.
                    outcome.expect(is_harmless(place.store), f"{words}: it bites")
                    continue
                ended = place.sync(url)
                if ended.status == 0:
                    held, _ = place.held(url)
                    outcome.expect(list(held.values()) == origin.truth(), f"{words}: {len(held)} items")
                    if version > 0:
                        # A whole store without its stamp: the tool notices that, and repairs it.
                        found = place.verify()
                        outcome.expect(found.status == 65, lambda: f"{words}: a missing note is not seen: {found}")
                        place.run("verify", "--repair", "--yes")
                    outcome.expect_sound(place, words)
                else:
                    outcome.expect_tidy(ended, words, {65, 78})
                    outcome.expect(contents(place.folder)["store.sqlite"] == before, f"{words}: refused, and changed")
                place.remove()
    return outcome
