"""To which provider a request goes: `Destinations`."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from backscroll.integrations.proxy.credentials import Credentials
from backscroll.integrations.proxy.paths import Provider, climbs, is_among, providers_of
from backscroll.integrations.proxy.refusal import RefusedHereError
from backscroll.integrations.proxy.settings import ProxySettings

_OTHER_KEY = "a key that begins with `sk-` and not with `sk-ant-`"


class Destinations:
    """Decides for each request. No credential of one provider goes to the other.

    Args:
        settings: The addresses, and the paths that users allow.
    """

    def __init__(self, settings: ProxySettings) -> None:
        anthropic, openai = urlsplit(settings.anthropic), urlsplit(settings.openai)
        self._allowed = tuple(settings.allow_paths)
        self._is_gateway = not f".{anthropic.hostname}".endswith(".anthropic.com")
        self._is_one_server = anthropic[:2] == openai[:2]

    def provider_of(self, path: str, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> Provider:
        """Return the provider to which a request goes: the one that has its path, or the one that gave its credential.

        Args:
            path: The path, decoded.
            target: The path and query, as they came.
            headers: The headers.

        Raises:
            RefusedHereError: It may go to neither. The reason names no value of the request.
        """
        if climbs(target.partition(b"?")[0]):
            raise RefusedHereError(400, "the path has a segment `.` or `..`, or is encoded more than three times")
        owner, known = self._owner(Credentials(headers, target)), providers_of(path)
        if owner is not None and (not known or owner[0] in known):
            return owner[0]
        if not known and not is_among(path, self._allowed):
            raise RefusedHereError(
                404,
                "Backscroll does not know this path, and no credential of the request shows a provider. Start the "
                "proxy with `--allow-path` and the path, and it goes to `--openai-upstream`",
            )
        by_path = Provider.ANTHROPIC if known == {Provider.ANTHROPIC} else Provider.OPENAI
        if owner is None or self._is_one_server:
            return by_path
        raise RefusedHereError(
            400,
            f"{owner[1]} is {owner[0]}'s and the path is {by_path}'s: no credential of one provider goes to the other. "
            f"Send {by_path}'s credential, or correct the address in the client",
        )

    def _owner(self, credentials: Credentials) -> tuple[Provider, str] | None:
        """Return the provider that gave a credential, and how it shows that."""
        shown = dict(credentials.shown)
        if credentials.has_other_key and not (self._is_gateway and credentials.speaks_anthropic):
            shown.setdefault(Provider.OPENAI, _OTHER_KEY)
        if len(shown) > 1:
            raise RefusedHereError(
                400,
                f"the request bears credentials of two providers: {shown[Provider.ANTHROPIC]} is Anthropic's, "
                f"{shown[Provider.OPENAI]} is OpenAI's. Send one of them: neither goes to the other",
            )
        return next(iter(shown.items()), None)
