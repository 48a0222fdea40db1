"""A real server that speaks S3, from its wheel: started on free ports of this machine, and ended with the test."""

import contextlib
import json
import socket
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any, NamedTuple

from backscroll import StoreUnavailableError
from backscroll.stores.blobs.s3 import S3Blobs

WEED = Path(sysconfig.get_path("scripts"), "weed")
BUCKET = "blobs"
READY = 120  # seconds that a slow machine may need
PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"),
    *("s3.port", "s3.port.grpc", "admin.port", "admin.port.grpc"),
)
OPTIONS = ("webdav=false", "admin.ui=false", "s3.port.iceberg=0", "s3.port.lance=0", "s3.iam=false")
SILENT = "master.telemetry=false"


class Account(NamedTuple):
    """Who may do what."""

    key: str
    secret: str
    actions: tuple[str, ...]


OWNER = Account("owner", "owner's secret", ("Admin", "Read", "Write", "List"))
READER = Account("reader", "reader's secret", (f"Read:{BUCKET}", f"List:{BUCKET}"))


def free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def environment(account: Any, secret: str | None = None) -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": account.key, "AWS_SECRET_ACCESS_KEY": account.secret if secret is None else secret}


@contextlib.contextmanager
def serving(folder: Path) -> Any:
    """The endpoint of a server that keeps everything below a folder, with an empty bucket."""
    accounts = [
        {"name": each.key, "credentials": [{"accessKey": each.key, "secretKey": each.secret}], "actions": each.actions}
        for each in (OWNER, READER)
    ]
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": accounts}))
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    options = ["ip=127.0.0.1", "ip.bind=127.0.0.1", f"dir={folder}", f"s3.config={config}", f"bucket={BUCKET}", SILENT]
    options += [*OPTIONS, *(f"{name}={port}" for name, port in ports.items())]
    log = folder / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [WEED, "mini", *(f"-{option}" for option in options)],
            cwd=folder, env={"HOME": str(folder), "PATH": ""}, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        endpoint = f"http://127.0.0.1:{ports['s3.port']}"
        until_ready(server, endpoint, log)
        yield endpoint
    finally:
        server.kill()  # asked to end, it would take half a minute
        server.wait()


def until_ready(server: Any, endpoint: Any, log: Any) -> None:
    over = time.monotonic() + READY
    while not answers(endpoint):
        assert server.poll() is None, f"the server ended: {log.read_text()[-2000:]}"
        assert time.monotonic() < over, f"the server does not answer: {log.read_text()[-2000:]}"
        time.sleep(0.05)


def answers(endpoint: str) -> bool:
    """Whether the bucket is there and takes something."""
    blobs = S3Blobs(
        BUCKET, "ready", endpoint=endpoint, access_key_id=OWNER.key, secret_access_key=OWNER.secret,
        retry_config={"max_retries": 0},
    )  # fmt: skip  # one thought
    try:
        blobs.put("ready", b"ready")
        return len(list(blobs.names())) == 1
    except StoreUnavailableError:
        return False
