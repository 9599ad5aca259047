"""`Embed`: a list, and once more from the store alone."""

from program import Program, expect


def run(programs, folder):
    with Program(folder, [programs / "Embed"]) as program:
        expect(program.wait() == 0, program.said)
        last = program.out.decode().splitlines()[-1]
        expect(last == "origin offline: 95, the last is 94", f"it said '{last}'")
        return last
