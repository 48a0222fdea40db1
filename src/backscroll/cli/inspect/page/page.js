// The page: which session and request the address names, what an agent adds meanwhile, and the keys.
"use strict";

const LOOK_AGAIN = 2000; // milliseconds between two looks at a server
const DRAW_AGAIN = 1500; // milliseconds between two drawings while a long session is gone through

const state = {
  session: null, names: null, requests: [], byPlace: new Map(), newest: new Map(), steps: 0, from: 0, only: false, chosen: null, shown: null, turn: 0,
  troubles: [], more: 0, prices: {}, complete: false,
  following: true, // the newest request is shown, and the next one will be
  touched: false, // the user reads or opens something in the request that is shown
  moved: false, // the user came to this request, rather than the page
  stepped: false, // the last move was by j or k: the next one takes its place in the browser's history
};

// -- the address: #session=NAME shows the newest request and follows it, #session=NAME&request=12 that one --

function addressOf(session, request = null) { return `#${new URLSearchParams(request === null ? {session} : {session, request})}`; }

// Goes to an address; steps in a row are one entry of the browser's history.
function go(address, {moveFocus = false, steps = false} = {}) {
  history[steps && state.stepped ? "replaceState" : "pushState"](null, "", address);
  return show({moveFocus, steps, moved: true});
}

async function show({moveFocus = false, steps = false, moved = false} = {}) {
  const given = new URLSearchParams(location.hash.slice(1)), request = given.get("request");
  let name = given.get("session");
  Object.assign(state, {stepped: steps, following: request === null, moved});
  hideTip();
  if (name === null && !given.has("sessions") && state.names.length === 1) { // there is nothing to choose
    [name] = state.names;
    history.replaceState(null, "", addressOf(name));
  }
  if (name === null) return showSessions();
  if (!state.names.includes(name)) {
    await showSessions();
    return say(`There is no session ${name} in this store`);
  }
  if (state.session?.name !== name) {
    state.moved = request !== null;
    scrollTo(0, 0);
    return openSession(name, request);
  }
  return choose(named(request), moveFocus);
}

// The request that the address names, else the newest.
function named(request) { return state.requests[request] ?? state.requests.at(-1); }

// -- the requests of a session --

function takeRequests(rows) {
  for (const [at, lane, budget, plan, last, estimated, upper, compacted, reported, wasCached, wasWritten, answer, read, wrote, paid] of rows) {
    const known = state.byPlace.get(at);
    const each = known ?? {at, number: state.requests.length, before: null, parts: null, kept: 0, time: null, priced: null, refused: false};
    Object.assign(each, {lane, budget, plan, last, estimated, tokens: reported ?? estimated, upper, reported, wasCached, wasWritten, answer, paid});
    if (known) continue;
    const before = state.newest.get(lane) ?? null;
    Object.assign(each, {compacted: before === null ? compacted === 1 : state.byPlace.get(before).plan !== plan, read, wrote, before});
    state.newest.set(lane, at);
    state.requests.push(each);
    state.byPlace.set(at, each);
  }
}

function takeSteps(data) {
  for (const [at, messages, kept, priced, time, ...parts] of data.steps) {
    const each = state.byPlace.get(at); // again once its provider counted it: its parts are of what it counted then
    if (each) Object.assign(each, {messages, kept, priced, time, parts, tokens: parts.reduce((sum, part) => sum + part, 0)});
  }
  state.steps += data.steps.length;
  state.prices = data.prices;
  if (data.troubles.length + data.more === state.troubles.length + state.more) return;
  Object.assign(state, {troubles: data.troubles, more: data.more});
  for (const [at, kind] of data.troubles) {
    const near = kind === "refused" ? requestBefore(at) : null;
    if (near) near.refused = true;
  }
  showTroubles();
}

async function openSession(name, request) {
  const turn = ++state.turn;
  Object.assign(state, {
    session: sessionNamed(name), requests: [], byPlace: new Map(), newest: new Map(), steps: 0, from: 0, chosen: null, shown: null,
    troubles: [], more: 0, prices: {}, complete: false,
  });
  byId("session").value = name;
  for (const [id, hidden] of [["sessions-view", true], ["session-view", false], ["search", false]]) byId(id).hidden = hidden;
  document.title = `${name} - Backscroll inspector`;
  say("Loading");
  forgetSearch();
  showTroubles();
  showNothing(); // nothing of the session before stays, should this one fail
  for (const id of ["summary", "money"]) byId(id).textContent = "";
  showTable();
  showCharts();
  byId("request-title").textContent = "Request";
  takeRequests(await state.session.requests(0));
  if (turn !== state.turn) return;
  showAll();
  showCharts();
  if (state.requests.length) await choose(named(request), false);
  else showNothing();
  await painted();
  await goOn(turn);
}

// Waits for the first paint; a tab in the background does not paint.
function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 500);
  });
}

// What each request is made of comes in slices: a long session is gone through from its beginning.
async function goOn(turn) {
  let drawnAt = performance.now();
  while (turn === state.turn) {
    const data = await state.session.steps(state.steps);
    if (turn !== state.turn) return;
    takeSteps(data);
    if (data.done) break;
    byId("progress").textContent = `${number(state.requests.filter((each) => each.parts).length)} of ${number(state.requests.length)} requests gone through`;
    if (performance.now() - drawnAt < DRAW_AGAIN) continue;
    drawnAt = performance.now();
    showCharts();
  }
  if (turn !== state.turn) return;
  state.complete = true;
  showAll();
  showCharts();
  if (state.chosen) showCosts(state.chosen);
  byId("summary").dataset.session = state.session.name;
}

// -- what came since the last look --

async function lookAgain() {
  try {
    if (!document.hidden) await look();
  } finally { setTimeout(guarded(lookAgain), LOOK_AGAIN); }
}

async function look() {
  takeSessions(await sessionNames());
  if (state.session !== null) await lookForRequests();
  else if (state.names.length === 1 && location.hash === "") await show();
  else await readOverview();
}

// The list follows the store: what is new is added behind, what was erased goes, what is chosen stays chosen.
function takeSessions(data) {
  const list = byId("session"), first = state.names === null, old = new Set(state.names);
  const names = data.sessions.map(({name}) => name), now = new Set(names);
  for (const option of [...list.options]) if (option.value && !now.has(option.value) && !option.selected) option.remove();
  const fresh = names.filter((name) => !old.has(name));
  list.append(...fresh.map((name) => {
    const option = make("option", "", name);
    option.value = name;
    return option;
  }));
  state.names = names;
  if (!first && fresh.length) announce(fresh.length === 1 ? `New session: ${fresh[0]}` : `${number(fresh.length)} new sessions`);
}

async function lookForRequests() {
  const turn = state.turn, last = state.requests.at(-1), then = last && JSON.stringify([last.reported, last.wasCached, last.answer]);
  const rows = await state.session.requests(last ? last.at : 0);
  if (turn !== state.turn) return;
  const before = state.requests.length, atEnd = state.from + ROWS >= shown().length;
  takeRequests(rows);
  const came = state.requests.length - before, measured = last && then !== JSON.stringify([last.reported, last.wasCached, last.answer]);
  if (!came && !measured) return;
  if (came && atEnd) state.from = Math.max(0, shown().length - ROWS);
  await goOn(turn);
  if (turn !== state.turn || !came) return;
  const newest = state.requests.at(-1), follows = before === 0 || (state.following && !state.touched);
  allow("next", state.chosen !== newest, "previous");
  announce(counted(came, "new request"), ...(follows ? [] : [": ", link(addressOf(state.session.name), `show request ${number(newest.number)}`)]));
  if (follows) await choose(newest, false);
}

// -- what the user does --

function step(by) {
  const to = (state.chosen?.number ?? 0) + by;
  return state.session && state.requests[to] ? go(addressOf(state.session.name, to), {steps: true}) : null;
}

function newest() { return state.session ? go(addressOf(state.session.name)) : null; }

function pressed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || !byId("keys").checked) return;
  if (event.target.matches("input, select, textarea")) return;
  const does = {j: () => step(1), k: () => step(-1), n: newest, "/": () => byId("query").focus()}[event.key];
  if (!does || !state.session) return;
  event.preventDefault();
  guarded(does)();
}

function listen() {
  addEventListener("popstate", guarded(() => show({moved: true})));
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    (state.session ? byId("request") : byId("sessions-view")).focus();
  });
  byId("session").addEventListener("change", guarded((event) => go(event.target.value ? addressOf(event.target.value) : "#sessions")));
  byId("previous").addEventListener("click", guarded(() => step(-1)));
  byId("next").addEventListener("click", guarded(() => step(1)));
  byId("newest").addEventListener("click", guarded(newest));
  const page = (by) => () => { state.from = Math.max(0, state.from + by * ROWS); showTable(); byId("list").scrollTop = 0; };
  byId("older").addEventListener("click", page(-1));
  byId("newer").addEventListener("click", page(1));
  byId("only").addEventListener("change", (event) => { state.only = event.target.checked; state.from = 0; showTable(); });
  byId("pager").addEventListener("submit", (event) => {
    event.preventDefault();
    state.from = Math.min(Math.max(0, Number.parseInt(byId("from").value, 10) || 0), Math.max(0, shown().length - 1));
    showTable();
    byId("list").scrollTop = 0;
  });
  byId("exact").addEventListener("change", () => showLines());
  byId("diff-details").addEventListener("toggle", guarded((event) => event.target.open ? showDiff() : null));
  for (const name of ["pointerdown", "keydown", "wheel"]) byId("request").addEventListener(name, () => { state.touched = true; }, {passive: true});
  document.addEventListener("keydown", pressed);
}

async function begin() {
  listenForWords();
  listen();
  listenToSessions();
  listenToCharts();
  listenToSearch();
  await unpack();
  const data = await sessionNames();
  byId("store").textContent = data.title;
  takeSessions(data);
  await show();
  if (embedded === null) setTimeout(guarded(lookAgain), LOOK_AGAIN);
}

guarded(begin)();
