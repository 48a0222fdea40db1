// Makes elements and formats figures. Everything is put in as text, never as HTML.
"use strict";

const byId = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en-US"), number = (value) => numbers.format(value);

function make(tag, className, ...content) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...content.map((each) => typeof each === "number" ? number(each) : each));
  return element;
}

function counted(many, one, more = `${one}s`) { return `${number(many)} ${many === 1 ? one : more}`; }

// Dollars with at least two significant digits.
function dollars(value) {
  if (value === 0) return "$0";
  const digits = value >= 0.1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(value)));
  return `$${value.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits})}`;
}

// A time in UTC as the reader's own time.
function when(text) {
  if (!text) return "";
  const at = new Date(text), two = (value) => String(value).padStart(2, "0");
  const made = make("time", "", `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`);
  made.dateTime = text;
  return made;
}

// What may be longer than its place can be reached and scrolled by keyboard, and has a name.
function scrolls(place, name) {
  place.tabIndex = 0;
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", name);
  return place;
}

function say(text) {
  byId("status").textContent = text;
  byId("progress").textContent = "";
}

// Announces news to screen readers; the text stays until the next news.
function announce(...content) { byId("news").replaceChildren(...content); }

// Disables a button; if it has the focus, moves the focus to another button.
function allow(id, can, otherwise) {
  const button = byId(id), left = !can && document.activeElement === button;
  button.disabled = !can;
  if (left) byId(otherwise).focus();
}

function guarded(work) {
  return (...given) => Promise.resolve().then(() => work(...given)).catch((error) => say(`That failed: ${error.message}`));
}

function link(address, text, label) {
  const made = make("a", "", text);
  made.href = address;
  if (label) made.setAttribute("aria-label", label);
  return made;
}

// -- words that are explained --

const wordId = (word) => `word-${word.replaceAll(" ", "-")}`;

// Explains a word at an element that can have the focus.
function explains(element, word) {
  element.dataset.word = word;
  element.setAttribute("aria-describedby", wordId(word));
  return element;
}

// A word as a button that shows its sentence; as text where it has none.
function term(word, text = word) {
  if (!Object.hasOwn(WORDS, word)) return make("span", "", text);
  const made = explains(make("button", "term", text), word);
  made.type = "button";
  return made;
}

function showTip(element) {
  const tip = byId("tip"), at = element.getBoundingClientRect();
  tip.textContent = WORDS[element.dataset.word];
  tip.hidden = false;
  tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8))}px`;
  const under = at.bottom + 6, above = at.top - tip.offsetHeight - 6;
  tip.style.top = `${under + tip.offsetHeight > innerHeight && above > 0 ? above : under}px`;
}

function hideTip() { byId("tip").hidden = true; }

function listenForWords() {
  byId("words").append(...Object.entries(WORDS).flatMap(([word, sentence]) => [make("dt", "", word), make("dd", "", sentence)]));
  byId("sentences").append(...Object.entries(WORDS).map(([word, sentence]) => { // what screen readers say of a word
    const said = make("span", "", sentence);
    said.id = wordId(word);
    return said;
  }));
  const at = (event) => event.target.closest?.("[data-word]");
  for (const name of ["mouseover", "focusin", "click"]) document.addEventListener(name, (event) => at(event) ? showTip(at(event)) : name === "click" && hideTip());
  for (const name of ["mouseout", "focusout"]) document.addEventListener(name, (event) => at(event) && hideTip());
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
  addEventListener("scroll", hideTip, {passive: true, capture: true});
}
