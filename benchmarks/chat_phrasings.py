"""Phrasings of a made-up person who talks to an assistant: statements of facts, corrections, questions, small talk.

`{s}` is the subject, `{v}` the value, `{old}` the value before. Each kind of fact has two sets of phrasings: `plain` is
how most people put it, `other` are long, terse or roundabout ones. A correction says that something changed; a plain
statement with another value corrects as well.
"""

from typing import NamedTuple


class Phrasings(NamedTuple):
    """What can be said and asked of one kind of fact."""

    says: tuple[str, ...]
    corrects: tuple[str, ...]
    other: tuple[str, ...]
    """Roundabout statements and corrections, both with `{v}` alone."""
    asks: tuple[str, ...]


OF_PERSONS = {
    "birthday": Phrasings(
        ("{s}'s birthday is on {v}.", "{s} was born on {v}.", "Write down that {s}'s birthday is {v}."),
        ("Actually, {s}'s birthday is on {v}.", "I got it wrong, {s}'s birthday is {v}, not {old}.",
         "Correction: {s}'s birthday is on {v}."),
        ("We should buy a cake, because {s}'s birthday is {v}.", "Birthday of {s}: {v}"),
        ("When is {s}'s birthday?", "On which day was {s} born, what is the birthday?"),
    ),
    "city": Phrasings(
        ("{s} lives in {v}.", "{s}'s city is {v}.", "By the way, {s} lives in {v} these days."),
        ("{s} has moved to {v}.", "{s} no longer lives in {old}, but in {v}.", "{s} lives in {v} now.",
         "{s} moved from {old} to {v}."),
        ("I visited {s} at home last month. {s} lives in {v}.", "Guess what, {s} is living in {v} now!"),
        ("In which city does {s} live?", "Where does {s} live, which city was it that {s} moved to?"),
    ),
    "employer": Phrasings(
        ("{s} works at {v}.", "{s} works for {v}.", "{s}'s employer is {v}."),
        ("{s} doesn't work at {old} anymore, it's {v} now.", "Actually {s} works at {v}.",
         "{s} changed jobs and now works for {v}.", "{s} left {old} and works at {v} now."),
        ("I had lunch with {s}. {s} works at {v}.", "News about work: {s} works for {v} from this month on."),
        ("Who is the employer of {s}?", "Which company does {s} work for?"),
    ),
    "drink": Phrasings(
        ("{s}'s favorite drink is {v}.", "Of all drinks {s} prefers {v}.", "The favorite drink of {s} is {v}."),
        ("{s}'s favorite drink is no longer {old}, it is {v}.", "{s} no longer prefers {old}, but {v}.",
         "Actually, {s}'s favorite drink is {v}."),
        ("If you plan the party: {s}'s favorite drink is {v}.", "When it comes to drinks, {s} prefers {v}."),
        ("What is {s}'s favorite drink?", "Which drink does {s} prefer?"),
    ),
    "extension": Phrasings(
        ("{s}'s phone extension is {v}.", "The phone extension of {s} is {v}.", "{s} has the phone extension {v}."),
        ("{s}'s phone extension changed to {v}.", "{s}'s new phone extension is {v}.",
         "Sorry, {s}'s phone extension is {v} and not {old}."),
        ("You can reach {s} at the office, {s}'s phone extension is {v}.", "Phone extension {s}: {v}"),
        ("What is {s}'s phone extension?", "Which phone extension do I dial for {s}?"),
    ),
    "shoe": Phrasings(
        ("{s}'s shoe size is {v}.", "{s} wears shoe size {v}.", "Shoe size of {s}: {v}."),
        ("Correction, {s}'s shoe size is {v}.", "{s}'s shoe size is not {old} but {v}.",
         "{s} wears shoe size {v} now."),
        ("For the skates you need to know that {s}'s shoe size is {v}.", "{s} has grown and wears shoe size {v}."),
        ("What is {s}'s shoe size?", "Which shoe size does {s} wear?"),
    ),
    "dog": Phrasings(
        ("{s}'s dog is called {v}.", "The name of {s}'s dog is {v}.", "{s}'s dog is named {v}."),
        ("I misheard: {s}'s dog is called {v}.", "{s}'s dog is not called {old}, it's called {v}.",
         "Actually {s}'s dog is named {v}."),
        ("The cutest thing today: {s}'s dog is called {v}.", "{s}'s dog goes by {v}."),
        ("What is {s}'s dog called?", "What is the name of {s}'s dog?"),
    ),
    "seat": Phrasings(
        ("{s} sits in room {v}.", "{s}'s room is {v}.", "{s}'s office is room {v}."),
        ("{s} moved to room {v}.", "{s}'s room is now {v}.", "{s} no longer sits in room {old} but in room {v}."),
        ("If you look for {s}: {s} sits in room {v}.", "The nameplate says that {s} sits in room {v}."),
        ("In which room does {s} sit?", "Which room is {s}'s office?"),
    ),
    "car": Phrasings(
        ("{s} drives a {v}.", "{s}'s car is a {v}.", "{s}'s car is a nice {v}."),
        ("{s} sold the {old} and drives a {v} now.", "{s}'s new car is a {v}.", "{s}'s car is now a {v}."),
        ("I saw {s} at the garage, {s} drives a {v}.", "Believe it or not, {s}'s car is a {v}."),
        ("Which car does {s} drive?", "What is {s}'s car?"),
    ),
}  # fmt: skip  # a table
OF_PROJECTS = {
    "deadline": Phrasings(
        ("The deadline of project {s} is {v}.", "Project {s} is due on {v}.", "{s}'s deadline is {v}."),
        ("The deadline of project {s} was moved to {v}.", "Project {s} is now due on {v}.",
         "The deadline of project {s} has changed: {v} instead of {old}."),
        ("The customer called, so the deadline of project {s} is {v}.", "{s}: deadline {v}"),
        ("What is the deadline of project {s}?", "When is project {s} due, what is the deadline?"),
    ),
    "budget": Phrasings(
        ("The budget of project {s} is {v} dollars.", "Project {s} has a budget of {v} dollars.",
         "{s}'s budget is {v} dollars."),
        ("The budget of project {s} was cut to {v} dollars.", "The budget of project {s} is now {v} dollars.",
         "Update: the budget of project {s} is {v} dollars, not {old}."),
        ("After the meeting the budget of project {s} is {v} dollars.", "{s}: budget {v} dollars"),
        ("What is the budget of project {s}?", "How many dollars is the budget of project {s}?"),
    ),
    "lead": Phrasings(
        ("The lead of project {s} is {v}.", "{v} leads project {s}.", "Project {s}'s lead is {v}."),
        ("The lead of project {s} is no longer {old}, it's {v}.", "{v} leads project {s} now.",
         "The new lead of project {s} is {v}.", "{v} took over project {s} from {old}."),
        ("Everybody is happy that the lead of project {s} is {v}.", "{s}: lead {v}"),
        ("Who is the lead of project {s}?", "Who leads project {s}?"),
    ),
    "day": Phrasings(
        ("The weekly meeting of project {s} is on {v}.", "Project {s}'s weekly meeting is on {v}.",
         "We hold the weekly meeting of project {s} on {v}."),
        ("The weekly meeting of project {s} was moved to {v}.", "The weekly meeting of project {s} is on {v} now.",
         "The weekly meeting of project {s} is on {v} instead of {old}."),
        ("As agreed the weekly meeting of project {s} is on {v}.", "{s}: weekly meeting {v}"),
        ("When is the weekly meeting of project {s}?", "On which weekday is the weekly meeting of project {s}?"),
    ),
}  # fmt: skip
OF_APPOINTMENTS = {
    "appointment": Phrasings(
        ("My {s} appointment is on {v}.", "I have a {s} appointment on {v}.", "The {s} appointment is on {v}."),
        ("My {s} appointment was moved to {v}.", "The {s} appointment has been rescheduled to {v}.",
         "Actually, my {s} appointment is on {v}.", "My {s} appointment is no longer on {old} but on {v}."),
        ("Don't let me forget, my {s} appointment is on {v}.", "{s} appointment: {v}"),
        ("When is my {s} appointment?", "On which day and at what time is the {s} appointment?"),
    )
}  # fmt: skip
OF_MYSELF = {
    "thing": Phrasings(
        ("My {s} is {v}.", "The {s} is {v}.", "For the record, my {s} is {v}."),
        ("My {s} is now {v}.", "My {s} changed from {old} to {v}.", "Actually my {s} is {v}.",
         "My {s} isn't {old} anymore, it's {v}."),
        ("You may as well know that my {s} is {v}.", "My {s}: {v}"),
        ("What is my {s}?", "Do you remember the {s}?"),
    )
}  # fmt: skip
RULES = {
    "rule": Phrasings(
        ("Always {s} {v}.", "Please {s} {v}."),
        ("From now on {s} {v}, not {old}.", "I changed my mind: always {s} {v} instead of {old}."),
        ("You must always {s} {v}.", "Never forget to {s} {v}."),
        ("How should you {s}?", "How do I want you to {s}?"),
    )
}
OF_RULES = {
    "write prices in": ("euros", "francs", "pounds", "dollars"),
    "give temperatures in": ("Celsius", "Fahrenheit", "Kelvin"),
    "answer in": ("English", "German", "French", "Italian"),
    "call me": ("Captain", "Professor", "Maestro", "Chief"),
    "sign letters with": ("Yours truly", "Kind regards", "Best wishes", "Cheers"),
}
SMALL_TALK = (
    "The weather is lovely today.", "I slept badly last night.", "Haha, that is funny.", "Thanks, you are great!",
    "What a long day.", "I am a bit tired.", "Good morning!", "Do you think it will rain?", "Never mind.",
    "I just had a coffee.", "Let me think about it.", "That sounds good to me.", "The bus was late again.",
    "I watched a film yesterday evening.", "My back hurts a little.", "Can you tell me a joke?", "Okay, got it.",
    "The neighbors are loud again.", "I think I will cook pasta tonight.", "It is already {n} o'clock.",
    "I ran {n} kilometers this morning.", "There were {n} people at the bakery.", "I read {n} pages before sleeping.",
)  # fmt: skip
NEAR_MISSES = (
    "{p} says hi.", "I had coffee with {p} this morning.", "{p} was in {c} last week.", "Yesterday I met {p} in {c}.",
    "{p} is in a good mood today.", "{p} told me about a trip to {c}.", "{p} bought a {d} for me.",
    "{p} is on holiday until {t}.", "I will call {p} on {t}.", "The train to {c} leaves at {n}:15.",
    "{p} and {q} had a long talk about project {j}.", "Project {j} was discussed on {t} with {p}.",
    "{p} likes {c}.", "{p} asked whether {q} lives in {c}.", "I dreamed that {p} moved to {c}.",
    "{q} thinks that {p} would love {d}.", "Maybe {p} and I will see each other on {t}.",
)  # fmt: skip
"""Talk with the names and values of facts that states none of them."""
ANSWERS = (
    "Got it, I'll remember that.", "Noted.", "Thanks for telling me!", "Sure, I have written that down for you.",
    "Alright. Is there anything else I can do for you?", "Good to know. Let me know if that changes.",
)  # fmt: skip
ECHOES = ("Noted: {text}", "Okay, I wrote down: {text}", "Understood. {text} Anything else?")
TO_TALK = (
    "I see! Tell me more if you like.", "That happens to all of us. I hope the rest of the day goes well for you.",
    "Ha, good one.", "I understand. Is there something that I can help you with today?", "Sounds like a full day!",
)  # fmt: skip
