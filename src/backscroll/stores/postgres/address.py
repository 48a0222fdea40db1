"""Parse the address of a PostgreSQL server, and hide its secrets.

postgresql://user:password@host:5432/database?schema=backscroll&connections=8&sslmode=require

It may have all parameters of libpq. What is missing comes from where libpq looks for it: `PGHOST`, `PGPASSWORD`,
`~/.pgpass` and so on. No message, log or `repr` shows a password.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from backscroll.errors import ConfigurationError
from backscroll.stores.postgres.driver import conninfo, psycopg

SCHEMES = ("postgresql", "postgres")
SCHEMA = "backscroll"
CONNECTIONS = 8
_DEFAULTS = {
    "connect_timeout": "10",  # seconds; the default waits minutes for a host that does not answer
    "keepalives_idle": "30",  # seconds
    "tcp_user_timeout": "30000",  # milliseconds without an answer until a connection counts as lost
    "client_encoding": "UTF8",
    "application_name": "backscroll",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_UNLIKELY_LENGTH = 4  # characters from which a secret is unlikely to be part of another word
_FORM = "postgresql://user:password@host:5432/database?schema=name"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the tables are, and how to connect."""

    shown: str
    """Without anything secret."""
    schema: str
    connections: int
    parameters: dict[str, str] = field(repr=False)
    """Parameters for libpq."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may contain."""
        return tuple(value for name, value in self.parameters.items() if "password" in name and value)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for every spelling of the address."""
        return self.schema, self.connections, *sorted(self.parameters.items())


def parsed(address: str) -> Address:
    """Parse an address. Raise `ConfigurationError`, without the password, if it is invalid."""
    scheme, mark, rest = address.partition("://")
    if scheme not in SCHEMES or not mark:
        raise ConfigurationError(f"`store` must have the form {_FORM}")
    user, host, path = _split(rest)
    base, _, query = path.partition("?")
    own, left = {"schema": SCHEMA, "connections": str(CONNECTIONS)}, []
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name in own:
            own[name] = unquote(value)
        else:
            left.append(pair)
    plain = f"{scheme}://{user}{host}{base}{'?' if left else ''}{'&'.join(left)}"
    parameters = _DEFAULTS | _known(plain, _secrets(user, left))
    if not _NAME.fullmatch(own["schema"]) or own["schema"].startswith("pg_"):
        raise ConfigurationError(
            f"`schema` {own['schema']!r:.80} must have 1 to 63 ASCII letters, digits and _, and must not start with a "
            "digit or pg_"
        )
    if not re.fullmatch(r"[1-9]\d{0,3}", own["connections"]):
        raise ConfigurationError(f"`connections` must be a number from 1 to 9999, not {own['connections']!r:.80}")
    return Address(_shown(parameters, own["schema"]), own["schema"], int(own["connections"]), parameters)


def _split(rest: str) -> tuple[str, str, str]:
    """User and password with their @, host, and the rest."""
    until = re.search(r"[@/]", rest)
    user = rest[: until.end()] if until and until[0] == "@" else ""
    end = re.search(r"[/?]", rest[len(user) :])
    host = rest[len(user) :][: end.start() if end else None]
    path = rest[len(user) + len(host) :]
    base, _, query = path.partition("?")
    names = [pair.partition("=")[0] for pair in query.split("&")]
    ports = re.findall(r":([^:,\]]*)(?=,|$)", host)
    if any("@" in text for text in (host, base, *names)) or any(port and not port.isdecimal() for port in ports):
        raise ConfigurationError(  # libpq would read part of the password as a host or port, and show it
            "the address of the PostgreSQL server has a port that is not a number, or an @ or / in its password: "
            "write these as %40 and %2F"
        )
    return user, host, path


def _secrets(user: str, pairs: list[str]) -> list[str]:
    raw = [user.removesuffix("@").partition(":")[2]]
    raw += [pair.partition("=")[2] for pair in pairs if "password" in pair.partition("=")[0]]
    return [each for secret in raw for each in (secret, unquote(secret)) if each]


def _known(plain: str, secrets: list[str]) -> dict[str, str]:
    try:
        found = conninfo.conninfo_to_dict(plain)
    except psycopg.ProgrammingError as error:
        why = scrubbed(str(error), secrets, quoting=True)
    else:
        return {name: str(value) for name, value in found.items() if value is not None}
    raise ConfigurationError(f"PostgreSQL cannot parse the address ({why}): write it as {_FORM}")


def _shown(parameters: dict[str, str], schema: str) -> str:
    user, port = (parameters.get(name, "") for name in ("user", "port"))
    host = parameters.get("host") or parameters.get("hostaddr", "")
    place = ",".join(
        f"{one or 'localhost'}{':' * bool(two)}{two}"
        for one, two in zip(host.split(","), (port.split(",") * (host.count(",") + 1)), strict=False)
    )
    name = parameters.get("dbname", "")
    return f"postgresql://{user}{'@' * bool(user)}{place}/{name}?schema={schema}"


def scrubbed(text: str, secrets: tuple[str, ...] | list[str], *, quoting: bool = False) -> str:
    """A message of the server or of libpq on one line, without the secrets of an address.

    Args:
        text: the message.
        secrets: what to hide.
        quoting: also hide a secret that the message quotes by itself, as libpq does with what it cannot parse.
            Elsewhere equal letters stay: without them a message could be meaningless.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        known = re.escape(secret)
        places = rf"(?<=:){known}(?=@)|(?<=password=){known}(?=[&\s\"']|$)|(?<=password='){known}(?=')"
        if quoting:
            places += rf"|(?<=[\"']){known}(?=[\"'])" if len(secret) < _UNLIKELY_LENGTH else f"|{known}"
        text = re.sub(places, "***", text)
    return " ".join(text.split())
