"""Read a sentence as a statement: its subject, and the value that it gives."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from backscroll.messages.statements.corrections import without_old_value
from backscroll.messages.statements.values import Value, trimmed, value_in

_ASKED_AS = {
    "city": "live lives living", "employer": "work works company job", "birthday": "born", "deadline": "due",
    "car": "drive drives", "name": "called named", "lead": "leads leader", "price": "cost costs", "weight": "weighs",
    "preference": "prefer prefers favorite", "start": "starts begin begins", "end": "ends", "opening": "open opens",
    "closing": "close closes",
}  # fmt: skip
"""Words by which one asks for what a noun names, if the statement uses another one."""
_SHORTEST, _LONGEST = 8, 240  # characters of a sentence that may state a fact: longer ones are pasted or explain
LONGEST_TEXT = 2_000  # characters of a message that is read for statements; longer ones are no statements of facts
MOST_LINES = 6  # line ends of such a message: what has more is a log, code or a document
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bProf\.)\s+(?=[\"'(]?[A-Z])|\n+"
)
_DOUBT = re.compile(
    r"\?|\b(?:if|whether|maybe|perhaps|might|could|would|probably|possibly|dream\w*|imagin\w*|suppose|"
    r"thinks?|thought|believes?|hopes?|wish\w*|wonder\w*|ask(?:s|ed)?|wants?|wanted|rumou?rs?|used to|unless)\b|"
    r"\bmay (?!as well)",
)
"""Signs that a sentence asks or doubts. The month is written with a capital."""
_PASSING = re.compile(
    r"\b(?:every|each|also|too|as well|another|second|third|other|both|either|or|sometimes|usually|often|"
    r"until|today|tomorrow|tonight|(?<!from )(?:this|next) (?:week|month|year))\b",
    re.IGNORECASE,
)
"""Signs that a clause adds a fact, or speaks of a passing event."""
_SINCE = re.compile(r"\b(?:yesterday|recently|just|last (?:week|month|year|night))\b,? ?", re.IGNORECASE)
"""When something happened. A change that happened holds; anything else that happened is over."""
_AM = re.compile(r"\bI['\u2019]m\b")
_MADE = re.compile(
    r"^(?:they|we|i|he|she)(?: have|'ve| had to)? (?:moved|changed|extended|pushed|postponed|raised|lowered|cut|set|"
    r"updated|renamed|switched|rescheduled) (?P<what>(?:the|my|our|[A-Z]\w+['\u2019]s) .+?) to (?P<value>.+)$",
    re.IGNORECASE,
)
"""Who changes a thing does not matter."""
_LEAD_IN = re.compile(
    r"^(?:if you [^:,]+: |believe it or not,? |you may as well know that |"
    r"(?:as|like) (?:agreed|planned|discussed|usual),? |"
    r"don'?t let me forget,? |(?:after|since|following) (?:the|our) \w+,? (?=the |our )|"
    r"(?:please )?(?:note|write) (?:down )?that )",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"^(?i:when it comes to|as for|regarding|of all|among) (?P<what>\w+?)s?,? (?P<who>[A-Z]\w+) prefers (?P<value>.+)$"
)
_CLASS = re.compile(r"\b(?i:project|team|customer|client|company|mrs?|ms|dr)\.? (?=[A-Z])")
"""Words before a name that some people leave out."""
RULE = re.compile(
    r"\b(?:always|never|must|should|shall|ought|do not|don'?t|cannot|can'?t|only|avoid|ensure|make sure|please|"
    r"i prefer|we prefer|under no circumstances|forbidden|not allowed|required?)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,:;\u2013\u2014]\s+|\s+[\u2013\u2014-]\s+|\b(?:because|that|so)\b", re.IGNORECASE)
LEAVING = "leaving"
_BY_VERB = {
    "live": "city", "lives": "city", "living": "city", "work": "employer", "works": "employer", "born": "birthday",
    "due": "deadline", "drive": "car", "drives": "car", "called": "name", "named": "name", "goes by": "name",
    "prefer": "preference", "prefers": "preference", "cost": "price", "costs": "price", "weigh": "weight",
    "weighs": "weight", "start": "start", "starts": "start", "begin": "start", "begins": "start", "end": "end",
    "ends": "end", "leave": LEAVING, "leaves": LEAVING, "arrive": LEAVING, "arrives": LEAVING, "get up": "wake",
    "gets up": "wake", "wake up": "wake", "wakes up": "wake", "open": "opening", "opens": "opening",
    "close": "closing", "closes": "closing",
}  # fmt: skip
"""What a verb says of its subject, as a noun would: who lives somewhere has a city."""
_DAILY = ("start", "end", "opening", "closing", LEAVING)
_VERB = re.compile(
    r"\b(?P<change>(?:(?:was|were|has been|have been|had to be|got|is|are|has|have) )?"
    r"(?:moved|changed|rescheduled|postponed|shifted|switched|raised|lowered|cut|reduced|increased|updated|renamed|"
    r"brought forward|pushed|extended|delayed|bumped|went up|went down|set)(?: (?:back|up|forward))?(?: (?:to|for))?)\b"
    r"|\b(?:is|are|was|were) (?:now )?(?P<state>due|born|called|named|living)\b"
    r"|\b(?P<copula>is|are|am)\b(?: (?:set|scheduled|planned|booked|fixed) (?:for|on|at)\b)?"
    r"|\b(?P<work>works?) (?:at|for)\b|\b(?P<live>lives?) (?:in|at)\b|\b(?P<goes>goes by)\b"
    r"|\b(?P<verb>prefers?|drives?|costs?|weighs?|starts?|begins?|ends?|opens?|closes?|leaves?|arrives?|"
    r"gets? up|wakes? up)\b"
    r"|\b(?P<has>has|have|hold|wears?|sits?|takes place|meets?)\b",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"^(?P<who>[A-Z]\w+(?: [A-Z]\w+)?) (?:now )?(?:leads|heads|runs|took over|takes over) (?P<what>.+?)"
    r"(?: now)?(?: from \w+)?$"
)
_SHARED = re.compile(
    r"^(?P<who>[A-Z]\w+) (?!is |are ).* and (?:now )?(?P<does>(?:works?|lives?|drives?|prefers|wears?|sits|has) .+)$"
)
_LONGEST_LABEL = 6  # words
_FEW_WORDS = 2
_CHANGED = re.compile(r" (?:has |was |is )?(?:changed|moved|updated|now|new)$")
_ONE_MORE = re.compile(r"\b(?:I|we)(?: have| got|'ve got| have got) an? ", re.IGNORECASE)
_FREE = frozenset(
    "a an the my our is are was were has have had be been being am of in on at for by with as it its this and now "
    "new current currently actual exact new's just still really we i's me you can reach note please one's again here "
    "there these today so well hold place takes wears wear sits sit write down noted okay understood remember "
    "actually sorry".split()
)
"""Words that say nothing of a subject."""
_UNCLEAR = frozenset(
    "he she they it his her their its him them this that these those there here who which what".split()
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_FUNCTIONAL = frozenset(
    "favorite favourite preferred name nickname color colour size diet profession job occupation title role brand "
    "model language hobby drink dish meal instrument password passphrase motto destination city town country employer "
    "company birthday address".split()
)
"""Nouns of which a thing has one at a time, so that another word behind them is another value."""
_SEVERAL = frozenset(
    "friend brother sister cousin colleague coworker neighbor neighbour child kid son daughter aunt uncle niece nephew "
    "customer client cat dog pet student teacher member guest bug issue problem error reason thing idea question "
    "answer result test file option example".split()
)
"""Nouns of which one has several, so that another name behind them is another one of them."""
_NUMBERED = frozenset(
    "bug issue problem error reason thing idea question answer result test file option example step line item chapter "
    "page figure section task ticket".split()
)
"""Things that are counted, so that another number behind them is another one of them."""


_ORDER = re.compile(
    r"^(?:i changed my mind[:,;.]? |actually,? |sorry,? |from now on,? |and |but )*"
    r"(?:(?:please|always|you must|you should|never forget to|remember to|make sure to|make sure you|do) )*"
    r"(?P<order>(?:write|give|answer|reply|respond|call|sign|use|speak|format|address|keep|put|show|name|begin|start|end|send|"
    r"save|say|make|count|measure|quote|convert|translate|spell)\b.+)$",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"^(?:(?:turns out|actually|by the way|sorry|update|well|oh)[,:]? (?:that )?)*I "
    r"(?P<no>(?:am not|am no longer|do not|don['\u2019]t|no longer)\b)? ?"
    r"(?:am |(?P<verb>(?:have|like|love|hate|eat|drink|own|play|speak|smoke|enjoy|study|wear|use) ))?(?P<what>.+)$",
    re.IGNORECASE,
)
CLAIM, HOLDS = "(claim)", "holds"
"""Among the subject's words of what users say of themselves, and the kind of its value."""
_MOODS = frozenset(
    "tired hungry thirsty busy sick ill sorry sure fine happy glad sad afraid angry bored ready done late back home "
    "here know think understand care mind see mean remember idea time bit okay ok good well able going about".split()
)
_LONGEST_CLAIM = 6  # words
ORDER = "(order)"
"""Among the subject's words of an order such as "answer in French"."""
_LONGEST_ORDERED = 3  # words of the value of an order
PREFERENCE = "preference"
"""Represents `prefers`: one may prefer many things, so it matters which kind of thing."""


class Statement(NamedTuple):
    """One fact as a sentence states it."""

    subject: frozenset[str]
    """Words for its subject, in lower case."""
    value: Value
    old: str
    """The value that it says no longer holds. Empty: it names none."""
    corrects: bool
    """It says that something changed."""
    rule: bool
    """It may be a rule, which only an open correction replaces."""
    one_of_several: bool = False
    """It may be one more thing of its kind, as in "I have a meeting on Friday"."""


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, in order."""
    return [one.strip() for one in _SENTENCE.split(text) if one.strip()]


@lru_cache(maxsize=8_192)  # each compaction reads the same notes again
def statements_in(text: str, *, by_user: bool = True) -> tuple[Statement, ...]:
    """Return the statements in a text.

    Args:
        text: A message, or a passage of it.
        by_user: The user wrote it. The assistant's "your birthday" is the user's "my birthday".
    """
    if len(text) > LONGEST_TEXT or text.count("\n") > MOST_LINES:
        return ()
    return tuple(found for sentence in sentences_of(text) for found in _read(sentence, by_user=by_user))


def search_words(text: str) -> str:
    """Return words that find the statements of a user's text: their subjects, and how one may ask for them."""
    words = {word for statement in statements_in(text) for word in statement.subject}
    return " ".join([*sorted(words), *(_ASKED_AS[word] for word in sorted(words) if word in _ASKED_AS)])


def _read(sentence: str, *, by_user: bool) -> Iterator[Statement]:
    sentence = _AM.sub("I am", _CLASS.sub("", _LEAD_IN.sub("", sentence)))
    sentence = _MADE.sub(r"\g<what> was moved to \g<value>", sentence)
    sentence = _PREFERS.sub(r"\g<who>'s favorite \g<what> is \g<value>", sentence)
    if not _SHORTEST <= len(sentence) <= _LONGEST or _DOUBT.search(sentence):
        return
    rule = RULE.search(sentence) is not None
    text, old, corrects = without_old_value(sentence.rstrip(" .!"))
    ordered = _ORDER.match(text)
    if ordered and (old or rule or ordered["order"].lower().startswith("call me ")):
        yield from _orders(trimmed(ordered["order"]), old)
        return
    for clause in _CLAUSE.split(text):
        found = _subject_and_value(clause.strip())
        if found is None or _PASSING.search(clause):
            continue
        subject, value = found
        words = _subject_words(subject, by_user=by_user)
        if words is not None and _comparable(words, value, subject):
            yield Statement(
                subject=words,
                value=value,
                old=old,
                corrects=corrects,
                rule=rule,
                one_of_several=_may_be_one_more(words, value, clause),
            )
            return
    labeled = _labeled(text, by_user=by_user)
    if labeled is not None:
        yield Statement(*labeled, old, corrects, rule, one_of_several=len(labeled[0]) == 1 and not _owned(text))
        return
    yield from _claims(sentence, corrects=corrects, rule=rule)


def _claims(sentence: str, *, corrects: bool, rule: bool) -> Iterator[Statement]:
    """Yield what users say of themselves, which holds or no longer holds: "I am a vegetarian", "I don't smoke"."""
    claimed = _CLAIM.match(sentence.rstrip(" .!"))
    if claimed is None or not (claimed["no"] or claimed["verb"] or " am " in f" {sentence} "):
        return
    what = _SINCE.sub("", trimmed(f"{claimed['verb'] or 'am '}{claimed['what']}"))
    words = {_singular(word) for word in _WORD.findall(what.lower()) if word not in _FREE}
    if 0 < len(words) <= _LONGEST_CLAIM and _MOODS.isdisjoint(words):
        holds = "no" if claimed["no"] else "yes"
        subject = frozenset({*words, CLAIM})
        yield Statement(
            subject=subject,
            value=Value(((HOLDS, holds),), ""),
            old="",
            corrects=corrects,
            rule=rule,
            one_of_several=True,
        )


def is_order(statement: Statement) -> bool:
    """Return whether a statement is an order such as "answer in French"."""
    return ORDER in statement.subject


def _orders(order: str, old: str) -> Iterator[Statement]:
    """Yield what an order may be said to set, for each way to split it: which words are its value is not known."""
    words = order.lower().rstrip(".!").split()
    count = len(old.split())
    for size in (count,) if old else range(1, min(_LONGEST_ORDERED, len(words) - 1) + 1):
        if len(words) > size:
            subject, value = words[:-size], " ".join(words[-size:])
            yield Statement(
                frozenset({" ".join(subject), ORDER}), Value((("other", value),), ""), old, old != "", rule=True
            )


def _subject_and_value(clause: str) -> tuple[str, Value] | None:
    """Split a clause at its verb."""
    shared = _SHARED.match(clause)
    if shared:
        clause = f"{shared['who']} {shared['does']}"
    led = _LEADS.match(clause)
    if led:
        return f"lead {led['what']}", Value((("name", led["who"].lower()),), "")
    found = _VERB.search(clause)
    if found is None or (_SINCE.search(clause) and not found["change"]):
        return None
    subject, behind = _SINCE.sub("", clause[: found.start()]), _SINCE.sub("", clause[found.end() :])
    if not found["has"] and not found["change"]:
        named = re.match(r"\s*(?:now |still )?(called|named)\b", behind)
        if named:
            subject, behind = f"{subject} name", behind[named.end() :]
    value = value_in(behind)
    if found["has"] and subject.strip().lower() in ("i", "we"):
        subject = "my"
    if value is None or (value.kinds[0][0] in ("name", "other") and found["has"]):
        return None
    verb = (found["state"] or found["work"] or found["live"] or found["goes"] or found["verb"] or "").lower()
    if value.kinds[0][0] == "name" and (found["change"] or "").lower().endswith("moved to"):
        words = _subject_words(subject, by_user=True)
        verb = "lives" if words is None or len(words) == 1 else verb
    if value.kinds[0][0] == "other" and found["change"] and not _FUNCTIONAL.intersection(subject.lower().split()):
        return None
    attribute = _BY_VERB.get(verb, "")
    if attribute in _DAILY and len(value.kinds) == 2 and value.kinds[0][0] == "day":
        day, time = value.kinds  # another time on another day is one more fact
        attribute, value = f"{attribute} {day[1]}", value._replace(kinds=(time,))
    return f"{subject} {attribute} {value.rest}", value


def _subject_words(subject: str, *, by_user: bool) -> frozenset[str] | None:
    """Return the words for the subject of a statement; None if that is not clear."""
    words: set[str] = set()
    for found in _WORD.findall(subject.lower().replace("\u2019", "'")):
        word = found.removesuffix("'s").removesuffix("s'")
        if word in _UNCLEAR or word.endswith("n't") or word in ("not", "never", "no", "none"):
            return None
        if word in ("your", "you") and by_user:
            return None  # of the assistant, or of anybody
        if word == "yours" or word in _FREE or (word == "your" and not by_user):
            continue
        words.add("favorite" if word in ("favourite", "preferred") else _singular(word))
    if "room" in words:
        words.discard("office")  # "her office is room 12" says where her room is
    return frozenset(words) or None


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _comparable(words: frozenset[str], value: Value, subject: str) -> bool:
    """Return whether another value of this subject would be a change rather than one more fact."""
    kind = value.kinds[0][0]
    if "favorite" in words and len(words) < 2:
        return False
    if PREFERENCE in words:
        return kind in ("name", "other")
    if kind == "other":
        return not _FUNCTIONAL.isdisjoint(words)
    if kind in ("number", "code") and not _NUMBERED.isdisjoint(words) and len(words) <= _FEW_WORDS:
        return False
    return len(words) > 1 or kind != "name" or (_SEVERAL.isdisjoint(words) and _owned(subject))


def _owned(subject: str) -> bool:
    return not {"my", "our", "your"}.isdisjoint(subject.lower().split())


def _may_be_one_more(words: frozenset[str], value: Value, clause: str) -> bool:
    """Return whether only an open correction makes a statement more than one more fact of its kind."""
    if _ONE_MORE.search(clause) or LEAVING in words:
        return True
    return (len(words) == 1 and not _owned(clause)) or ("i" in words and value.kinds[0][0] in ("day", "date", "time"))


def _labeled(text: str, *, by_user: bool) -> tuple[frozenset[str], Value] | None:
    """Read `My nickname: Bandit`, `Badger: deadline April 3`, `Birthday of Nora: March 4`."""
    label, colon, behind = text.partition(": ")
    if label[:1] in "[\"'{<-*":
        return None
    label = _CHANGED.sub("", label)
    if not colon or _VERB.search(label) or _VERB.search(behind) or len(label.split()) > _LONGEST_LABEL:
        return None
    value = value_in(behind)
    if value is None:
        return None
    kind, shown = value.kinds[0]
    if kind in ("name", "other"):
        attribute, _, name = shown.partition(" ")
        if attribute not in ("lead", "weekly") or not name:
            return _with_label(label, value, by_user=by_user)
        value = Value((("name", name),), attribute)
    return _with_label(f"{label} {value.rest}", value, by_user=by_user)


def _with_label(label: str, value: Value, *, by_user: bool) -> tuple[frozenset[str], Value] | None:
    words = _subject_words(label, by_user=by_user)
    if words is None or not _comparable(words, value, label) or len(words) > _LONGEST_LABEL:
        return None
    return words, value
