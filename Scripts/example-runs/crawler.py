"""`Crawler`: killed half way and started again, it asks for nothing that it has, and ends with every item; later on it asks for
page one, and for what that does not explain."""

import re, time
from program import Program, Upstream, article, expect, until

COUNT = 1_000


def run(programs, folder):
    with Upstream(programs, folder, articles=COUNT, delay=300, fails=7, port=0) as upstream:
        command = [programs / "Crawler", upstream.url, folder / "crawl/store.sqlite"]
        with Program(folder, command) as first:
            until(lambda: len(stored(first)) >= COUNT * 0.4 or first.process.poll() is not None, "the first run gets somewhere")
            expect(first.process.poll() is None, f"the first run has ended too soon:\n{first.said}")
            first.kill()
        held = stored(first)
        expect(len(held) < COUNT, "the first run was killed too late to show anything")
        # What the killed one has sent last may still be on its way.
        time.sleep(0.5)
        before = len(upstream.asked)

        with Program(folder, command) as second:
            expect(second.wait() == 0, f"the second run failed:\n{second.said}")
            expect("goes on with" in second.said, f"the second run did not know of the first:\n{second.said}")
            asked = upstream.asked[before:]
            # Only page one and the overlapping items (R21) are requested again.
            again = [(start, size) for start, size in asked if start > 0 and held & set(range(start + 1, start + size - 1))]
            expect(not again, f"asked for again: {again}; it said:\n{second.said}")
            expect(second.out.splitlines() == articles(COUNT), "the second run did not end with every item, as it was sent")

        before = len(upstream.asked)
        with Program(folder, command) as third:
            expect(third.wait() == 0 and third.out.splitlines() == articles(COUNT), f"the third run failed:\n{third.said}")
        # Nothing new: page one tells (R16). It may have been answered with 503.
        pages = upstream.asked[before:]
        expect({offset for offset, _ in pages} == {0} and len(pages) <= 2, f"a whole list was asked for again: {pages}")
        upstream.kill()
        with Program(folder, command) as fourth:
            expect(fourth.wait(90) == 75, f"without an upstream it ended with {fourth.process.returncode}")

    # Three articles came meanwhile: page one and the total explain that (R17).
    with Upstream(programs, folder, articles=COUNT + 3, fails=0, port=upstream.port()) as upstream:
        with Program(folder, command) as fifth:
            expect(fifth.wait() == 0 and fifth.out.splitlines() == articles(COUNT + 3), f"the list has grown:\n{fifth.said}")
        expect(upstream.asked == [(0, 50)], f"for three new articles it asked {upstream.asked}")
    return f"killed with {len(held)} of {COUNT}; {len(asked)} requests later every item; 1 for three new ones"


def articles(count):
    """The lines of a whole list: the newest article first."""
    return [article(count - position) for position in range(count)]


def stored(program):
    """The positions that a run says to have stored."""
    ranges = re.findall(r"stored (\d+)\.\.<(\d+):", program.said)
    return {position for start, end in ranges for position in range(int(start), int(end))}
