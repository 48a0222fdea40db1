// The timeline of a session: tokens by kind, compactions and refusals, and what a cache can hold.
"use strict";

const PARTS = ["overhead", "system", "digest", "user", "assistant", "results"];
const CHARTS = {tokens: "largest", marks: "marked", cache: "worst"}; // the place of each, and the request that it leads to
const NEAR = 12; // pixels from a mark that still mean it
let drawnGroups = [];

// What happened in a group of requests.
function summed([from, end], requests) {
  const found = {from, end, largest: requests[from], least: requests[from].tokens, worst: null, marked: null, compacted: 0, refused: 0};
  for (let at = from; at < end; at++) {
    const each = requests[at];
    if (each.tokens > found.largest.tokens) found.largest = each;
    found.least = Math.min(found.least, each.tokens);
    if (each.parts && (!found.worst || each.tokens - each.kept > found.worst.tokens - found.worst.kept)) found.worst = each;
    if (each.compacted || each.refused) found.marked ??= each;
    found.compacted += each.compacted;
    found.refused += each.refused;
  }
  return found;
}

function showCharts() {
  const requests = state.requests;
  byId("charts").hidden = !requests.length;
  if (!requests.length || !byId("tokens").clientWidth) return;
  const groups = grouped(requests.length, byId("tokens").clientWidth), found = groups.map((each) => summed(each, requests));
  drawnGroups = found;
  const part = (at) => found.map(({largest}) => largest.parts ? largest.parts[at] : 0);
  const most = found.reduce((most, {largest}) => Math.max(most, largest.tokens), 0);
  const lines = groups.length < requests.length ? [["least", found.map(({least}) => least)]] : [];
  if (requests.some(({budget}) => budget < 4 * most)) // a budget far above would press everything flat
    lines.push(["budget", found.map(({largest}) => largest.budget < 4 * most ? largest.budget : null)]);
  const layers = [...PARTS.map((name, at) => [name, part(at)]), ["unknown", found.map(({largest}) => largest.parts ? 0 : largest.tokens)]];
  drawChart(byId("tokens"), {groups, many: requests.length, layers, lines, height: 132});
  drawMarks(byId("marks"), {groups, marks: [["compaction", found.map(({compacted}) => compacted)], ["refused", found.map(({refused}) => refused)]], height: 16});
  drawChart(byId("cache"), {groups, many: requests.length, height: 92, foot: 18, layers: [
    ["cached", found.map(({worst}) => worst ? worst.kept : 0)], ["written", found.map(({worst}) => worst ? worst.tokens - worst.kept : 0)],
  ]});
  byId("tokens-in-words").textContent = tokensInWords(requests);
  byId("cache-in-words").textContent = cacheInWords(requests);
  showLegend(groups.length < requests.length, lines.length && lines.at(-1)[0] === "budget", layers.at(-1)[1].some((each) => each));
  markChosen();
}

function showLegend(isGrouped, hasBudget, hasUnknown) {
  const legend = {
    "Tokens": [...PARTS, ...(hasUnknown ? ["unknown"] : []), ...(hasBudget ? ["budget"] : [])],
    "Marks": ["compaction", ...(state.requests.some((each) => each.refused) ? ["refused"] : [])], "Cache": ["cached", "written"],
  };
  const signature = JSON.stringify(legend);
  byId("grouped").hidden = !isGrouped;
  if (byId("legend").dataset.of === signature) return; // a button in it may have the focus
  byId("legend").dataset.of = signature;
  byId("legend").replaceChildren(...Object.entries(legend).flatMap(([title, names]) => [
    make("li", "of", title), ...names.map((name) => make("li", "", make("span", `swatch swatch-${name}`), name === "unknown" ? "not yet by kind" : term(name))),
  ]));
}

function markChosen() {
  const at = state.chosen ? drawnGroups.findIndex(({from, end}) => from <= state.chosen.number && state.chosen.number < end) : -1;
  for (const id of Object.keys(CHARTS)) markGroup(byId(id), "chosen", at, drawnGroups.length);
}

// -- in words: for screen readers, and of the group under the pointer --

function tokensInWords(requests) {
  const sizes = requests.map((each) => each.tokens), at = requests.filter((each) => each.compacted).map((each) => number(each.number));
  const least = number(sizes.reduce((a, b) => Math.min(a, b))), most = number(sizes.reduce((a, b) => Math.max(a, b)));
  return `Chart: tokens of requests 0 to ${number(requests.length - 1)} by kind. The smallest has ${least}, the largest ${most}, the newest ${number(sizes.at(-1))}. `
    + (at.length ? `Compacted before ${at.length > 20 ? `${number(at.length)} of them, last before` : "requests"} ${at.slice(at.length > 20 ? -1 : 0).join(", ")}. ` : "Never compacted. ")
    + "The bill of each request has its figures.";
}

function cacheInWords(requests) {
  const last = requests.findLast((each) => each.parts);
  return `Chart: tokens of each request that a cache could hold, and tokens newly written to it${last ? `; of the newest ${number(last.kept)} and ${number(last.tokens - last.kept)}` : ""}. `
    + "The bill of each request has its figures.";
}

function groupInWords(chart, group) {
  const {from, end, largest, least, worst, compacted, refused, marked} = group, leads = group[CHARTS[chart]] ?? largest;
  const happened = [compacted && (compacted === 1 ? "compacted" : `${number(compacted)} compactions`), refused && counted(refused, "refusal")].filter((each) => each);
  const size = end - from === 1 ? `${number(largest.tokens)} tokens` : `${number(least)} to ${number(largest.tokens)} tokens`;
  const written = worst ? `, ${end - from === 1 ? "" : "at most "}${number(worst.tokens - worst.kept)} newly written` : "";
  return `${end - from === 1 ? `Request ${number(from)}` : `Requests ${number(from)} to ${number(end - 1)}`}: ${size}${written}${happened.length ? `; ${happened.join(", ")}` : ""}. `
    + `A click opens request ${number(leads.number)}${chart === "marks" && marked ? "" : end - from === 1 ? "" : chart === "cache" ? ", which wrote most" : ", the largest"}.`;
}

// The group under the pointer; of the marks, which are thin, the nearest one.
function groupOf(place, event) {
  const at = groupAt(place, event, drawnGroups.length), near = Math.ceil(NEAR / (place.clientWidth / drawnGroups.length));
  if (place.id === "marks") for (let by = 0; by <= near; by++) {
    const marked = [at - by, at + by].find((each) => drawnGroups[each]?.marked);
    if (marked !== undefined) return drawnGroups[marked];
  }
  return drawnGroups[at];
}

function listenToCharts() {
  for (const [id, leads] of Object.entries(CHARTS)) {
    const place = byId(id);
    place.addEventListener("pointermove", (event) => {
      if (!drawnGroups.length) return;
      const at = drawnGroups.indexOf(groupOf(place, event));
      for (const other of Object.keys(CHARTS)) markGroup(byId(other), "pointed", at, drawnGroups.length);
      byId("readout").textContent = groupInWords(id, drawnGroups[at]);
    });
    place.addEventListener("pointerleave", () => {
      for (const other of Object.keys(CHARTS)) markGroup(byId(other), "pointed", -1, 1);
      byId("readout").textContent = "";
    });
    place.addEventListener("click", guarded((event) => {
      if (!drawnGroups.length) return null;
      const group = groupOf(place, event);
      return go(addressOf(state.session.name, (group[leads] ?? group.largest).number));
    }));
  }
  let width = 0;
  new ResizeObserver(([{contentRect}]) => {
    if (width === (width = contentRect.width)) return;
    showCharts();
  }).observe(byId("charts"));
}
