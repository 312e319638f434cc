"""A real PgBouncer before the tests' PostgreSQL, in transaction mode, with few connections for many clients."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.waiting import wait_until

_SETTINGS = """
[databases]
* = host={host}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
unix_socket_mode = 0777
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 500
logfile = {folder}/log
pidfile = {folder}/pid
"""


def program() -> str:
    """The path of the program; skips the test where it is not installed."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip("pgbouncer is not installed (apt install pgbouncer)")
    return found


@contextmanager
def pgbouncer(database: str, *, size: int = 1, mode: str = "transaction", roles: tuple[str, ...] = ()) -> Iterator[str]:
    """The address of the same database through a pooler with `size` connections for each role."""
    command = [program(), "-q"]
    info = psycopg.conninfo.conninfo_to_dict(database)
    with tempfile.TemporaryDirectory(prefix="hpb-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        users = {"postgres", str(info.get("user", "postgres")), *roles}
        (folder / "users").write_text("".join(f'"{user}" ""\n' for user in sorted(users)))
        (folder / "ini").write_text(_SETTINGS.format(host=info["host"], folder=folder, mode=mode, size=size))
        if os.geteuid() == 0:  # it refuses to run as root
            command += ["-u", next(Path(str(info["host"])).glob(".s.PGSQL.*[0-9]")).owner()]
        process = subprocess.Popen([*command, str(folder / "ini")])
        try:
            address = f"postgresql://{info.get('user', 'postgres')}@/{info['dbname']}?host={folder}&port=6432"
            wait_until(lambda: (folder / ".s.PGSQL.6432").exists() or process.poll() is not None, "pgbouncer listens")
            assert process.poll() is None, (folder / "log").read_text()
            yield address
        finally:
            process.kill()
            process.wait()
