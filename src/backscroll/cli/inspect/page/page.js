// The page: lists of sessions and requests, the search, and what the user does. Everything is put in as text.
"use strict";

const ROWS = 20, LOOK_AGAIN = 2000; // rows of the table at once; milliseconds between two looks at a server
const DRAW_AGAIN = 1500; // milliseconds between two drawings while a long session is gone through
const CACHED = 0.1, WRITTEN = 1.25; // prices relative to an uncached input token
const COLUMNS = [ // name, content, and the property that some request must have
  ["request", null], ["lane", (each) => each.lane], ["budget", (each) => each.budget], ["tokens", (each) => each.tokens],
  ...PARTS.map((part, at) => [part, (each) => each.parts ? each.parts[at] : "…"]),
  ["cached", (each) => each.parts ? each.kept : "…"], ["written", (each) => each.parts ? each.tokens - each.kept : "…"],
  ...[["reported", "reported"], ["reported cached", "wasCached"], ["reported written", "wasWritten"], ["reported answer", "answer"]].map(
    ([name, its]) => [name, (each) => each[its] ?? "-", its]),
  ["summarizer", (each) => each.read + each.wrote || "-"], ["plan", (each) => each.compacted ? `compacted (${each.plan})` : `${each.plan}`],
];
const byId = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en-US"), number = (value) => numbers.format(value);

const state = {session: null, sessions: null, requests: [], byPlace: new Map(), steps: 0, from: 0, only: false, chosen: null, turn: 0};

function make(tag, className, ...content) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...content.map((each) => typeof each === "number" ? number(each) : each));
  return element;
}

function say(text) {
  byId("status").textContent = text;
  byId("progress").textContent = "";
}

// Disables a button; if it has the focus, moves the focus to another button.
function allow(id, can, otherwise) {
  const button = byId(id), left = !can && document.activeElement === button;
  button.disabled = !can;
  if (left) byId(otherwise).focus();
}

// Announces news to screen readers; the text stays until the next news.
function announce(text) { byId("news").textContent = text; }

function guarded(work) {
  return (...given) => Promise.resolve(work(...given)).catch((error) => say(`That failed: ${error.message}`));
}

// -- the requests of a session --

function takeRequests(rows) {
  for (const [at, lane, budget, plan, last, estimated, upper, compacted, reported, wasCached, wasWritten, answer, read, wrote] of rows) {
    const known = state.byPlace.get(at);
    const each = known ?? {at, number: state.requests.length, before: null, parts: null, kept: 0};
    Object.assign(each, {lane, budget, plan, last, estimated, tokens: reported ?? estimated, upper, reported, wasCached, wasWritten, answer});
    if (known) continue;
    const before = state.newest.get(lane) ?? null;
    Object.assign(each, {compacted: before === null ? compacted === 1 : state.byPlace.get(before).plan !== plan, read, wrote, before});
    state.newest.set(lane, at);
    state.requests.push(each);
    state.byPlace.set(at, each);
  }
}

function takeSteps(data) {
  for (const [at, messages, kept, ...parts] of data.steps) {
    const each = state.byPlace.get(at); // again once its provider counted it: its parts are of what it counted then
    if (each) Object.assign(each, {messages, kept, parts, tokens: parts.reduce((sum, part) => sum + part, 0)});
  }
  state.steps += data.steps.length;
}

async function openSession(name) {
  const turn = ++state.turn;
  Object.assign(state, {session: sessionNamed(name), requests: [], byPlace: new Map(), newest: new Map(), steps: 0, from: 0, chosen: null});
  say("Loading");
  forgetSearch();
  takeRequests(await state.session.requests(0));
  if (turn !== state.turn) return;
  state.from = Math.max(0, state.requests.length - ROWS);
  showAll();
  const last = state.requests.at(-1);
  if (last) await choose(last, false);
  else showNothing();
  setTimeout(guarded(showCharts), 0); // behind the first paint: the library of charts alone takes a second
  await goOn(turn);
}

// What each request is made of comes in slices: a long session is gone through from its beginning.
async function goOn(turn) {
  let done = false, drawnAt = performance.now();
  while (!done && turn === state.turn) {
    const data = await state.session.steps(state.steps);
    if (turn !== state.turn) return;
    takeSteps(data);
    done = data.done;
    if (done) break;
    byId("progress").textContent = `${number(state.requests.filter((each) => each.parts).length)} of ${number(state.requests.length)} requests gone through`;
    if (performance.now() - drawnAt < DRAW_AGAIN) continue;
    drawnAt = performance.now();
    showAll();
    guarded(showCharts)();
  }
  if (turn !== state.turn) return;
  showAll();
  guarded(showCharts)();
  if (state.chosen) showCosts(state.chosen);
  byId("summary").dataset.session = state.session.name;
}

// What came since the last look: sessions, and requests of the one that is shown.
async function lookAgain() {
  try {
    takeSessions(await allSessions());
    if (state.session === null && byId("session").options.length) await openSession(byId("session").options[0].value);
    else if (state.session !== null) await lookForRequests();
  } finally { setTimeout(guarded(lookAgain), LOOK_AGAIN); }
}

// The list follows the store: what is new is added behind, what was erased goes, what is chosen stays chosen.
function takeSessions(data) {
  const list = byId("session"), first = state.sessions === null;
  const known = new Set(state.sessions), names = data.sessions.map(({name}) => name), now = new Set(names);
  for (const option of [...list.options]) if (!now.has(option.value) && !option.selected) option.remove();
  const fresh = names.filter((name) => !known.has(name));
  list.append(...fresh.map((name) => {
    const option = make("option", "", name);
    option.value = name;
    return option;
  }));
  state.sessions = names;
  if (!first && fresh.length) announce(fresh.length === 1 ? `New session: ${fresh[0]}` : `${number(fresh.length)} new sessions`);
}

async function lookForRequests() {
  const turn = state.turn, last = state.requests.at(-1);
  const rows = await state.session.requests(last ? last.at : 0);
  if (turn !== state.turn) return;
  const before = state.requests.length, atEnd = state.from + ROWS >= before;
  takeRequests(rows);
  if (state.requests.length === before) return;
  if (atEnd) state.from = Math.max(0, shown().length - ROWS);
  await goOn(turn);
  const came = state.requests.length - before;
  announce(came === 1 ? "1 new request" : `${number(came)} new requests`);
  if (before === 0) await choose(state.requests.at(-1), false);
}

function showAll() {
  const requests = state.requests, compactions = requests.filter((each) => each.compacted).length;
  const total = (value) => requests.reduce((sum, each) => sum + value(each), 0);
  const sent = total((each) => each.tokens), complete = requests.filter((each) => each.parts);
  const kept = total((each) => each.parts ? each.kept : 0), ready = complete.length === requests.length;
  const read = total((each) => each.read), wrote = total((each) => each.wrote);
  const cost = CACHED * kept + WRITTEN * (sent - kept);
  byId("summary").textContent = `${number(requests.length)} requests, ${number(compactions)} compactions, ${number(sent)} tokens sent`
    + (ready && sent ? `: ${number(kept)} of them could be cached (${(100 * kept / sent).toFixed(1)} %), ${number(sent - kept)} were newly written; `
      + `that costs as much as ${number(Math.round(cost))} tokens of input at cache prices (read ${CACHED}, write ${WRITTEN})` : "")
    + (read + wrote ? `. The summarizer read ${number(read)} and wrote ${number(wrote)}` : "")
    + ". " + whoCounted(requests);
  showTable();
  if (ready) say("Complete");
}

// What was forecast for the requests whose cache the provider reported, next to what it read.
function forecast(cache) {
  if (cache.some((each) => !each.parts)) return "";
  const computed = cache.reduce((all, each) => all + each.kept, 0), read = cache.reduce((all, each) => all + each.wasCached, 0);
  return `; forecast for these: ${number(computed)} read` + (read ? ` (${(100 * (computed / read - 1)).toFixed(1)} % off)` : "");
}

// Whose figures these are: the provider's where it reported any; what a cache could hold is computed, and what it held is not.
function whoCounted(requests) {
  const counted = requests.filter((each) => each.reported !== null), cache = counted.filter((each) => each.wasCached !== null);
  if (!counted.length) return "All of these figures are estimates: the provider reported none.";
  const sum = (name) => number(counted.reduce((all, each) => all + (each[name] ?? 0), 0));
  return `Of ${number(counted.length)} requests the provider reported the input, ${sum("reported")} tokens${counted.some((each) => each.answer !== null) ? ` and ${sum("answer")} of answers` : ""}; ${counted.length < requests.length ? "the others are estimated" : "none is estimated"}`
    + (cache.length ? `; of ${number(cache.length)} of them also the cache: ${sum("wasCached")} read, ${sum("wasWritten")} written${forecast(cache)}.` : "; of its cache it reported nothing.");
}

let drawing = false, stale = false; // what came while the charts were drawn is drawn after it

async function showCharts() {
  byId("charts").hidden = !state.requests.length;
  if (!state.requests.length) return;
  byId("tokens-in-words").textContent = tokensInWords(state.requests);
  byId("bill-in-words").textContent = billInWords(state.requests);
  stale = true;
  if (drawing) return;
  drawing = true;
  try {
    await plotly();
    while (stale) {
      stale = false;
      await drawTokens(byId("tokens"), state.requests);
      await drawBill(byId("bill"), state.requests);
    }
    byId("js-plotly-tester")?.setAttribute("aria-hidden", "true"); // where it measures texts, outside of the charts
    for (const place of [byId("tokens"), byId("bill")]) {
      place.removeAllListeners("plotly_click");
      place.on("plotly_click", (event) => guarded(choose)(state.requests[event.points[0].x], false));
    }
  } finally { drawing = false; }
}

// The library of charts is large: it is loaded behind the first figures.
function plotly() {
  if (window.Plotly) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "plotly.js";
    script.onload = resolve;
    script.onerror = () => reject(new Error("the charts could not be loaded"));
    document.head.append(script);
  });
}

function shown() { return state.only ? state.requests.filter((each) => each.compacted) : state.requests; }

function showTable() {
  const all = shown(), rows = all.slice(state.from, state.from + ROWS);
  allow("older", state.from > 0, "from");
  allow("newer", state.from + ROWS < all.length, "from");
  const table = byId("requests"), columns = shownColumns(), focused = table.contains(document.activeElement) ? document.activeElement.dataset.number : undefined;
  table.tHead.rows[0].replaceChildren(...columns.map(([name]) => {
    const head = make("th", name === "lane" ? "text" : "", name);
    head.scope = "col";
    return head;
  }));
  table.tBodies[0].replaceChildren(...rows.map((each) => row(each, columns)));
  if (focused !== undefined) (table.querySelector(`[data-number="${focused}"]`) ?? table.parentNode).focus();
}

// A column needs at least one reported value.
function shownColumns() {
  return COLUMNS.filter(([, , when]) => !when || state.requests.some((each) => each[when] !== null));
}

function row(each, columns) {
  const open = make("button", "", String(each.number));
  open.type = "button";
  open.setAttribute("aria-label", `Show request ${each.number}`);
  open.addEventListener("click", guarded(() => choose(each, true)));
  open.dataset.number = String(each.number);
  const head = make("th", "", open);
  head.scope = "row";
  const cells = columns.slice(1).map(([name, value]) => make("td", name === "lane" ? "text" : "", value(each)));
  const made = make("tr", "", head, ...cells);
  if (state.chosen === each) made.setAttribute("aria-current", "true");
  return made;
}

// -- the search --

async function search(offset) {
  const query = byId("query").value.trim();
  if (!query) return;
  const result = await state.session.search(query, offset);
  const found = result.found ?? result.hits.length;
  byId("found").textContent = result.whole ? "What recall of that reference returns is below"
    : `${number(found)} ${found === 1 ? "place" : "places"} found${found > result.hits.length ? `, the newest ${number(result.hits.length)} of them below` : ""}`;
  byId("answer-title").textContent = result.whole ? "What recall of that reference returns, all of its pages" : "What the recall tool answers";
  byId("answer-title").hidden = byId("answer").hidden = result.answer === null;
  byId("answer").textContent = result.answer ?? "";
  const more = /recall again with offset (\d+)\]$/.exec(result.answer ?? "");
  byId("more").hidden = more === null;
  byId("more").dataset.offset = more ? more[1] : "0";
  byId("hits").replaceChildren(...result.hits.map(([seq, part, text]) => {
    const name = part === null ? `What recall of ref:${seq} returns` : `ref:${seq}.${part}`;
    return make("li", "", make("p", "state", name), scrolls(make("pre", "", text), name));
  }));
  if (offset) byId("answer").focus(); // what was asked for is there, and its button may be gone
}

// -- what the user does --

function step(by) { return choose(state.requests[(state.chosen?.number ?? 0) + by], false); }

function pressed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || !byId("keys").checked) return;
  if (event.target.matches("input, select, textarea")) return;
  const does = {j: () => step(1), k: () => step(-1), "/": () => byId("query").focus()}[event.key];
  if (!does) return;
  event.preventDefault();
  guarded(does)();
}

function listen() {
  byId("session").addEventListener("change", guarded((event) => openSession(event.target.value)));
  byId("previous").addEventListener("click", guarded(() => step(-1)));
  byId("next").addEventListener("click", guarded(() => step(1)));
  const page = (by) => () => { state.from = Math.max(0, state.from + by * ROWS); showTable(); };
  byId("older").addEventListener("click", page(-1));
  byId("newer").addEventListener("click", page(1));
  byId("only").addEventListener("change", (event) => { state.only = event.target.checked; state.from = 0; showTable(); });
  byId("pager").addEventListener("submit", (event) => {
    event.preventDefault();
    state.from = Math.min(Math.max(0, Number.parseInt(byId("from").value, 10) || 0), Math.max(0, shown().length - 1));
    showTable();
  });
  byId("exact").addEventListener("change", () => showLines());
  byId("diff-details").addEventListener("toggle", guarded((event) => event.target.open ? showDiff() : null));
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); guarded(search)(0); });
  byId("more").addEventListener("click", guarded(() => search(Number(byId("more").dataset.offset))));
  document.addEventListener("keydown", pressed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", guarded(showCharts));
}

async function begin() {
  listen();
  byId("search-note").hidden = embedded === null;
  const data = await allSessions();
  byId("store").textContent = data.title;
  takeSessions(data);
  const last = data.sessions.at(-1)?.name;
  if (last === undefined) say("No session yet: the first one appears as soon as it starts");
  else {
    byId("session").value = last;
    await openSession(last);
  }
  if (embedded === null) setTimeout(guarded(lookAgain), LOOK_AGAIN);
}

guarded(begin)();
