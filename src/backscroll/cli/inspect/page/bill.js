// What one request took: its figures, computed and reported, and its dollars.
"use strict";

function showCosts(each) {
  const computed = (value) => each.parts ? value() : "…", written = () => each.tokens - each.kept;
  const rows = [
    ["request", "Number of the request in its session", each.number], ["lane", "Lane", each.lane],
    ["time", "Time of its newest message", each.time ? when(each.time) : "not known: the message names none"],
    ["budget", "Budget", each.budget], ["tokens", `Input, ${each.reported === null ? "estimated" : "as its provider counted it"}`, each.tokens],
    ...PARTS.map((part, at) => [part, `of it: ${part}`, computed(() => each.parts[at])]),
    ["tokens", "Estimated before it was sent", each.estimated], ["upper bound", "Upper estimate, by which compaction decides", each.upper],
    ["forecast", "Computed: a cache can hold it (forecast)", computed(() => each.kept)], ["written", "Computed: newly written", computed(written)],
    ["cost", "Computed: cost in input tokens at cache prices", computed(() => Math.round(CACHED * each.kept + WRITTEN * written()))],
    ...reported(each), ...inDollars(each),
    ["summary", "Summarizer since the request before: read", each.read], ["summary", "Summarizer: wrote", each.wrote],
  ];
  byId("costs").tBodies[0].replaceChildren(...rows.map(([word, name, value]) => {
    const head = make("th", "text", term(word, name));
    head.scope = "row";
    return make("tr", "", head, make("td", "", value));
  }));
}

function reported(each) {
  if (each.reported === null) return [["reported", "Reported by the provider", "nothing: all figures of this request are computed"]];
  return [
    ["reported", "Reported: read from its cache", each.wasCached ?? "not reported"], ["reported", "Reported: written to its cache", each.wasWritten ?? "not reported"],
    ["reported", "Reported: answer", each.answer ?? "not reported"],
  ];
}

function inDollars(each) {
  const prices = state.prices[each.lane];
  if (!prices) return [["cost", "Dollars", "not known: start with --model or --prices"]];
  const [name, input, output, read, write, upTo] = prices, cost = costOf(each);
  const price = (value) => value === null ? "none" : dollars(value);
  const why = upTo !== null && each.tokens > upTo ? `not known above ${number(upTo)} tokens` : each.parts ? "not known" : "…";
  return [
    ["cost", each.paid !== null ? "Dollars, by the reported cache" : "Dollars, by the forecast", cost === null ? why : dollars(cost)],
    ["cost", `Prices of ${name} per million: input, output, cache read, cache write`, [input, output, read, write].map(price).join(", ")],
  ];
}
