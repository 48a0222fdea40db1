// The search over everything that a session keeps.
"use strict";

async function search(offset) {
  const query = byId("query").value.trim();
  if (!query || !state.session) return;
  const turn = state.turn, result = await state.session.search(query, offset);
  if (turn !== state.turn) return;
  byId("results").hidden = false;
  byId("search-note").hidden = embedded === null;
  const found = result.found ?? result.hits.length;
  byId("found").textContent = result.whole ? "What recall of that reference returns is below"
    : `${number(found)} ${found === 1 ? "place" : "places"} found${found > result.hits.length ? `, the newest ${number(result.hits.length)} of them below` : ""}`;
  byId("answer-title").textContent = result.whole ? "What recall of that reference returns, all of its pages" : "What the recall tool answers";
  byId("answer-title").hidden = byId("answer").hidden = result.answer === null;
  byId("answer").textContent = result.answer ?? "";
  const more = /recall again with offset (\d+)\]$/.exec(result.answer ?? "");
  byId("more").hidden = more === null;
  byId("more").dataset.offset = more ? more[1] : "0";
  byId("hits").replaceChildren(...result.hits.map(([seq, part, text]) => {
    const name = part === null ? `What recall of ref:${seq} returns` : `ref:${seq}.${part}`;
    const near = state.requests.find((each) => each.last >= seq), title = make("p", "state", name);
    if (near) title.append(", first in ", link(addressOf(state.session.name, near.number), `request ${number(near.number)}`));
    return make("li", "", title, scrolls(make("pre", "", text), name));
  }));
  if (offset) byId("answer").focus(); // what was asked for is there, and its button may be gone
  else byId("results").scrollIntoView({block: "nearest"});
}

function forgetSearch() {
  byId("results").hidden = true;
  for (const id of ["found", "hits", "answer"]) byId(id).replaceChildren();
  byId("answer-title").hidden = byId("answer").hidden = byId("more").hidden = true;
}

function listenToSearch() {
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); guarded(search)(0); });
  byId("more").addEventListener("click", guarded(() => search(Number(byId("more").dataset.offset))));
  byId("close").addEventListener("click", () => { forgetSearch(); byId("query").focus(); });
}
