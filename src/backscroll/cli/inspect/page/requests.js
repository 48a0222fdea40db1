// The list of a session's requests, and what is known of them all.
"use strict";

const ROWS = 100; // of the list at once
const CACHED = 0.1, WRITTEN = 1.25; // prices relative to an uncached input token, where no prices are known
const COLUMNS = [ // word, content, and whether the column is shown; the first one is the number
  ["request", null],
  ["time", (each) => each.time ? when(each.time) : "-", (all) => all.some((each) => each.time)],
  ["lane", (each) => each.lane, (all) => all.some((each) => each.lane !== all[0].lane)],
  ["tokens", (each) => each.tokens], ["cached", (each) => each.parts ? each.kept : "…"],
  ["written", (each) => each.parts ? each.tokens - each.kept : "…"],
  ["cost", (each) => costOf(each) === null ? "-" : dollars(costOf(each)), (all) => all.some((each) => costOf(each) !== null)],
  ["plan", (each) => [each.refused ? "refused" : "", each.compacted ? `compacted (${each.plan})` : `${each.plan}`].filter((text) => text).join(", ")],
];

// Dollars by the cache that the provider reported, else by the forecast.
function costOf(each) { return each.paid ?? each.priced ?? null; }

function shown() { return state.only ? state.requests.filter((each) => each.compacted) : state.requests; }

function showTable() {
  const all = shown(), rows = all.slice(state.from, state.from + ROWS);
  allow("older", state.from > 0, "from");
  allow("newer", state.from + ROWS < all.length, "from");
  const table = byId("requests"), columns = COLUMNS.filter(([, , when]) => !when || (state.requests.length && when(state.requests)));
  const focused = table.contains(document.activeElement) ? document.activeElement.dataset : {};
  const {number: one, word} = focused;
  table.tHead.rows[0].replaceChildren(...columns.map(([name]) => {
    const head = make("th", name === "lane" || name === "plan" ? "text" : "", term(name));
    head.scope = "col";
    return head;
  }));
  table.tBodies[0].replaceChildren(...rows.map((each) => row(each, columns)));
  if (one !== undefined) (table.querySelector(`[data-number="${one}"]`) ?? byId("list")).focus({preventScroll: true});
  if (word !== undefined) table.querySelector(`[data-word="${word}"]`)?.focus({preventScroll: true});
}

function row(each, columns) {
  const open = link(addressOf(state.session.name, each.number), number(each.number), `Show request ${each.number}`);
  open.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // the browser opens it elsewhere
    event.preventDefault();
    guarded(go)(open.getAttribute("href"), {moveFocus: true});
  });
  open.dataset.number = String(each.number);
  const head = make("th", "", open);
  head.scope = "row";
  const made = make("tr", "", head, ...columns.slice(1).map(([name, value]) => make("td", name === "lane" || name === "plan" ? "text" : "", value(each))));
  if (each.refused) made.className = "refused";
  if (state.chosen === each) made.setAttribute("aria-current", "true");
  return made;
}

// Shows the page of the list that has the chosen request, and scrolls to it within the list.
function showChosenRow() {
  const at = shown().indexOf(state.chosen);
  if (at >= 0 && (at < state.from || at >= state.from + ROWS)) state.from = Math.max(0, at - Math.floor(ROWS / 2));
  showTable();
  const list = byId("list"), chosen = list.querySelector("tr[aria-current]");
  if (!chosen) return;
  const over = chosen.offsetTop - list.querySelector("thead").offsetHeight, under = chosen.offsetTop + chosen.offsetHeight;
  if (over < list.scrollTop) list.scrollTop = over;
  else if (under > list.scrollTop + list.clientHeight) list.scrollTop = under - list.clientHeight;
}

// -- what is known of all requests --

function showAll() {
  const requests = state.requests, compactions = requests.filter((each) => each.compacted).length;
  const total = (value) => requests.reduce((sum, each) => sum + value(each), 0);
  const sent = total((each) => each.tokens), ready = requests.every((each) => each.parts);
  const kept = total((each) => each.parts ? each.kept : 0), read = total((each) => each.read), wrote = total((each) => each.wrote);
  const cost = CACHED * kept + WRITTEN * (sent - kept);
  byId("summary").textContent = `${counted(requests.length, "request")}, ${counted(compactions, "compaction")}, ${number(sent)} tokens sent`
    + (ready && sent ? `: ${number(kept)} of them could be cached (${(100 * kept / sent).toFixed(1)} %), ${number(sent - kept)} were newly written; `
      + `that costs as much as ${number(Math.round(cost))} tokens of input at cache prices (read ${CACHED}, write ${WRITTEN})` : "")
    + (read + wrote ? `. The summarizer read ${number(read)} and wrote ${number(wrote)}` : "")
    + ". " + whoCounted(requests);
  byId("money").textContent = ready && requests.length ? moneyInWords(requests) : "";
  showTable();
  if (ready && state.complete) say("Complete");
}

function moneyInWords(requests) {
  const priced = requests.filter((each) => costOf(each) !== null), paid = priced.filter((each) => each.paid !== null);
  const sum = priced.reduce((all, each) => all + costOf(each), 0), missing = requests.length - priced.length;
  const names = [...new Set(Object.values(state.prices).filter((each) => each).map(([name]) => name))];
  const unnamed = requests.filter((each) => !state.prices[each.lane]).length, above = missing - unnamed;
  const answers = priced.filter((each) => each.answer === null).length;
  return (priced.length ? `Cost: ${missing ? "over " : ""}${dollars(sum)} at the prices of ${names.join(", ")}, `
    + (paid.length === priced.length ? "by the cache that the provider reported" : paid.length ? `${dollars(paid.reduce((all, each) => all + each.paid, 0))} of it by the cache that the provider reported, the rest by the forecast` : "by the forecast of its cache")
    + (answers ? `; without the answers of ${counted(answers, "request")}, which were not reported` : "") + "; summaries are not in it. " : "")
    + (unnamed ? howToPrice(unnamed) : "") + (above > 0 ? `${counted(above, "request")} ${above === 1 ? "is" : "are"} longer than the known prices hold for. ` : "");
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

// -- what went wrong --

function showTroubles() {
  const {troubles, more} = state, place = byId("troubles-details");
  place.hidden = !troubles.length;
  byId("troubles-title").textContent = `What went wrong: ${number(troubles.length + more)}`;
  byId("troubles").replaceChildren(...troubles.map(([at, kind, text]) => {
    const near = requestBefore(at), made = make("li", "wrong", make("p", "", term(kind), `: ${text} `));
    if (near) made.firstChild.append(link(addressOf(state.session.name, near.number), `request ${number(near.number)}`));
    return made;
  }), ...(more ? [make("li", "", make("p", "", `and ${number(more)} more`))] : []));
}

// The last request up to a position of the log.
function requestBefore(at) {
  let low = 0, high = state.requests.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (state.requests[middle].at <= at) low = middle + 1;
    else high = middle;
  }
  return state.requests[low - 1] ?? null;
}
