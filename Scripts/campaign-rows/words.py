"""Random arguments: accepted or refused, without other effects (R46)."""

import json, re
from bench import CODES, Outcome
from origin import Origin

COMMANDS = [*"sync list show pages purge pin unpin gc verify errors why retry stats export completions nonsense".split(), ""]
FLAGS = """
    --due --paging --items --id --total --next --page-size --offset --limit --header --header-env --bearer-env --key --scope
    --timeout --format --json --quiet --verbose --no-input --max-pages --concurrency --rate --retries --wait --overlap
    --offline --explain --repair --dry-run --older-than --all --stale --failed --help --max-bytes --max-age -- - -v -x
    --nonsense --version --map --sweep --refresh
""".split()
VALUES = """
    0 -1 1 99999999999999999999 1e9 0x10 NaN 5s -5s 9999999d %s%n %_ größer / /items/0/~2 ~ .. http:// http://[
    file:///etc/passwd http://127.0.0.1:1/x json * ? list http://u:p@127.0.0.1:1/?a=%zz = :
""".split()
VALUES += ["", "'; DROP TABLE page; --", "\x1b[31m", "\u202e", "a" * 5_000, "Name: value\r\nX: y", "\n", "\udcff\udcfe"]


def arguments(bench, broken):
    outcome, chance = Outcome(), bench.chance("arguments")
    with Origin(items=40) as origin:
        place, url = bench.place(), origin.url()
        place.sync(url)
        # The control: a program that dies of a per cent sign, and says two things at once about an empty word.
        bad = bench.root / "bad"
        check = 'for word; do case $word in *%*) kill -SEGV $$;; "") echo a >&2; echo b >&2;; esac; done'
        bad.write_text(f'#!/bin/sh\n{check}\nexec {bench.tool} "$@"\n')
        bad.chmod(0o755)
        tool, known = [str(bad)] if broken else [bench.tool], {path.name for path in place.files()}
        for case in range(bench.pick(300, 20_000)):
            if broken and outcome.violations:
                break
            words = [chance.choice(COMMANDS)]
            for _ in range(chance.randrange(6)):
                words.append(chance.choice(FLAGS if chance.random() < 0.5 else [*VALUES, url]))
            outcome.cases += 1
            # Commands that prompt or wait on purpose are ended at once.
            ended = place.run(*words, command=tool, timeout=45)
            said = f"arguments {case}, seed {bench.seed}: {[word[:40] for word in words]}"
            # A warning, a line of progress where retries take their time, and why it failed.
            outcome.expect_tidy(ended, said, CODES - {70}, lines=10 if {"-v", "--verbose", "--explain"} & set(words) else 3)
            outcome.expect(b"\x1b[" not in ended.errors, f"{said}: an escape sequence was printed")
            made = {path.name for path in place.files() if not path.name.startswith("store.sqlite")} - known
            outcome.expect(not made, f"{said}: made {sorted(made)}")
        outcome.expect_sound(place, "after all these arguments")
    return outcome


ODD = """% _ %_% ' " \\ größer e\u0301 é 😀 \u202eabc A a NULL 0 * [a-z] ?""".split()
ODD += ["'; DROP TABLE query; --", "a\nb", " ", "a ", " a", "x" * 100_000]


def listing(outcome, place):
    """Every query in the store. Escapes for a terminal are not JSON, but the names must be printed and read all the same."""
    text = place.run("list", "--json").output
    escapes = re.compile(rb"\\u\{([0-9a-f]{4})\}")
    outcome.expect(not escapes.search(text), lambda: f"list --json is no JSON: {escapes.search(text)[0].decode()}")
    return json.loads(escapes.sub(rb"\\u\1", text) or b"[]")


def names(bench, broken):
    """Keys and scopes full of SQL, patterns, blanks and control characters: each is itself and no other (R46)."""
    outcome = Outcome()
    with Origin(items=30) as origin:
        place = bench.place()
        for scope in ["", "%", "' OR 1=1 --", "\t"]:
            for number, key in enumerate(ODD):
                outcome.cases += 1
                ended = place.run(
                    "sync", origin.url(f"n{number}"), "--key", key, "--scope", scope, "--quiet", "--json", "--wait", "0s"
                )
                outcome.expect_tidy(ended, f"key {key[:20]!r}, scope {scope!r}", {0})
        listed = listing(outcome, place)
        # The control: compared as if every key were another's pattern.
        expected = {(scope, key) for scope in ["", "%", "' OR 1=1 --", "\t"] for key in ODD}
        if broken:
            expected = {pair for pair in expected if "%" not in pair[1]}
        found = {(query["scope"], query["key"]) for query in listed}
        outcome.expect(
            found == expected, lambda: f"not the names that were given: {[(s, k[:20]) for s, k in found ^ expected][:5]}"
        )
        ids = {query["query"]: (query["scope"], query["key"]) for query in listed}
        left = dict(ids)
        for identifier, (scope, key) in list(ids.items())[::3]:
            outcome.cases += 1
            number = ODD.index(key)
            shown = place.run("show", identifier)
            outcome.expect(
                shown.output.split(b"\n")[:-1] == origin.truth(f"n{number}"), f"{key[:20]!r}: shows the items of another"
            )
            place.run("purge", identifier, "--yes")
            left.pop(identifier)
        now = {query["query"] for query in listing(outcome, place)}
        outcome.expect(now == set(left), lambda: f"a purge took others: {len(now)} lists, not {len(left)}")
        ended = place.run("purge", "--scope", "%", "--yes")
        outcome.expect_tidy(ended, "purge --scope %", {0})
        now = {query["scope"] for query in listing(outcome, place)}
        outcome.expect("%" not in now and len(now) == 3, lambda: f"a purge of one scope left {now}")
        outcome.expect_sound(place, "in the end")
    return outcome
