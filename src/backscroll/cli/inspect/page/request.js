// One request: what moved, the bill, its messages, the difference from the one before. Everything is put in as text.
"use strict";

async function choose(each, moveFocus) {
  if (!each) return;
  const turn = state.turn;
  state.chosen = each;
  const data = await state.session.request(each.at, each.before);
  if (turn !== state.turn || state.chosen !== each) return;
  byId("request-title").textContent = `Request ${each.number} on ${each.lane}`;
  allow("previous", each.number > 0, "next");
  allow("next", each.number < state.requests.length - 1, "previous");
  const at = shown().indexOf(each);
  if (at >= 0 && (at < state.from || at >= state.from + ROWS)) state.from = Math.max(0, at - Math.floor(ROWS / 2));
  state.shown = data;
  showTable();
  showMoved(each, data);
  showCosts(each);
  showLines();
  byId("diff").replaceChildren();
  byId("diff-details").hidden = each.before === null;
  if (byId("diff-details").open) await showDiff();
  byId("bill-details").hidden = byId("sent").hidden = false;
  if (moveFocus) byId("request").focus(); // its name is read then
  else byId("chosen").textContent = `${byId("request-title").textContent}: ${number(each.tokens)} tokens. ${byId("moved").textContent}`;
}

function showNothing() {
  byId("request-title").textContent = "No request was made yet";
  for (const id of ["moved", "chosen", "diff", "lines"]) byId(id).replaceChildren();
  byId("costs").tBodies[0].replaceChildren();
  byId("bill-details").hidden = byId("diff-details").hidden = byId("sent").hidden = true;
  byId("previous").disabled = byId("next").disabled = true;
}

function forgetSearch() {
  for (const id of ["found", "hits", "answer"]) byId(id).replaceChildren();
  byId("answer-title").hidden = byId("answer").hidden = byId("more").hidden = true;
}

function showMoved(each, data) {
  const moved = data.moved, place = byId("moved");
  place.classList.toggle("broke", moved !== null);
  if (each.before === null) place.textContent = "The first request of its lane.";
  else if (moved === null) place.textContent = "The whole previous request is its prefix: nothing moved.";
  else place.textContent = `The prefix moved at message ${moved.message}, character ${number(moved.character)} of its JSON, after about ${number(moved.tokens)} tokens: `
    + `what follows is newly written to the cache.${each.compacted ? " A compaction came before." : ""}`;
}

function showCosts(each) {
  const rows = [
    ["Budget", each.budget], [`Input, ${each.reported === null ? "estimated" : "as its provider counted it"}`, each.tokens],
    ["Estimated before it was sent", each.estimated], ["Upper estimate, by which compaction decides", each.upper],
    ["Computed: a cache can hold it (forecast)", each.parts ? each.kept : "…"],
    ["Computed: newly written", each.parts ? each.tokens - each.kept : "…"],
    ["Computed: cost in input tokens at cache prices", each.parts ? Math.round(CACHED * each.kept + WRITTEN * (each.tokens - each.kept)) : "…"],
    ...reported(each),
    ["Summarizer since the request before: read", each.read], ["Summarizer: wrote", each.wrote],
  ];
  byId("costs").tBodies[0].replaceChildren(...rows.map(([name, value]) => {
    const head = make("th", "text", name);
    head.scope = "row";
    return make("tr", "", head, make("td", "", value));
  }));
}

function reported(each) {
  if (each.reported === null) return [["Reported by the provider", "nothing: all figures of this request are computed"]];
  return [
    ["Reported: read from its cache", each.wasCached ?? "not reported"], ["Reported: written to its cache", each.wasWritten ?? "not reported"],
    ["Reported: answer", each.answer ?? "not reported"],
  ];
}

function showLines() {
  const {lines, moved} = state.shown;
  let at = -1;
  byId("lines").replaceChildren(...lines.map((each) => {
    if (each[0] === "left out") return gap(each);
    at += 1;
    return line(each, at, moved?.message === at ? moved : null);
  }));
}

function kind(each) {
  const [what, role] = each;
  if (what === "left out") return "gap";
  if (what === "digest" || what === "native" || what === "bridge") return "digest";
  const content = each[9]?.content ?? each[9]?.parts;
  const results = role === "tool" || role === "function"
    || (Array.isArray(content) && content.some((block) => block.type === "tool_result" || block.toolResult || block.functionResponse || block.function_response));
  const model = role === "assistant" || role === "model";
  return results ? "results" : role === "system" || role === "developer" ? "system" : model ? "assistant" : "user";
}

// A message under its reference. What it holds is put in when it is opened, as text.
function line(each, at, moved, extra = "") {
  const [what, role, , , its, reason, tokens, original, ref, message] = each;
  const text = textOf(message), begins = text.slice(0, 160).replace(/\s+/g, " ");
  const size = tokens === original ? `${number(tokens)} tokens` : `${number(tokens)} of ${number(original)} tokens`;
  const summary = make("summary", "", make("span", "state", `${at}. ${role}`), ` ${ref || what} · `,
    make("span", "state", what === "message" ? its : what), ` (${reason}) · ${size}${moved ? " · here the prefix moved" : ""}`, make("span", "begins", begins));
  const details = make("details", "", summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(body(message, moved, `${at}, ${role}`));
  });
  details.open = moved !== null;
  const made = make("li", `${kind(each)} ${extra}`, details);
  made.dataset.at = String(at);
  return made;
}

// What may be longer than its place can be reached and scrolled by keyboard, and has a name.
function scrolls(place, name) {
  place.tabIndex = 0;
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", name);
  return place;
}

function body(message, moved, name) {
  const place = scrolls(make("pre"), `Text of message ${name}`);
  if (moved === null) place.textContent = byId("exact").checked ? JSON.stringify(message) : textOf(message);
  else place.append(moved.text[0], make("mark", "", moved.text[1] || "(it ends here)"), moved.text[2]);
  return place;
}

function gap(each, from = each[2]) {
  const [, , first, last, its, reason, , , ref] = each;
  const made = make("li", "gap");
  made.append(make("p", "", make("span", "state", its), ` (${reason}) · messages ${first} to ${last} are left out · ${ref}`));
  const open = make("button", "", `Show messages ${first} to ${last}`), list = make("ol");
  open.type = "button";
  list.setAttribute("role", "list");
  open.addEventListener("click", guarded(async () => {
    const rows = await state.session.leftOut(state.chosen.at, from, last);
    for (const [seq, role, what, why, tokens, itsRef, message] of rows) {
      list.append(line(["message", role, seq, seq, what, why, tokens, tokens, itsRef, message], seq, null));
      from = seq + 1;
    }
    open.textContent = `Show more of messages ${first} to ${last}`;
    const focused = document.activeElement === open, came = list.children[list.children.length - rows.length];
    open.hidden = from > last || !rows.length;
    if (focused && came) came.querySelector("summary").focus();
  }));
  made.append(list, open);
  return made;
}

// -- the difference from the request before --

async function showDiff() {
  const each = state.chosen;
  if (each.before === null) return;
  const beforeThat = state.byPlace.get(each.before).before;
  const earlier = await state.session.request(each.before, beforeThat);
  if (state.chosen !== each) return;
  const old = earlier.lines.filter((one) => one[9] !== null), now = state.shown.lines.filter((one) => one[9] !== null);
  const keys = (lines) => lines.map((one) => JSON.stringify(one[9]));
  byId("diff").replaceChildren(...changes(keys(old), keys(now)).map(([what, from, to]) => {
    if (what === "same") return make("li", "", make("p", "faint", to === from ? `message ${from}: as before` : `messages ${from} to ${to}: as before`));
    return what === "new" ? changed(now[from], from, "new", "new:") : changed(old[from], from, "gone", "no longer sent:");
  }));
}

function changed(each, at, how, said) {
  const made = line(each, at, how === "new" && state.shown.moved?.message === at ? state.shown.moved : null, how);
  if (how === "gone") delete made.dataset.at;
  made.prepend(make("p", "state", said));
  return made;
}

// Runs of what is the same, and what came or went, by the longest parts in common around each kept message.
function changes(old, now) {
  const places = new Map(old.map((key, at) => [key, at])), found = [];
  let at = 0;
  for (let to = 0; to < now.length; to++) {
    const from = places.get(now[to]);
    if (from === undefined || from < at) { found.push(["new", to, to]); continue; }
    while (at < from) found.push(["gone", at, at++]);
    at = from + 1;
    const last = found.at(-1);
    if (last && last[0] === "same" && last[2] === to - 1) last[2] = to;
    else found.push(["same", to, to]);
  }
  while (at < old.length) found.push(["gone", at, at++]);
  return found;
}
