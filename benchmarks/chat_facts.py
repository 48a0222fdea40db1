"""A made-up conversation without tools: thousands of statements of a user, of which some replace earlier ones.

    for turn in conversation(5_000, seed=1): ...

The same seed gives the same conversation. Names, values and phrasings are made up; `chat_phrasings.py` holds the
phrasings.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import chat_phrasings as said
from chat_phrasings import Phrasings

PERSONS = (
    "Adele Amos Anouk Arvid Astrid Basil Beatrix Bodil Bruno Calla Casimir Cleo Conrad Dagny Dario Delia Edda Edgar "
    "Elio Elsa Emeric Enid Ezra Fabian Fern Fiona Florian Frieda Gideon Greta Gustav Hanna Hector Hilda Horace Ida "
    "Ignatz Ilse Imogen Ivo Jasper Jette Joris Juno Kaspar Kezia Klara Lars Leonie Linus Lotte Ludo Magnus Maia Malte "
    "Marit Merle Milo Mina Nadia Nestor Nils Noemi Odile Olaf Oskar Paloma Pavel Petra Quentin Quirin Ragna Remy Rosa "
    "Rufus Sanna Selma Silas Sven Tamsin Thea Tilda Tobias Ulla Urban Vera Viggo Wanda Wilma Xenia Yara Yannick Zelda"
).split()
PROJECTS = (
    "Acorn Badger Basalt Beacon Bramble Cobalt Comet Copper Cricket Cypress Drift Ember Falcon Fathom Fjord Garnet "
    "Granite Harbor Hazel Heron Indigo Juniper Kestrel Lantern Larch Lichen Lynx Marble Meadow Mosaic Nimbus Nutmeg "
    "Onyx Orchard Osprey Otter Pebble Pepper Plover Quartz Quill Raven Ridge Saffron Sequoia Shale Sparrow Spruce "
    "Talon Thistle Thunder Topaz Tundra Velvet Walnut Willow Wren Yarrow Zephyr"
).split()
CITIES = (
    "Aarhus Basel Bergen Bilbao Bremen Cadiz Cork Delft Dijon Durham Faro Genoa Ghent Graz Hobart Jena Kyoto Leeds "
    "Lima Linz Lucca Lyon Malmo Nantes Oslo Parma Perth Porto Quito Riga Seville Tartu Turin Utrecht Vigo York Zagreb"
).split()
FIRMS = (
    "Alderworks Bluefin Brightmill Cloverline Dunmore Eastgate Fernhall Goldcrest Highmark Ironbridge Kitefield "
    "Lakehouse Millstone Northlight Oakridge Pinecone Quayside Redwater Silverlake Tallship Underhill Westbrook"
).split()
DRINKS = (
    "green tea,black coffee,oat milk,apple juice,ginger ale,iced tea,cocoa,lemonade,tonic water,mint tea,cider,kefir,"
    "grape juice,espresso,root beer,buttermilk,carrot juice,sparkling water,chai,tomato juice"
).split(",")
DOGS = "Biscuit Bandit Pickle Waffles Nugget Rusty Snowball Pretzel Mocha Ziggy Truffle Pogo Tofu Bear Clover".split()
CARS = (
    "red Fiat,blue Volvo,grey Skoda,white Mazda,black Saab,green Mini,silver Opel,yellow Seat,brown Lada,orange Dacia"
).split(",")
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
SERVICES = (
    "dentist,doctor,optician,hairdresser,physiotherapist,tax adviser,notary,vet,car inspection,passport,massage,"
    "piano lesson,driving lesson,yoga,blood test,vaccination,gardener,plumber,chimney sweep,eye test,therapist,tailor,"
    "bank,embassy,tattoo,choir audition,job interview,parent-teacher,marriage counselor,dietician"
).split(",")
COLORS = "teal maroon olive navy crimson beige violet amber turquoise scarlet lavender ivory".split()
DISHES = "risotto,lentil soup,ramen,pad thai,goulash,paella,moussaka,fondue,tacos,falafel,ratatouille,gnocchi".split(
    ","
)
BOOKS = "The Long Ford,Salt and Iron,A Winter Ledger,The Glass Orchard,Nine Bridges,The Quiet Tide".split(",")
OWN: dict[str, Sequence[str] | str] = {
    "favorite color": COLORS, "favorite dish": DISHES, "favorite book": BOOKS, "nickname": DOGS,
    "home town": CITIES, "favorite tea": DRINKS, "favorite city": CITIES, "emergency contact": PERSONS,
    "best friend": PERSONS, "boss": PERSONS, "landlord": PERSONS, "team": PROJECTS, "doctor's name": PERSONS,
    "favorite holiday place": CITIES, "wifi password": "code", "locker code": "number", "garage code": "number",
    "bike lock code": "number", "license plate": "code", "membership number": "number", "seat on the train": "seat",
    "hotel in Madrid": FIRMS, "bank": FIRMS, "insurance company": FIRMS, "phone provider": FIRMS, "gym": FIRMS,
    "alarm": "time", "lunch break": "time", "bus home": "time", "weekly therapy slot": "when", "rent": "amount",
    "monthly savings goal": "amount", "step goal": "amount", "coffee limit": "number", "shirt size": "number",
    "passport number": "code", "customer number at the power company": "number", "choir rehearsal": "when",
    "swimming class": "when", "book club": "when", "flight to Boston": "code",
}  # fmt: skip
TALK, NEW = 0.45, 0.37
"""Shares of small talk and of new facts; the rest replaces facts."""
NEAR, OTHER, PLAINLY, ECHOED, WITHIN = 0.4, 0.2, 0.3, 0.3, 0.15
"""Of small talk that names persons; of phrasings that are roundabout; of corrections that are plain statements with
another value; of answers that repeat the statement; of statements that come with small talk in one message.
"""


@dataclass(slots=True)
class Fact:
    """One thing that the user stated, maybe several times."""

    subject: str
    words: tuple[str, ...]
    """Words of the subject that every statement of it contains."""
    phrasings: Phrasings
    pool: Sequence[str] | str
    """The values it can have, or a kind of generated value."""
    values: list[str] = field(default_factory=list)
    """The values it had, newest last."""
    question: str = ""
    is_rule: bool = False

    @property
    def current(self) -> str:
        """The value that holds."""
        return self.values[-1]


class Turn(NamedTuple):
    """A user's message and the assistant's answer."""

    user: str
    assistant: str
    fact: Fact | None
    """What it states. `None`: nothing."""


def conversation(statements: int, seed: int) -> Iterator[Turn]:
    """Yield the turns of a conversation. The facts change while it is read: each has the values up to that turn."""
    chance = random.Random(seed)
    fresh, rules, known = _facts(chance), _rules(chance), list[Fact]()
    for number in range(statements):
        roll = chance.random()
        if rules and number % 40 == 7:
            fact = rules.pop()
            known.append(fact)
            yield _turn(chance, fact, first=True)
        elif roll < TALK or (roll < TALK + NEW and not fresh) or (roll >= TALK + NEW and not known):
            yield _small_talk(chance)
        elif roll < TALK + NEW:
            fact = fresh.pop()
            known.append(fact)
            yield _turn(chance, fact, first=True)
        else:
            newest = known[-30:] if chance.random() < 0.3 else known
            yield _turn(chance, chance.choice(newest), first=False)


def _facts(chance: random.Random) -> list[Fact]:
    kinds: dict[str, Sequence[str] | str] = {
        "birthday": "date", "city": CITIES, "employer": FIRMS, "drink": DRINKS, "extension": "number", "shoe": "size",
        "dog": DOGS, "seat": "room", "car": CARS, "deadline": "date", "budget": "amount", "lead": PERSONS,
        "day": WEEKDAYS,
    }  # fmt: skip
    made = [Fact(one, (one,), said.OF_PERSONS[kind], kinds[kind]) for one in PERSONS for kind in said.OF_PERSONS]
    made += [Fact(one, (one,), said.OF_PROJECTS[kind], kinds[kind]) for one in PROJECTS for kind in said.OF_PROJECTS]
    made += [Fact(one, (one,), said.OF_APPOINTMENTS["appointment"], "when") for one in SERVICES]
    made += [Fact(one, (one,), said.OF_MYSELF["thing"], pool) for one, pool in OWN.items()]
    chance.shuffle(made)
    return made


def _rules(chance: random.Random) -> list[Fact]:
    made = [Fact(one, (one,), said.RULES["rule"], pool, is_rule=True) for one, pool in said.OF_RULES.items()]
    chance.shuffle(made)
    return made


def _turn(chance: random.Random, fact: Fact, *, first: bool) -> Turn:
    value = _value(chance, fact)
    choice: Sequence[str]
    if chance.random() < OTHER:
        choice = fact.phrasings.other
    elif first or (chance.random() < PLAINLY and not fact.is_rule):
        choice = fact.phrasings.says if first else _definite(fact.phrasings.says)
    else:
        choice = fact.phrasings.corrects
    text = chance.choice(choice).format(s=fact.subject, v=value, old=fact.values[-1] if fact.values else "")
    text = text[0].upper() + text[1:]
    echoed = chance.random() < ECHOED and not fact.is_rule
    fact.values.append(value)
    fact.question = chance.choice(fact.phrasings.asks).format(s=fact.subject)
    answer = chance.choice(said.ECHOES).format(text=_turned(text)) if echoed else chance.choice(said.ANSWERS)
    if chance.random() < WITHIN:
        text = f"{chance.choice(said.SMALL_TALK).format(n=chance.randrange(3, 12))} {text}"
    return Turn(text, answer, fact)


def _definite(says: Sequence[str]) -> list[str]:
    """Return the statements that can replace another one: "I have a dentist appointment" may be one more of them."""
    return [one for one in says if not one.startswith("I have a ")]


def _turned(text: str) -> str:
    """Return a statement of the user as the assistant repeats it."""
    swapped = {"I": "you", "My": "Your", "my": "your", "me": "you"}
    return " ".join(swapped.get(word, word) for word in text.split())


def _small_talk(chance: random.Random) -> Turn:
    if chance.random() < NEAR:
        one, other = chance.sample(PERSONS, 2)
        text = chance.choice(said.NEAR_MISSES).format(
            p=one, q=other, c=chance.choice(CITIES), d=chance.choice(DRINKS), j=chance.choice(PROJECTS),
            t=chance.choice(WEEKDAYS), n=chance.randrange(6, 22),
        )  # fmt: skip
    else:
        text = chance.choice(said.SMALL_TALK).format(n=chance.randrange(3, 12))
    return Turn(text, chance.choice(said.TO_TALK), None)


def _value(chance: random.Random, fact: Fact) -> str:
    """Return a value that the fact never had before."""
    if isinstance(fact.pool, str):
        made = _generated(chance, fact.pool)
        return made if made not in fact.values else _value(chance, fact)
    left = [value for value in fact.pool if value not in fact.values and value != fact.subject]
    return chance.choice(left) if left else f"{chance.choice(fact.pool)} {len(fact.values)}"


def _generated(chance: random.Random, kind: str) -> str:
    time = f"{chance.randrange(8, 20)}:{chance.choice(('00', '15', '30', '45'))}"
    match kind:
        case "date":
            return f"{chance.choice(MONTHS)} {chance.randrange(1, 29)}"
        case "when":
            return f"{chance.choice(WEEKDAYS)} at {time}"
        case "time":
            return time
        case "size":
            return str(chance.randrange(34, 48))
        case "room":
            return f"{chance.choice('ABCDEF')}{chance.randrange(100, 500)}"
        case "seat":
            return f"{chance.randrange(1, 90)}{chance.choice('ABCD')}"
        case "code":
            return "".join(chance.choice("BCDFGHJKLMNPQRSTVWXZ23456789") for _ in range(7))
        case "amount":
            return f"{chance.randrange(2, 99)},{chance.randrange(10)}00"
    return str(chance.randrange(1000, 9999))
