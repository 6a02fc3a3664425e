"""10,000 issues changed with a journal, and put back, beside 100: `python benchmarks/bulk.py [ISSUES]`.

Processor time of the command for one issue, peak memory, and how near it comes to the pace of a quota (`--rps`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

FEW, MANY = 100, 10_000
PACE = 500  # requests a second
SUITE = str(Path(sys.executable).parent / "suite")
# A process of its own, which answers without looking: issues have one label, and any change is taken.
SERVER = r"""
import asyncio, json, re

LENGTH = re.compile(rb"content-length: *(\d+)", re.I)
labels = {}

def answer(head, body):
    if b"bulkfetch" in head:
        keys = json.loads(body)["issueIdsOrKeys"]
        issues = [{"id": key[5:], "key": key, "fields": {"summary": labels.get(key, "old")}} for key in keys]
        data = json.dumps({"issues": issues, "issueErrors": []}).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)
    key = head.split(b" ")[1].rpartition(b"/")[2].partition(b"?")[0].decode()
    labels[key] = json.loads(body)["fields"]["summary"]
    return b"HTTP/1.1 204 No Content\r\n\r\n"

async def talk(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            writer.write(answer(head, await reader.readexactly(int(length[1])) if length else b""))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Run(NamedTuple):
    seconds: float
    processor: float
    peak_mib: float


def run(words: list[str], keys: str, environ: dict[str, str]) -> Run:
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile() as told:
        given.write(keys)
        given.seek(0)
        process = subprocess.Popen([SUITE, *words], env=environ, stdin=given, stdout=subprocess.DEVNULL, stderr=told)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            told.seek(0)
            raise SystemExit(told.read().decode())
    peak = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    return Run(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, peak)


def main() -> None:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip() if server.stdout else ""
    site = {"SUITE_BASE_URL": f"http://127.0.0.1:{port}", "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "none"}
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home, **site}
        run(["version"], "", environ)
        runs = {}
        for count in (FEW, many):
            keys = "".join(f"DEMO-{number}\n" for number in range(count))
            journal = ["--journal", str(Path(home) / f"{count}.jsonl")]
            edit = ["issues", "edit", "-", "--summary", "new", "--quiet", "-o", "id"]
            runs[f"edit {count:,}"] = run([*edit, *journal], keys, environ)
            runs[f"undo {count:,}"] = run(["undo", journal[1], "--yes", "--quiet", "-o", "id"], "", environ)
        runs[f"edit {many:,}, --rps {PACE}"] = run([*edit, "--rps", str(PACE)], keys, environ)
    server.terminate()
    server.communicate()
    for name, each in runs.items():
        print(f"{name:28} {each.seconds:7.2f} s  {each.processor:7.2f} s of processor  {each.peak_mib:6.1f} MiB")
    few, more = runs[f"edit {FEW:,}"], runs[f"edit {many:,}"]
    print(f"for one issue {(more.processor - few.processor) / (many - FEW) * 1000:.2f} ms of processor")
    print(f"for {many - FEW:,} more {more.peak_mib - few.peak_mib:.1f} MiB")
    print(f"at {PACE} a second {many / runs[f'edit {many:,}, --rps {PACE}'].seconds:.0f} a second")


if __name__ == "__main__":
    main()
