// Gets the data, from the server or from this file.
"use strict";

const MOST_HITS = 100; // of a search in an exported file
let embedded = null; // the data of an exported file

async function unpack() {
  const found = document.getElementById("data");
  if (found === null) return;
  const bytes = Uint8Array.from(atob(found.textContent), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  embedded = await new Response(stream).json();
  found.remove();
}

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
  }
  message(at) { return at === null ? null : embedded.messages[at]; }
  async requests(start) { return this.data.requests.filter((each) => each[0] >= start); }
  async steps(known) { return {...this.data.steps, steps: this.data.steps.steps.slice(known)}; }
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
    return {lines: lines.map((each) => this.line(this.data.pool[each])), moved: this.data.moved[number]};
  }
  line(each) { return [...each.slice(0, 9), this.message(each[9])]; }
  async leftOut(at, first, last) {
    const {lines} = await this.request(at);
    const gap = lines.find((each) => each[0] === "left out" && each[2] <= first && last <= each[3]);
    return this.data.kept.filter(([seq]) => seq >= first && seq <= last).slice(0, 100).map(
      ([seq, role, tokens, ref, message]) => [seq, role, gap[4], gap[5], tokens, ref, this.message(message)]);
  }
  // Answers a reference like recall, with all pages. There is no index for words: finds messages with all of them,
  // newest first, each with what recall of its reference returns.
  async search(query) {
    const named = /^\s*\[?ref:(\d+)(?:-(\d+)|\.(\d+))?\]?\s*$/.exec(query);
    if (named) return {answer: this.recalled(Number(named[1]), Number(named[2] ?? named[1]), named[3]), hits: [], whole: true};
    const words = query.toLowerCase().split(/\s+/).filter((word) => word);
    const found = this.data.kept.filter((each) => {
      const text = JSON.stringify(this.message(each[4])).toLowerCase();
      return words.length && words.every((word) => text.includes(word));
    });
    const hits = found.reverse().slice(0, MOST_HITS).map(([seq]) => [seq, null, this.recalled(seq, seq)]);
    return {answer: null, hits, found: found.length};
  }
  recalled(first, last, part) {
    const found = this.data.kept.filter(([seq]) => seq >= first && seq <= last);
    if (!found.length) return `There is no message ref:${first} in this file.`;
    const parts = found.flatMap(([, , , , message, parts]) => parts.map(([heading, text, more]) => [heading, text ?? this.message(message).content, more]));
    if (first === last) {
      if (part !== undefined) return parts[part]?.[1] ?? `Message ${first} has ${parts.length} parts, no part ${part}.`;
      const alone = parts.filter(([, , more]) => more);
      if (alone.length === 1) return alone[0][1];
    }
    return parts.map(([heading, text]) => `${heading}\n${text}\n`).join("");
  }
}

async function sessionNames() {
  return embedded === null ? ask("sessions", {}) : {title: embedded.title, sessions: embedded.sessions.map(({name}) => ({name}))};
}

async function overview() { return embedded === null ? ask("overview", {}) : {done: true, sessions: embedded.rows}; }

function sessionNamed(name) {
  return embedded === null ? new Served(name) : new Embedded(embedded.sessions.find((each) => each.name === name));
}
