// Gets the data (from the server or from this file) and draws it. Messages are inserted as text, never as HTML.
"use strict";

const PARTS = ["overhead", "system", "digest", "user", "assistant", "results"];
const MOST_HITS = 100; // of a search in an exported file
const MOST_POINTS = 1500; // of a chart: more are not visible and slow to draw

const embedded = (() => {
  const found = document.getElementById("data");
  return found === null ? null : JSON.parse(found.textContent);
})();

async function ask(what, given) {
  const answer = await fetch(`data/${what}?${new URLSearchParams(given)}`);
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}

// One session, served.
class Served {
  constructor(name) { this.name = name; }
  requests(start) { return ask("requests", {session: this.name, start}); }
  steps(known) { return ask("steps", {session: this.name, known}); }
  request(at, before) {
    const given = {session: this.name, at};
    return ask("request", before === null ? given : {...given, before});
  }
  leftOut(at, first, last) { return ask("left_out", {session: this.name, at, first, last}); }
  search(query, offset) { return ask("search", {session: this.name, query, offset}); }
}

// One session, embedded in this file.
class Embedded {
  constructor(data) {
    this.name = data.name;
    this.data = data;
    this.places = new Map(data.requests.map((each, number) => [each[0], number]));
    this.numbers = [];
  }
  async requests(start) { return this.data.requests.filter((each) => each[0] >= start); }
  async steps(known) { return {done: true, steps: this.data.steps.slice(known)}; }
  async request(at) {
    const number = this.places.get(at), lane = this.data.requests[number][1];
    const chain = [];
    for (let at = number; at >= 0; at--) {
      if (this.data.requests[at][1] !== lane) continue;
      chain.push(this.data.lines[at]);
      if (this.data.lines[at][0] === 0) break;
    }
    let lines = [];
    for (const [same, ...rest] of chain.reverse()) lines = lines.slice(0, same).concat(rest);
    return {lines: lines.map((each) => this.data.pool[each]), moved: this.data.moved[number]};
  }
  async leftOut(at, first, last) {
    const {lines} = await this.request(at);
    const gap = lines.find((each) => each[0] === "left out" && each[2] <= first && last <= each[3]);
    return this.data.kept.filter(([seq]) => seq >= first && seq <= last).slice(0, 100).map(
      ([seq, role, tokens, ref, message]) => [seq, role, gap[4], gap[5], tokens, ref, message]);
  }
  // Answers a reference like recall, with all pages. There is no index for words: finds messages with all of them,
  // newest first, each with what recall of its reference returns.
  async search(query) {
    const named = /^\s*\[?ref:(\d+)(?:-(\d+)|\.(\d+))?\]?\s*$/.exec(query);
    if (named) return {answer: this.recalled(Number(named[1]), Number(named[2] ?? named[1]), named[3]), hits: [], whole: true};
    const words = query.toLowerCase().split(/\s+/).filter((word) => word);
    const found = this.data.kept.filter((each) => {
      const text = JSON.stringify(each[4]).toLowerCase();
      return words.length && words.every((word) => text.includes(word));
    });
    const hits = found.reverse().slice(0, MOST_HITS).map(([seq]) => [seq, null, this.recalled(seq, seq)]);
    return {answer: null, hits, found: found.length};
  }
  recalled(first, last, part) {
    const found = this.data.kept.filter(([seq]) => seq >= first && seq <= last);
    if (!found.length) return `There is no message ref:${first} in this file.`;
    const parts = found.flatMap(([, , , , message, parts]) => parts.map(([heading, text, more]) => [heading, text ?? message.content, more]));
    if (first === last) {
      if (part !== undefined) return parts[part]?.[1] ?? `Message ${first} has ${parts.length} parts, no part ${part}.`;
      const alone = parts.filter(([, , more]) => more);
      if (alone.length === 1) return alone[0][1];
    }
    return parts.map(([heading, text]) => `${heading}\n${text}\n`).join("");
  }
}

async function allSessions() {
  if (embedded === null) return ask("sessions", {});
  return {title: embedded.title, sessions: embedded.sessions.map((each) => ({name: each.name}))};
}

function sessionNamed(name) {
  return embedded === null ? new Served(name) : new Embedded(embedded.sessions.find((each) => each.name === name));
}

// The text of a message; other content as JSON.
function textOf(message) {
  const calls = (message.tool_calls ?? []).map((call) => `-> ${call.function?.name ?? call.tool} ${call.function?.arguments ?? JSON.stringify(call.arguments)}`);
  if (message.ephemeral) return `SHA-256 ${message.ephemeral}`;
  const content = message.content ?? message.parts;
  const blocks = Array.isArray(content) ? content.map((block) => block.text ?? JSON.stringify(block, null, 2)) : [content];
  return [...blocks.filter((text) => typeof text === "string" && text), ...calls].join("\n");
}

function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

// The numbers of the requests that are drawn: all compactions, and as many of the others as can be distinguished.
function drawn(requests) {
  const every = Math.max(1, Math.ceil(requests.length / MOST_POINTS));
  return requests.filter((each) => each.number % every === 0 || (each.compacted && requests.length < 20000));
}

function layout(title, requests) {
  const axis = {color: color("text"), gridcolor: color("edge"), zeroline: false, rangemode: "tozero", fixedrange: true};
  return {
    margin: {l: 56, r: 8, t: 8, b: 40}, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: {color: color("text"), size: 12}, hovermode: "x unified",
    hoverlabel: {bgcolor: color("raised"), font: {color: color("text")}},
    legend: {orientation: "h", y: 1.02, yanchor: "bottom", x: 0},
    xaxis: {...axis, tickformat: ",d", ...(requests.length < 10 ? {dtick: 1} : {}), range: [-0.5, Math.max(0, requests.length - 0.5)], title: {text: "request", standoff: 4}}, yaxis: {...axis, title: {text: title, standoff: 4}, tickformat: ",~s"},
  };
}

function area(points, name, shade, value) {
  return {
    x: points.map((each) => each.number), y: points.map(value), name, type: "scatter", mode: "lines",
    stackgroup: "all", line: {width: 0.5, color: color(shade)}, fillcolor: color(shade), hovertemplate: "%{y:,}",
  };
}

// The charts in words, for screen readers.
function tokensInWords(requests) {
  const sizes = requests.map((each) => each.tokens), at = requests.filter((each) => each.compacted).map((each) => number(each.number));
  const least = number(sizes.reduce((a, b) => Math.min(a, b))), most = number(sizes.reduce((a, b) => Math.max(a, b)));
  return `Chart: tokens of requests 0 to ${number(requests.length - 1)} by kind. The smallest has ${least}, the largest ${most}, the newest ${number(sizes.at(-1))}. `
    + (at.length ? `Compacted before ${at.length > 20 ? `${number(at.length)} of them, last before` : "requests"} ${at.slice(at.length > 20 ? -1 : 0).join(", ")}. ` : "Never compacted. ")
    + "The table of requests has the same figures.";
}

function billInWords(requests) {
  const complete = requests.filter((each) => each.parts), last = complete.at(-1);
  return `Chart: tokens of each request that a cache could hold, and tokens newly written to it${last ? `; of the newest ${number(last.kept)} and ${number(last.tokens - last.kept)}` : ""}. `
    + "The table of requests has the same figures.";
}

function drawTokens(place, requests) {
  const points = drawn(requests);
  const traces = PARTS.map((part, at) => area(points, part, part, (each) => each.parts ? each.parts[at] : 0));
  if (points.some((each) => !each.parts)) // what was not gone through yet: of what kind it is is not known
    traces.push(area(points, "not yet by kind", "edge", (each) => each.parts ? 0 : each.tokens));
  const most = points.reduce((most, each) => Math.max(most, each.tokens), 0);
  const near = points.some((each) => each.budget < 4 * most); // a budget far above would press everything flat
  const compactions = points.filter((each) => each.compacted);
  traces.push({
    x: points.map((each) => each.number), y: points.map((each) => each.budget), name: "budget", type: "scatter",
    mode: "lines", line: {color: color("faint"), dash: "dot", width: 1}, hoverinfo: "skip", visible: near ? true : "legendonly",
  }, {
    x: compactions.map((each) => each.number), y: compactions.map((each) => each.tokens), name: "compaction",
    type: "scatter", mode: "markers", marker: {symbol: "triangle-down", size: 9, color: color("compaction")},
    hovertemplate: "compacted",
  });
  return Plotly.react(place, traces, layout("tokens", requests), {displayModeBar: false, responsive: true});
}

function drawBill(place, requests) {
  const points = drawn(requests.filter((each) => each.parts));
  const traces = [
    area(points, "cached", "user", (each) => each.kept),
    area(points, "written", "digest", (each) => each.tokens - each.kept),
  ];
  return Plotly.react(place, traces, layout("tokens", requests), {displayModeBar: false, responsive: true});
}
