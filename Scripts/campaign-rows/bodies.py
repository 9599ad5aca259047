"""Random bodies: stored exactly or refused, without other effects (R7, R43, R46)."""

from bench import Outcome
from damage import bytes_of
from origin import Origin

WORDS = [
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"10000000000000000000",
    b'""',
    b'"\\ud800"',
    b'"\\u0000"',
    b"[[]]",
    b"{}",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b'"\x1b[2J"',
    b",",
    b":",
    b"]",
    b"}",
    b'"',
    b"\\",
    b"\0",
    b'"id":',
    b'"items":',
    b'"total":',
    b'"next":"http://127.0.0.1:1/"',
    b"[" * 600,
]


def mutate(body, chance):
    """Damage of the kinds that parsers fall over: bits, words, pieces out, twice, swapped, cut."""
    body = bytearray(body)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        place, length = chance.randrange(len(body) + 1), chance.randrange(1, 40)
        match chance.randrange(7):
            case 0 if place < len(body):
                body[place] ^= 1 << chance.randrange(8)
            case 1:
                body[place:place] = chance.choice(WORDS)
            case 2:
                body[place : place + length] = chance.choice(WORDS)
            case 3:
                del body[place : place + length]
            case 4:
                body[place:place] = body[place : place + length]
            case 5:
                del body[place:]
            case _:
                body[place : place + length] = bytes_of(None, length, chance)
    return bytes(body)


def bodies(bench, broken):
    outcome, chance = Outcome(), bench.chance("bodies")
    with Origin(items=100) as origin:
        url, good = origin.url(), bench.place()
        good.sync(url, "--page-size", "20")
        count = bench.pick(100, 10_000)
        for case in range(count):
            if broken and outcome.violations:
                break
            place, words, sent = good.copy(), f"body {case}, seed {bench.seed}", []
            # Some of its pages, in a list that is known, and in one that is not.
            name = "list" if case % 2 else "fresh"

            def answer(asked, _):
                body = origin.body(asked.name, asked.offset, asked.limit)
                whole, body = body, mutate(body, chance) if chance.random() < 0.6 else body
                # The control compares with other bytes than were sent.
                sent.append(whole if broken else body)
                return 200, {}, body

            origin.answer = answer
            outcome.cases += 1
            ended = place.run(
                "sync", origin.url(name), "--quiet", "--wait", "0s", "--retries", "1", "--timeout", "10s", timeout=40
            )
            outcome.expect_tidy(ended, words, {0, 65, 69, 75}, lines=2)
            origin.answer = None
            # Every stored byte sequence is a part of a body that was sent, now or before.
            known = b"\n".join([*sent, *(origin.truth() if name == "list" else [])])
            shown = place.run("show", origin.url(name), timeout=30)
            outcome.expect_tidy(shown, f"{words}: show", {0, 66, 69, 75}, lines=2)
            made_up = [line for line in shown.output.split(b"\n") if line and line not in known]
            outcome.expect(not made_up, lambda: f"{words}: shown and never sent: {made_up[0][:80]}")
            outcome.expect(b"\x1b" not in ended.output + ended.errors + shown.errors, f"{words}: an escape sequence was printed")
            outcome.expect_sound(place, words)
            if name == "fresh":
                held, _ = place.held(url)
                outcome.expect(list(held.values()) == origin.truth(), f"{words}: another list was harmed")
            place.remove()
    return outcome
