"""Memory of a listener under load: `python3 benchmarks/listener_soak.py [minutes]`, one line for every half minute."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from listener_made import COUNT, SECRET, signed, write
from listener_processes import listening, start_load

from sandbox import memory_mib


def main(minutes: float) -> None:
    os.environ["LMS_SECRET"] = SECRET.decode()
    with tempfile.TemporaryDirectory() as directory, listening() as server:
        requests = write(Path(directory) / "signed", signed, COUNT)
        load = start_load(server.url, requests, minutes * 60, 32, 0)
        started = time.monotonic()
        while load.poll() is None:
            time.sleep(30)
            print(f"{time.monotonic() - started:6.0f} s  {memory_mib(server.process):7.1f} MiB", flush=True)
        print(load.communicate()[0].splitlines()[-1])


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5)
