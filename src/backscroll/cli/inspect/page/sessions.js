// The first page: all sessions of the store, with their figures.
"use strict";

const AT_ONCE = 200; // sessions that the table shows before it is asked for more
const FIGURES = [ // word, key, content; the first one is the name
  ["session", "name", (row) => link(addressOf(row.name), row.name)],
  ["message", "messages", (row) => number(row.messages), "messages"], ["tokens", "tokens", (row) => number(row.tokens), "tokens"],
  ["request", "requests", (row) => number(row.requests), "requests"], ["sent", "sent", (row) => number(row.sent), "sent"],
  ["compaction", "compactions", (row) => row.compactions ? number(row.compactions) : "-", "compactions"],
  ["cost so far", "cost", costSoFar, "cost"], ["first", "first", (row) => when(row.first)], ["last", "last", (row) => when(row.last)],
  ["went wrong", "wrong", (row) => wrongOf(row) || "-"],
];
const OPTIONAL = new Set(["cost", "first", "last"]); // columns that need at least one value
const WIDE = new Set(["messages", "tokens", "sent", "first", "last", "compactions"]); // columns that a phone has no room for
const sorting = {by: null, down: false, rows: [], most: AT_ONCE, done: false};

function costSoFar(row) {
  if (row.cost === null) return "-";
  return `${row.unpriced ? "over " : ""}${dollars(row.cost)}`;
}

function wrongOf(row) { return Object.entries(row.troubles ?? {}).map(([kind, many]) => kind === "corrupt" ? "corrupt" : `${number(many)} ${kind}`).join(", "); }

function valueOf(row, key) { return key === "wrong" ? Object.values(row.troubles ?? {}).reduce((a, b) => a + b, 0) : row[key] ?? ""; }

function sorted() {
  const {by, down, rows} = sorting;
  if (by === null) return rows;
  const order = (a, b) => typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b;
  return rows.toSorted((a, b) => order(valueOf(a, by), valueOf(b, by)) * (down ? -1 : 1));
}

async function showSessions() {
  state.turn += 1;
  state.session = null;
  for (const [id, hidden] of [["sessions-view", false], ["session-view", true], ["search", true], ["results", true]]) byId(id).hidden = hidden;
  byId("session").value = "";
  document.title = "Backscroll inspector";
  await readOverview();
}

// Reads on until the figures of all sessions are known; shows what is known in between.
async function readOverview() {
  const turn = state.turn;
  for (let done = false; !done;) {
    const data = await overview();
    if (turn !== state.turn) return;
    done = sorting.done = data.done;
    if (JSON.stringify(data.sessions) !== JSON.stringify(sorting.rows)) { sorting.rows = data.sessions; showRows(); }
    if (done) say(sorting.rows.length ? "Complete" : "No session yet: the first one appears as soon as it starts");
    else byId("progress").textContent = `${number(data.sessions.filter((row) => !row.reading).length)} of ${number(data.sessions.length)} sessions read`;
  }
}

function showRows() {
  const columns = FIGURES.filter(([, key]) => !OPTIONAL.has(key) || sorting.rows.some((row) => row[key]));
  const table = byId("sessions"), rows = sorted(), focused = document.activeElement.dataset?.sort ?? document.activeElement.getAttribute?.("href");
  table.tHead.rows[0].replaceChildren(...columns.map(sortable));
  table.tBodies[0].replaceChildren(...rows.slice(0, sorting.most).map((row) => make("tr", "", ...columns.map((column) => figure(row, column)))));
  byId("more-sessions").hidden = rows.length <= sorting.most;
  byId("more-sessions").textContent = `Show ${number(Math.min(AT_ONCE, rows.length - sorting.most))} more of ${number(rows.length)} sessions`;
  byId("sessions-note").textContent = inAll(sorting.rows);
  if (focused) [...table.querySelectorAll("button, a")].find((each) => (each.dataset.sort ?? each.getAttribute("href")) === focused)?.focus();
}

function sortable([word, key, , name = word]) {
  const open = explains(make("button", "sort", name), word), head = make("th", `${key === "name" || key === "wrong" ? "text" : ""} ${WIDE.has(key) ? "wide" : ""}`, open);
  open.type = "button";
  open.dataset.sort = key;
  head.scope = "col";
  if (sorting.by === key) head.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
  open.addEventListener("click", () => {
    sorting.down = sorting.by === key ? !sorting.down : key !== "name"; // what is most comes first
    sorting.by = key;
    showRows();
  });
  return head;
}

function figure(row, [, key, content]) {
  const ready = key === "name" || row.requests !== undefined;
  const cell = make(key === "name" ? "th" : "td", `${key === "name" || key === "wrong" ? "text" : ""} ${WIDE.has(key) ? "wide" : ""}`, ready ? content(row) : "…");
  if (key === "name") cell.scope = "row";
  if (key === "wrong" && wrongOf(row)) cell.classList.add("wrong");
  return cell;
}

function inAll(rows) {
  const sum = (key) => rows.reduce((all, row) => all + (row[key] ?? 0), 0), costs = rows.filter((row) => typeof row.cost === "number");
  const unreported = costs.some((row) => row.unreported);
  return `${counted(rows.length, "session")}, ${counted(sum("messages"), "message")}, ${counted(sum("requests"), "request")}, ${number(sum("sent"))} tokens sent. `
    + (costs.length ? `Cost: ${sum("unpriced") ? "over " : ""}${dollars(sum("cost"))}${unreported ? ", with all input uncached where no provider reported its cache" : ""}. ` : "")
    + (sum("unpriced") ? howToPrice(sum("unpriced")) : "")
    + (rows.some((row) => row.first) ? "" : "No message names a time, and the log stores none: the order is that of creation.");
}

function howToPrice(many) {
  return `The prices of ${counted(many, "request")} are not known, since no lane names the model: start the inspector with --model NAME or --prices FILE. `;
}

function listenToSessions() {
  byId("more-sessions").addEventListener("click", () => { sorting.most += AT_ONCE; showRows(); });
}
