"""Requests as no HTTP library sends them: odd targets, doubled headers, trailers."""

import socket
from urllib.parse import urlsplit


def raw_status(url: str, *lines: str, body: bytes = b"", version: str = "1.1") -> int:
    """Send the lines of a request, and return the status of its answer.

    Args:
        url: Where the proxy is.
        lines: The method and the target, then the headers. `HOST` stands for the address of the proxy.
        body: What follows the empty line.
        version: Of HTTP.
    """
    parts = urlsplit(url)
    first, *headers = [line.replace("HOST", parts.netloc) for line in lines]
    head = "\r\n".join([f"{first} HTTP/{version}", *headers, "connection: close", "", ""])
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(head.encode("latin-1") + body)
        answer = connection.makefile("rb").readline()
    return int(answer.split()[1])


def chunked(body: bytes, *trailers: str) -> bytes:
    """A body in one chunk, with trailers."""
    end = "".join(f"{trailer}\r\n" for trailer in trailers)
    return b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, end.encode())
