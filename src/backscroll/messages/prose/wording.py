"""English words that say something of a sentence. They only weigh: a text in another language loses none of its own."""

import re

REASON = re.compile(
    r"\b(?:because|cause[ds]?|instead|decided|decision|rather than|so that|therefore|turns out|found|fail\w*|"
    r"not an issue|confirmed|fix(?:ed)?|remaining|next step|still|pending|open|blocked|recommend\w*|however|but)\b",
    re.IGNORECASE,
)
"""What a reader of a report needs to go on: causes, decisions, what failed and what is left."""
OUTCOME = re.compile(
    r"\b(?:findings?|root|causes?|explanations?|explains?|means|conclusions?|verdict|decisions?|"
    r"recommend\w*|remaining|left|open|next|issues?|problems?|bugs?|fail\w*|blockers?|risks?|gaps?)\b",
    re.IGNORECASE,
)
"""A heading of what was found, decided or is left, and not of how something works."""
ORDER = re.compile(
    r"\b(?:must|never|always|do not|don't|only|required|mandatory|important|critical)\b",
    re.IGNORECASE,
)
"""What a document asks of its reader."""
TASK = re.compile(
    r"\b(?:accept\w*|criteria|requir\w*|constraints?|rules?|guardrails?|steps?|report\w*|deliver\w*|scope|goals?|enforce|"
    r"include|avoid|must|never|always|do not|don't|mandatory|critical|important|closing|completion|before you)\b",
    re.IGNORECASE,
)
"""A heading of what a document asks for, and not of how things are."""
REQUEST = re.compile(
    r"\bplease confirm\b|\b(?:please (?:choose|decide)|let me know) (?:if|whether|which|what|how|when)\b",
    re.IGNORECASE,
)
"""A question without a question mark."""
ANNOUNCEMENT = re.compile(
    r"(?:(?:ok(?:ay)?|now|next|first|then|great|good|perfect|excellent|alright|so|also|and)[,.!: ]{1,3}){0,4}"
    r"(?:let me|let['\u2019]s|i['\u2019]?ll|i will|i['\u2019]?m \w+ing|"
    r"i need to (?:check|look|read|see|find|update|fix)|i should (?:check|look)|i want to)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that says what its author does next, which the deed itself shows."""
_AGREEMENT = """
y yes yeah yep yup no nope nah ok okay sure agreed correct exactly right perfect great proceed continue
ja nein doch weiter genau oui non si sí no sì não sim da nee tak nie evet hayir
是 是的 好 好的 对 不 不是 继续 可以 行 はい いいえ 続けて お願いします 네 예 아니요 계속 да нет давай продолжай
"""
AGREEMENT = frozenset(_AGREEMENT.split())
"""Words with which an answer begins that agrees or refuses, in the languages of many users."""
GO_AHEAD = re.compile(
    r"(?:(?:please|just|then|now|let['\u2019]?s|and) )*(?:go|do|fix|apply|implement|take|use|try|start|begin|skip|keep|"
    r"drop|address|remove|delete|merge|add|make|change|rename|revert|update|close|show|options?|both|all|that|this|"
    r"these|those|it|them|none|neither|either|sounds|looks|the|first|second|third|last)\b"
)
"""The beginning of an answer that points at what was offered."""
_POINTER = """
it that this these those them all both everything each none neither either one ones two three four five the of and or
with for in order option options number item items first second third fourth last latter former rest others issues
problems findings points suggestions fixes steps a b c d e f please now then too as you said suggested proposed
recommended recommend suggest think best good ahead go do fix apply implement take use try start begin skip keep drop
address remove delete merge add make change rename revert update close show on just only same way is are sounds looks
me lets let's let approach version plan
"""
POINTER = frozenset(_POINTER.split())
"""Words that name nothing by themselves: an answer of nothing else needs its question."""
