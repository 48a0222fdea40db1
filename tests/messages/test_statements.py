"""Statements of facts, and which newer ones replace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages.statements import Remark, replaced_by, search_words, statements_in

CORRECTED = [
    ("My favorite color is blue.", "My favorite color is green now."),
    ("My favourite colour is blue.", "Actually, my favourite colour is red."),
    ("I live in Boston.", "I moved to Denver last week."),
    ("I live in Boston.", "I just moved to Denver."),
    ("I live in Boston.", "I live in Denver now."),
    ("My name is Sam.", "My name is actually Samuel."),
    ("My wife's name is Carla.", "Correction: my wife's name is Karla."),
    ("The meeting is at 3pm.", "The meeting has been moved to 4pm."),
    ("The meeting with Tom is on Monday at 10am.", "The meeting with Tom is now on Tuesday at 11am."),
    ("My dentist appointment is on March 3rd.", "My dentist appointment got moved to March 10th."),
    ("My dentist appointment is on March 3rd.", "The dentist appointment was rescheduled to March 10th."),
    ("I have a dentist appointment on Friday at 2pm.", "My dentist appointment is on Monday at 9am instead."),
    ("My phone number is 555-0142.", "My new phone number is 555-0199."),
    ("My email is sam@example.com.", "My email has changed to sam@work.example."),
    ("I work at Acme.", "I now work at Globex."),
    ("I work at Acme.", "I no longer work at Acme, I work at Globex."),
    ("I work for Acme as an engineer.", "I don't work for Acme anymore. I work for Globex as an engineer."),
    ("I'm a vegetarian.", "I'm not a vegetarian anymore."),
    ("I'm allergic to peanuts.", "Turns out I'm not allergic to peanuts."),
    ("My flight leaves at 8:15.", "My flight now leaves at 9:40."),
    ("My flight to Rome is on June 4.", "My flight to Rome is on June 6."),
    ("My sister lives in Chicago.", "My sister moved to Seattle."),
    ("My son's school starts at 8:00.", "My son's school starts at 8:30 now."),
    ("The project deadline is May 1.", "The project deadline was pushed to May 15."),
    ("The project deadline is May 1.", "They extended the project deadline to May 15."),
    ("Our budget is $5,000.", "Our budget is now $7,500."),
    ("My budget is 500 euros.", "My budget went up to 700 euros."),
    ("My cat is called Luna.", "My cat is called Stella, not Luna."),
    ("My car is a Toyota.", "I sold my Toyota; my car is a Honda now."),
    ("The wifi password is hunter22.", "The wifi password is now swordfish9."),
    ("My gym is on Main Street.", "My gym is on Elm Street now."),
    ("My doctor is Dr. Patel.", "My doctor is Dr. Nguyen now."),
    ("I get up at 6:30.", "I get up at 7:00 these days."),
    ("My shoe size is 9.", "My shoe size is 9.5."),
    ("My rent is $1,200 a month.", "My rent is $1,350 a month now."),
    ("Anna's birthday is May 4.", "Anna's birthday is actually May 14."),
    ("The code for the garage is 4411.", "The code for the garage is 5522 now."),
    ("My hotel is the Ritz.", "I switched hotels: my hotel is the Hilton."),
    ("I'm meeting Laura on Tuesday.", "I'm meeting Laura on Wednesday instead."),
    ("My appointment with Dr. Lee is on Tuesday.", "My appointment with Dr. Lee was moved from Tuesday to Thursday."),
    ("The team lunch is on Thursday.", "Change of plans: the team lunch is on Friday."),
    ("My username is sam88.", "My username is samuel_88 now."),
    ("My boss is Linda.", "My new boss is Mark."),
    ("Call me Bob.", "Call me Robert from now on, not Bob."),
    ("My favorite restaurant is Gino's.", "My favorite restaurant is no longer Gino's, it's Sakura."),
    ("My timezone is PST.", "My timezone is EST now."),
    ("I'm 34 years old.", "I'm 35 years old now."),
]
"""Each second statement replaces the first one."""
SEPARATE = [
    ("My sister lives in Chicago.", "My brother lives in Seattle."),
    ("My sister is Anna.", "My sister is tired."),
    ("My friend is Anna.", "My friend is Ben."),
    ("I like apples.", "I like pears."),
    ("I have a cat.", "I have a dog."),
    ("I have a meeting on Monday.", "I have a meeting on Friday."),
    ("Nora's car is blue.", "Nora's car is broken."),
    ("My car is a Honda.", "My car is at the garage."),
    ("My birthday is on May 4.", "Your birthday is on May 5."),
    ("The train to Basel leaves at 8:15.", "The train to Basel leaves at 9:15."),
    ("The train to Basel leaves at 8:15.", "The train to Bern leaves at 9:15."),
    ("I live in Boston.", "I lived in Denver as a child."),
    ("I live in Boston.", "I would love to live in Denver."),
    ("I live in Boston.", "My parents live in Denver."),
    ("I live in Boston.", "I am in Denver this week."),
    ("I work at Acme.", "I worked at Globex before that."),
    ("My meeting is on Tuesday.", "Is my meeting on Thursday?"),
    ("The meeting is on Tuesday.", "The other meeting is on Thursday."),
    ("The meeting is on Tuesday.", "There is also a meeting on Thursday."),
    ("The meeting with Tom is on Monday.", "The meeting with Ann is on Tuesday."),
    ("My dentist appointment is on March 3.", "My dentist is on Main Street."),
    ("Always answer in French.", "Always answer in short sentences."),
    ("Always answer in French.", "Write the letter in German."),
    ("Never use tabs.", "Use spaces."),
    ("Please call me Bob.", "Please call me tomorrow."),
    ("Use Python 3.11.", "Use pytest 8."),
    ("The port is 8080.", "The timeout is 30."),
    ("My son is 5.", "My daughter is 7."),
    ("My favorite color is blue.", "My wife's favorite color is green."),
    ("My favorite color is blue.", "Anna's favorite color is green."),
    ("My favorite book is Dune.", "My favorite movie is Alien."),
    ("My flight to Rome is on June 4.", "My flight to Oslo is on June 9."),
    ("My flight to Rome is on June 4.", "My flight from Rome is on June 9."),
    ("The error is in line 12.", "The error is in line 40."),
    ("The result is 12.", "The result is 13."),
    ("Step 1 is done.", "Step 2 is done."),
    ("The test is failing on Linux.", "The test is passing on Windows."),
    ("The first option is 12 dollars.", "The second option is 15 dollars."),
    ("My old phone number is 555-0101.", "My phone number is 555-0202."),
    ("My work email is a@x.com.", "My private email is b@y.com."),
    ("Lunch on Monday is at 12:00.", "Lunch on Tuesday is at 13:00."),
    ("Anna prefers tea.", "Anna prefers window seats."),
    ("I was born on May 4.", "My son was born on June 7."),
    ("My sister is a doctor.", "My sister is a mother of two."),
    ("My yoga class is on Monday.", "My yoga class is also on Thursday."),
    ("The report is due on Monday.", "The slides are due on Friday."),
    ("I weigh 80 kg.", "I want to weigh 75 kg."),
    ("My goal is 10,000 steps.", "I walked 8,000 steps."),
    ("Anna is 34.", "Anna is in room 12."),
    ("The price is $30 for adults.", "The price is $15 for children."),
    ("The shop opens at 9:00 on Monday.", "The shop opens at 10:00 on Sunday."),
    ("The file is config.py.", "The file is main.py."),
    ("The name of the function is run_all.", "The name of the class is Runner."),
    ("Room 12 is free at 3pm.", "Room 14 is free at 4pm."),
    ("My kids are called Max and Mia.", "My kids are called in at 6."),
    ("I'm allergic to peanuts.", "I'm allergic to shellfish."),
    ("My cat is called Luna.", "My dog is called Rex."),
    ("Tom's number is 12.", "Tom's locker number is 14."),
    ("The second chapter is 30 pages.", "The third chapter is 22 pages."),
    ("My grandmother lives in Lyon.", "My other grandmother lives in Nice."),
    ("My bus leaves at 7:10.", "The next bus leaves at 7:40."),
    ("The appointment on Monday is with Dr. Lee.", "The appointment on Friday is with Dr. Kim."),
    ("Version 1.2 is stable.", "Version 1.3 is not."),
    ("The value of x is 12.", "The value of y is 15."),
    ("We have 3 apples.", "We have 5 pears."),
    ("The invoice number is 1042 for Acme.", "The invoice number is 1043 for Globex."),
    ("The temperature is 20 degrees today.", "The temperature is 25 degrees tomorrow."),
    ("My team won 3 games.", "My team lost 4 games."),
    ("Anna moved to Denver.", "Anna moved to the second floor."),
    ("My brother's name is Tim.", "My other brother's name is Jim."),
    ("I changed the port to 8080.", "I changed the timeout to 30."),
    ("The tests are in tests/unit.", "The docs are in docs/site."),
]
"""Statements that both hold, or that code cannot compare."""
SUBJECTS = ("Anna's birthday", "Ben's birthday", "my rent", "the Basalt deadline", "our weekly meeting", "Ida's room")
VALUES = ("May 4", "June 11", "Tuesday", "Friday", "1,200 euros", "900 euros", "B204", "C310")


def replaced(older, newer):
    return replaced_by([Remark(1, older, True), Remark(5, newer, True)])


@pytest.mark.parametrize(("older", "newer"), CORRECTED)
def test_statement_with_another_value_replaces_the_older_one(older, newer):
    assert set(replaced(older, newer).values()) == {5}


@pytest.mark.parametrize(("one", "other"), SEPARATE)
def test_statement_of_another_subject_replaces_nothing(one, other):
    assert replaced(one, other) == {}
    assert replaced(other, one) == {}


@given(
    st.sampled_from(SUBJECTS), st.sampled_from(SUBJECTS), st.sampled_from(VALUES), st.sampled_from(VALUES),
    st.sampled_from(("{s} is {v}.", "{s} is {v} now.", "Actually, {s} is {v}.", "{s} was moved to {v}.")),
)  # fmt: skip  # one line of cases
def test_only_other_values_of_the_same_subject_replace(one, other, value, new, wording):
    older, newer = f"{one} is {value}.", wording.format(s=other, v=new)
    found = replaced(older, newer)
    if one != other or value == new:
        assert found == {}
    assert set(found) <= {(1, older)}


@given(st.permutations([(number, value) for number, value in enumerate(("May 4", "June 11", "July 9"))]))
def test_newest_statement_holds_in_any_order(order):
    remarks = [Remark(number, f"Anna's birthday is {value}.", True) for number, value in order]
    found = replaced_by(remarks)
    assert found == {(0, "Anna's birthday is May 4."): 2, (1, "Anna's birthday is June 11."): 2}


@given(st.lists(st.text(max_size=60) | st.sampled_from([one for pair in CORRECTED for one in pair]), max_size=8))
def test_any_texts_give_the_same_answer_twice(texts):
    remarks = [Remark(number, text, number % 2 == 0) for number, text in enumerate(texts)]
    found = replaced_by(remarks)
    assert found == replaced_by(reversed(remarks))
    assert all(seq < newer for (seq, _), newer in found.items())
    assert all(remarks[newer].by_user for newer in found.values())


def test_value_that_came_back_is_not_replaced():
    said = ["I live in Boston.", "I live in Denver now.", "I live in Boston again."]
    found = replaced_by([Remark(number, text, True) for number, text in enumerate(said)])
    assert found == {(1, said[1]): 2}


def test_answer_of_the_assistant_replaces_nothing():
    answer = "Noted: your rent is 900 euros."
    assert replaced_by([Remark(1, answer, False), Remark(2, "My rent is 950 euros.", True)]) == {(1, answer): 2}
    assert replaced_by([Remark(1, "My rent is 950 euros.", True), Remark(2, answer, False)]) == {}


@pytest.mark.parametrize(
    "rule",
    ["Always answer in French.", "Never use tabs.", "Please write prices in euros.", "You must only use pytest."],
)
def test_rule_stays_unless_the_newer_one_names_it(rule):
    for newer in ("Answer in German.", "Please use spaces.", "Always write prices in words.", "Use ruff now."):
        assert replaced(rule, newer) == {}


def test_rule_that_is_named_is_replaced():
    assert replaced("Always answer in French.", "From now on answer in German, not French.")


def test_words_for_searching_are_those_of_subject_and_question():
    assert search_words("Ida works at Dunmore.") == "employer ida work works company job"
    assert search_words("What a day!") == ""


def test_long_text_states_nothing():
    assert statements_in("My rent is 900 euros. " * 200) == ()
