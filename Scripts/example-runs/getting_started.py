"""`GettingStarted`: a list, a restart while the API is offline, encrypted items, log-out."""

import os, subprocess
from program import expect


def run(programs, folder):
    said = subprocess.run(
        [programs / "GettingStarted"], capture_output=True, text=True, timeout=60, env={**os.environ, "TMPDIR": str(folder)})
    lines = said.stdout.splitlines()
    expect(said.returncode == 0, f"it ended with {said.returncode}: {said.stderr}")
    expect(lines[0] == "online: 40 of 95, event 39", f"online: {lines}")
    expect(lines[1].startswith("offline: 40 events; the refresh of the list failed"), f"offline: {lines}")
    expect(lines[2] == "logged out: 0 items, 0 lists in the store", f"logged out: {lines}")
    return "40 items after a restart without the API, none after the log-out"
