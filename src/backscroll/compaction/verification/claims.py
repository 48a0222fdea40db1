"""The sentences of a summary, their claims, and which are removed.

Checked is what can be looked up: quoted words, paths, names that an agent can only have from its context, numbers in
digits, references, and users' alleged wishes. A sentence without any of these stays, and so do numbers spelled as
words, because a summary may count for itself. Sentences of the previous summary were checked with it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from backscroll.compaction.verification.evidence import Evidence, as_number
from backscroll.compaction.verification.wording import WORD, meant, plain, root, tidy, weighty

_QUOTED = re.compile(r"(?<!\w)\"([^\"\n]+)\"|`+([^`\n]+)`+|(?<!\w)'([^\n]+?)'(?!\w)")
_ELLIPSIS = re.compile(r"\.\.\.|\[\.\.\.\]")
_SHORT = "e.g i.e etc vs approx no No Nr Dr Mr Mrs Ms Prof St al Adv Fig fig Sec sec Ch ch p pp Vol vol Inc Ltd Co Jr"
_ABBREVIATED = "".join(rf"(?<!\b{re.escape(short)}\.)" for short in _SHORT.split()) + r"(?<!\.\.\.)"
_END = re.compile(rf"(?<=[.!?]){_ABBREVIATED}[\"')\]*_]*\s+(?=\S)|(?<=[\u3002\uff01\uff1f])(?=.)")
_BULLET = re.compile(r"\s*(?:[-*+\u2022>]\s+|#+\s+|\d{1,3}[.)]\s+)*")
_HEADING = re.compile(r"\s*(?:#+\s.*|[-*\s]*\**[\w /&-]{1,40}\**:\**)\s*")
_LABEL = re.compile(
    r"\W*(?:(?:turns|in short|left out|reminder)\W*:|(?:\d[\d,.]* )?earlier messages are compacted here)", re.IGNORECASE
)
_REFERENCE = re.compile(r"[\[(]\s*ref\s*:\s*(\d+)[\d.\-]*\s*[\])]|[\[(]\s*ref\s*:", re.IGNORECASE)
_TOKEN = re.compile(r"(?:[^\s\"'`()<>\[\]{},;|=*!?&]|(?<=\d),(?=\d{3}(?!\d)))+")
_TAG = re.compile(r"</?[a-z]\w*(?: [^<>]*)?>", re.IGNORECASE)
_CALLED = re.compile(r"([^\W\d][\w.]*)\(")
_NUMBER = re.compile(
    r"[$\u20ac\u00a3~#x+\-]*(\d[\d,_]*(?:\.\d+)?)"
    r"(?:-?(k|m|b|g|s|ms|us|ns|x|st|nd|rd|th|kb|mb|gb|tb|kib|mib|gib|h|hrs?|min|mins|sec|secs|px|pt|am|pm|bytes?)?)[%\u00b0+]?",
    re.IGNORECASE,
)
_TIMES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9}
_SPECIFIC = re.compile(r"\w_\w|^_\w|[a-z][A-Z]|[^\W\d]\d|\d[^\W\d]|\w\.\w\w|^--?\w|@\w|[A-Z]{2}[a-z]{2}|\w::\w")
_FILE = re.compile(
    r"\.(?:py|pyi|js|jsx|ts|tsx|mjs|vue|json|ya?ml|toml|md|rst|txt|cfg|ini|conf|log|csv|tsv|sql|sh|rs|go|java|kt|c|h|cc|cpp"
    r"|hpp|cs|html?|s?css|xml|lock|env|db|sqlite|rb|php|swift|ipynb|pdf|png|jpe?g|svg|gz|zip|tar|proto|tf|service|bak|"
    r"tmp|orig|exe|dll|so|whl|pem|key|crt|dockerfile|gradle|properties|jar|lua|pl|r|scala|ex|exs|zig)$",
    re.IGNORECASE,
)
_KNOWN = frozenset(
    "github gitlab javascript typescript postgresql mysql sqlite mongodb nodejs node.js openai macos ios devops "
    "graphql youtube linkedin latex numpy asp.net next.js vue.js utf-8 i/o ci/cd and/or n/a tcp/ip read/write yes/no "
    "pass/fail input/output client/server on/off true/false up/down http/2 w/o e.g i.e key/value a/b".split()
)
"""Names that every model knows, and words that are no paths."""

_BEFORE = r"(?:(?:also|then|now|later|first|again|explicitly|clearly|repeatedly|strongly|just|originally|initially|"
_BEFORE += r"previously|still|really|only|never|always|finally|specifically|has|had|have|does|did|do|is|was|were|not|"
_BEFORE += r"no longer|not any more|didn't|doesn't|hasn't|wasn't|further|further-?more|once|even|already)\s+)*"
_VERBS = (
    r"(?:ask|want|say|said|tell|told|prefer|request|require|insist|demand|instruct|like|approve?|agree|confirm|"
    r"accept|reject|decid|allow|permit|forb[ai]d|ok(?:ay)?(?:ed|s)|complain|report|stat|mention|expect|need|"
    r"order|wish|hope|plan|choos|chose|warn|not(?=ed|es)|clarif|explain|suggest|propos|specif|(?:gave|gives?|"
    r"grant\w*) (?:\w+ )?(?:permission|consent|approval|authori[sz]ation)|gave|give|grant|authori[sz]|consent|"
    r"remind|refus|declin|den[iy]|made (?:it )?clear|(?:is|are) (?:happy|ok|okay|fine|looking)|direct|command|"
    r"ban|care|would|must have|emphasi[sz]|stress|promis|point|intend|desire|interest|object|veto|sign|add|"
    r"write|wrote|call)"
)
_USERS = r"\b(?:the |this |our |your )?(?:users?|humans?|customers?)\b"
_ADDRESSED = r"(?:ask|told|tell|said|say|want|request|prefer|insist|approv|agree|confirm|demand|instruct|allow|permit)"
_CLAIM = re.compile(
    rf"{_USERS}(?:'s?)?,? (?:{_BEFORE}){_VERBS}\w*|\byou (?:{_BEFORE}){_ADDRESSED}\w*"
    rf"|^\W*(?:they|he|she) (?:{_BEFORE}){_VERBS}\w*"
    rf"|{_USERS}(?:'s?)? (?:\w+ )?(?:requests?|rules?|wish(?:es)?|instructions?|preferences?|orders?|approval|"
    r"permission|requirements?|words?|goals?|consent|demands?|decisions?|intent|task)\b"
    rf"|\b(?:per|according to|on behalf of) {_USERS[2:]}"
    rf"|\b(?:rules?|requests?|goal|wish|instructions?|orders?) (?:of|from|by) {_USERS[2:]}|^\W*users?\W*:"
    r"|\b(?:i|we|it|the agent|the assistant) (?:was|were|am|are|is|have been|has been) (?:\w+ly )?(?:asked|requested|"
    r"told|instructed|authori[sz]ed|permitted|allowed|ordered|given permission)\b",
    re.IGNORECASE,
)
_CLAIMED_BEHIND = re.compile(
    r"(?:\b(?:as|per|by|from|according to|on behalf of|because|says|said|asked|wants?|wanted|demand(?:s|ed)) "
    rf"{_USERS[2:]}|\bat {_USERS[2:]}'s? \w+)[^,;:]*$",
    re.IGNORECASE,
)
"""Claims that precede the user they are attributed to."""
_OWN = re.compile(rf"{_USERS}'s? (?:\w+ )?\w+ (?:is|are|was|were) (.*)", re.IGNORECASE)
"""Properties of a user's things, which anyone may have stated."""
_GOES_ON = re.compile(
    r";|, (?:so|which|but|and|then|after which)\b(?! (?:not|never|to)\b)"
    r"|,? (?:because|so that|so) | - |\(|, (?:and )?(?:the (?:agent|assistant)|i|it|we) ",
    re.IGNORECASE,
)
"""Where a sentence on a user's wish continues with something else."""


class Verdict(NamedTuple):
    """The checked summary."""

    text: str
    struck: int
    """Number of sentences removed."""
    kept: int


def verify(summary: str, evidence: Evidence, *, before: str = "", last: int = 0) -> Verdict:
    """Return the summary without the sentences that no message supports.

    Args:
        summary: The text.
        evidence: The messages.
        before: The previous summary, whose sentences count as checked.
        last: The newest entry that may be referred to.
    """
    known = {_bare(sentence) for line in before.splitlines() for sentence in sentences(line)}
    lines: list[str] = []
    struck = kept = 0
    for line in summary.splitlines():
        found = sentences(line)
        if not found:
            lines.append(line)
            continue
        true = [sentence for sentence in found if _bare(sentence) in known or holds(sentence, evidence, last)]
        struck += len(found) - len(true)
        if true:
            bullet = _BULLET.match(line)
            lines.append((bullet[0] if bullet else "") + "".join(true).rstrip())
            kept += sum(not _HEADING.fullmatch(sentence) for sentence in true)
    return Verdict("\n".join(lines).strip() if kept else "", struck, kept)


def _bare(sentence: str) -> str:
    return " ".join(plain(sentence).split())


def of_users(text: str) -> list[str]:
    """Return the sentences of a summary that state a user's wish."""
    found = [sentence for line in text.splitlines() for sentence in sentences(line)]
    return [sentence for sentence in found if _CLAIM.search(tidy(sentence)) or _CLAIMED_BEHIND.search(tidy(sentence))]


def sentences(line: str) -> list[str]:
    """Return the sentences of a line without its bullet, each with the space after it. Quotations stay whole."""
    bullet = _BULLET.match(line)
    line = line[bullet.end() if bullet else 0 :]
    signs = line.translate({0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'"})
    covered = _QUOTED.sub(_covered, signs)
    ends = [found.end() for found in _END.finditer(covered)]
    pieces = [line[start:end] for start, end in zip([0, *ends], [*ends, len(line)], strict=True)]
    return [piece for piece in pieces if WORD.search(piece)]


def _covered(found: re.Match[str]) -> str:
    """Return a placeholder as long as a quotation, which ends a sentence if that does."""
    text = found[0]
    return "Q" * (len(text) - 2) + (text[-2:] if text[-2] in ".!?" else "QQ")


def holds(sentence: str, evidence: Evidence, last: int) -> bool:
    """Return whether the messages support everything in a sentence that can be looked up."""
    text = tidy(sentence)
    if _LABEL.match(text) or any(found[1] is None or int(found[1]) > last for found in _REFERENCE.finditer(text)):
        return False
    text = _REFERENCE.sub(" ", text)
    claim = _CLAIM.search(text) or _CLAIMED_BEHIND.search(text)
    if claim and not _user_said(text, claim, evidence):
        return False
    if (own := _OWN.search(text)) and not evidence.supports(words := list(meant(own[1]))):
        return all(evidence.says(word) for word in WORD.findall(plain(own[1]))) and bool(words)
    quotations = [next(filter(None, found.groups())) for found in _QUOTED.finditer(text)]
    if not all(_was_written(quotation, evidence) for quotation in quotations):
        return False
    rest = _TAG.sub(" ", _QUOTED.sub(" ", text))
    stems = {root(word) for word in WORD.findall(plain(text)) if weighty(word)}
    if not all(evidence.names(found[1]) or _made_of(found[1], evidence) for found in _CALLED.finditer(rest)):
        return False
    return all(_is_there(token, evidence, stems) for token in _tokens(rest))


def _user_said(text: str, claim: re.Match[str], evidence: Evidence) -> bool:
    behind = _CLAIMED_BEHIND.search(text)
    claimed = text[: behind.start()] if behind else text[claim.end() :]
    if not behind and not WORD.search(claimed):
        claimed = text[: claim.start()]
    if (further := _GOES_ON.search(claimed)) and WORD.search(claimed[: further.start()]):
        claimed = claimed[: further.start()]
    quotations = [found[1] or found[3] for found in _QUOTED.finditer(claimed) if found[1] or found[3]]
    if not all(evidence.quotes(fragment) for said in quotations for fragment in _ELLIPSIS.split(said)):
        return False
    yes = re.search(
        r"approv|agree|confirm|accept|permi|allow|consent|authori|grant|yes|go-ahead|\bok", claim[0], re.IGNORECASE
    )
    denied = re.search(
        r"\b(?:not|never|no longer)\b|n't\b|refus|reject|declin|forb|\bban|den[iy]|object|veto", claim[0], re.IGNORECASE
    )
    lead = "yes " if yes and not denied else "never " if denied else ""
    rest = re.sub(r"(?<!\w)\"[^\"]*\"", " ", claimed) if quotations else claimed
    rest = rest.replace(" over ", " without ") if "prefer" in claim[0].casefold() else rest
    words = list(meant(lead + rest))
    return evidence.supports(words) or (bool(lead) and not denied and evidence.supports(words[1:]))


def _was_written(quotation: str, evidence: Evidence) -> bool:
    fragments = [fragment for fragment in _ELLIPSIS.split(quotation) if WORD.search(fragment)]
    if all(evidence.says(fragment) for fragment in fragments):
        return " " in quotation or not _SPECIFIC.search(quotation) or _is_named(quotation.strip("./,:;"), evidence)
    return " " not in quotation.strip() and _is_named(quotation.strip(".,:;()"), evidence)


def _tokens(text: str) -> Iterator[str]:
    for found in _TOKEN.finditer(text):
        token = (
            found[0].rstrip(".:/\u2026-+").lstrip(":.\u2026" if not found[0].startswith((".", "./", "../")) else ":")
        )
        if WORD.search(token):
            yield token


def _is_there(token: str, evidence: Evidence, stems: set[str]) -> bool:
    """Return whether the messages contain a token that can only come from them; True for any other token."""
    if token.casefold() in _KNOWN:
        return True
    if token.startswith("@") or "/" in token or _FILE.search(token):
        return _is_named(token, evidence)
    if number := _NUMBER.fullmatch(token):
        return _is_counted(number, evidence, stems)
    if token[0].isdigit() and re.fullmatch(r"[\d.,:/x\-]+", token):  # versions, dates, times, ranges
        parts = [part for part in re.split(r"[:/x\-]|\.{2,}", token) if part]
        return bool(evidence.names(token)) or all(
            (found := _NUMBER.fullmatch(part)) is not None and _is_counted(found, evidence, stems) for part in parts
        )
    if _SPECIFIC.search(token):
        return _is_named(token, evidence)
    return True


def _is_counted(number: re.Match[str], evidence: Evidence, stems: set[str]) -> bool:
    value = as_number(number[1])
    decimals = len(number[1].partition(".")[2])
    times = _TIMES.get((number[2] or "").lower(), 1.0)
    if evidence.counts(value, decimals, stems):
        return True
    return times > 1 and any(evidence.counts(value * times, digits, stems) for digits in (0, -2, -3, -5, -6))


def _is_named(name: str, evidence: Evidence) -> bool:
    if evidence.names(name):
        return True
    if "*" in name:
        return _is_named(name.partition("*")[0].rstrip("/"), evidence)
    return _made_of(name, evidence)


def _made_of(name: str, evidence: Evidence) -> bool:
    """Return whether a name joins two names of one group: a folder and a file, a class and its method."""
    if "://" in name:
        return False
    if "/" in name:
        cut = [at for at, sign in enumerate(name) if sign == "/" and 0 < at < len(name) - 1]
        return any(evidence.together([name[:at], name[at + 1 :]]) for at in cut)
    if ":" in name:
        first, *others = [part for part in name.split(":") if part]
        return bool(evidence.names(first)) and all(bool(evidence.names(part)) for part in others)
    parts = [part for part in name.split(".") if part]
    return len(parts) > 1 and not _FILE.search(name) and evidence.together(parts)
