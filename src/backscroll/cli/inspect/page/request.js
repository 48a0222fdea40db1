// One request: what moved, and its messages. Everything is put in as text.
"use strict";

// Shows a request in the list, the charts and by itself.
async function choose(each, moveFocus) {
  if (!each) return;
  const turn = state.turn;
  Object.assign(state, {chosen: each, touched: false});
  showChosenRow();
  markChosen();
  const data = await state.session.request(each.at, each.before);
  if (turn !== state.turn || state.chosen !== each) return;
  byId("request-title").textContent = `Request ${each.number} on ${each.lane}`;
  document.title = `Request ${each.number} of ${state.session.name} - Backscroll inspector`;
  allow("previous", each.number > 0, "next");
  allow("next", each.number < state.requests.length - 1, "previous");
  state.shown = data;
  showMoved(each, data);
  showCosts(each);
  showLines();
  byId("diff").replaceChildren();
  byId("diff-details").hidden = each.before === null;
  if (byId("diff-details").open) await showDiff();
  byId("bill-details").hidden = byId("sent").hidden = false;
  if (moveFocus) byId("request").focus({preventScroll: true}); // its name is read then
  else byId("chosen").textContent = `${byId("request-title").textContent}: ${number(each.tokens)} tokens. ${byId("moved").textContent}`;
  if (state.moved) showPlace();
}

// Scrolls to the chosen request where it, or its row next to it, is out of sight.
function showPlace() {
  const inSight = (element) => { const {top, bottom} = element.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; };
  const chosen = byId("list").querySelector("tr[aria-current]"), isWide = byId("request").getBoundingClientRect().left > byId("list").getBoundingClientRect().left;
  if (inSight(byId("request-title")) && (!isWide || !chosen || inSight(chosen))) return;
  (isWide ? byId("pair") : byId("request")).scrollIntoView();
}

function showNothing() {
  byId("request-title").textContent = "No request was made yet";
  for (const id of ["moved", "chosen", "diff", "lines", "states"]) byId(id).replaceChildren();
  byId("costs").tBodies[0].replaceChildren();
  byId("bill-details").hidden = byId("diff-details").hidden = byId("sent").hidden = true;
  byId("previous").disabled = byId("next").disabled = true;
}

function showMoved(each, data) {
  const moved = data.moved, place = byId("moved");
  place.classList.toggle("broke", moved !== null);
  if (each.before === null) place.textContent = "The first request of its lane.";
  else if (moved === null) place.textContent = "The whole previous request is its prefix: nothing moved.";
  else place.textContent = `The prefix moved at message ${moved.message}, character ${number(moved.character)} of its JSON, after about ${number(moved.tokens)} tokens: `
    + `what follows is newly written to the cache.${each.compacted ? " A compaction came before." : ""}`;
}

function showLines() {
  const {lines, moved} = state.shown;
  let at = -1;
  byId("lines").replaceChildren(...lines.map((each) => {
    if (each[0] === "left out") return gap(each);
    at += 1;
    return messageLine(each, at, moved?.message === at ? moved : null);
  }));
  const words = new Set(lines.map((each) => each[0] === "message" || each[0] === "left out" ? each[4] : each[0])), focused = byId("states").contains(document.activeElement) ? document.activeElement.dataset.word : null;
  byId("states").replaceChildren("States: ", ...[...words].filter((word) => Object.hasOwn(WORDS, word)).flatMap((word) => [term(word), " "]));
  if (focused) byId("states").querySelector(`[data-word="${focused}"]`)?.focus();
}

// The text of a message; other content as JSON.
function textOf(message) {
  const calls = (message.tool_calls ?? []).map((call) => `-> ${call.function?.name ?? call.tool} ${call.function?.arguments ?? JSON.stringify(call.arguments)}`);
  if (message.ephemeral) return `SHA-256 ${message.ephemeral}`;
  const content = message.content ?? message.parts;
  const blocks = Array.isArray(content) ? content.map((block) => block.text ?? JSON.stringify(block, null, 2)) : [content];
  return [...blocks.filter((text) => typeof text === "string" && text), ...calls].join("\n");
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

// A state with its sentence for the mouse; the words above the messages have it for the keyboard and screen readers.
function stateOf(word) {
  const made = make("span", "state", word);
  if (Object.hasOwn(WORDS, word)) made.title = WORDS[word];
  return made;
}

// A message under its reference. What it holds is put in when it is opened, as text.
function messageLine(each, at, moved, extra = "") {
  const [what, role, , , its, reason, tokens, original, ref, message] = each;
  const text = textOf(message), begins = text.slice(0, 160).replace(/\s+/g, " ");
  const size = tokens === original ? `${number(tokens)} tokens` : `${number(tokens)} of ${number(original)} tokens`;
  const summary = make("summary", "", make("span", "state", `${at}. ${role}`), ` ${ref || what} · `,
    stateOf(what === "message" ? its : what), ` (${reason}) · ${size}${moved ? " · here the prefix moved" : ""}`, make("span", "begins", begins));
  const details = make("details", "", summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(body(message, moved, `${at}, ${role}`));
  });
  details.open = moved !== null;
  const made = make("li", `${kind(each)} ${extra}`, details);
  made.dataset.at = String(at);
  return made;
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
  made.append(make("p", "", stateOf(its), ` (${reason}) · messages ${first} to ${last} are left out · ${ref}`));
  const open = make("button", "", `Show messages ${first} to ${last}`), list = make("ol");
  open.type = "button";
  list.setAttribute("role", "list");
  open.addEventListener("click", guarded(async () => {
    const rows = await state.session.leftOut(state.chosen.at, from, last);
    for (const [seq, role, what, why, tokens, itsRef, message] of rows) {
      list.append(messageLine(["message", role, seq, seq, what, why, tokens, tokens, itsRef, message], seq, null));
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
