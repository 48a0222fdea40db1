"""The HTTP of uvicorn, with trailers that are no headers: `http_protocol`."""

from asyncio import Protocol


def http_protocol() -> type[Protocol]:
    """Return the class for `http` of `uvicorn.Config`.

    uvicorn with httptools adds the trailers of a request, which come behind its body, to its headers: a client could
    send a `Host` there that the gate reads. It also drops the server that a target names. With h11 it does neither.
    """
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: PLC0415  not everywhere
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: PLC0415  not everywhere

        return H11Protocol

    class WithoutTrailers(HttpToolsProtocol):
        """Takes what comes behind the headers for none of them."""

        def on_headers_complete(self) -> None:
            """Begin the request with these headers."""
            super().on_headers_complete()
            self.headers = []
            if not self.url.startswith(b"/"):
                self.scope["raw_path"] = self.url

    return WithoutTrailers
