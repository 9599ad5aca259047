"""The tests of the examples: the view model, the service, and the ports of four libraries."""

import os, pathlib, re, shlex, subprocess
from program import expect

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "Examples"


def run(programs, folder):
    swift = shlex.split(os.environ.get("SWIFT", "swift"))
    said = subprocess.run(
        [*swift, "test", "--skip-build", "--scratch-path", programs.parent],
        cwd=EXAMPLES, capture_output=True, text=True, timeout=600)
    text = said.stdout + said.stderr
    expect(said.returncode == 0, f"tests failed: {text}")
    passed = re.search(r"Test run with (\d+) tests? in \d+ suites? passed", text)
    expect(passed and int(passed[1]) >= 15, f"too few tests ran: {text}")
    return f"{passed[1]} tests passed"
