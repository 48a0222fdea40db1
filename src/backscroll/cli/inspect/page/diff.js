// The difference of a request from the one before on its lane.
"use strict";

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
  const made = messageLine(each, at, how === "new" && state.shown.moved?.message === at ? state.shown.moved : null, how);
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
