// Draws charts of stacked steps, whatever the number of values: what shares a pixel is one step. Knows no requests.
"use strict";

const SVG = "http://www.w3.org/2000/svg", LEFT = 48, RIGHT = 6, TOP = 6;

function shape(tag, attributes, ...content) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

// Divides so many values among at most one group for each pixel: the first of each group, and the one behind its last.
function grouped(many, width) {
  const groups = Math.max(1, Math.min(many, Math.floor(width - LEFT - RIGHT)));
  return Array.from({length: groups}, (_, at) => [Math.floor(at * many / groups), Math.floor((at + 1) * many / groups)]);
}

// Round values from 0 to the largest, at most so many.
function ticks(most, count) {
  const rough = Math.max(1, most / count), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
  return Array.from({length: Math.floor(most / step) + 1}, (_, at) => at * step);
}

const short = new Intl.NumberFormat("en-US", {notation: "compact", maximumFractionDigits: 1});

// The places of a chart whose groups share its width.
function scale(width, height, groups, most, foot) {
  const step = (width - LEFT - RIGHT) / groups, base = height - foot;
  return {width, height, base, step, x: (at) => (LEFT + at * step).toFixed(1), y: (value) => (base - (base - TOP) * value / (most || 1)).toFixed(1)};
}

// The outline of the steps under these values.
function area(values, {x, y, base}) {
  return `M${LEFT},${base}${values.map((value, at) => `V${y(value)}H${x(at + 1)}`).join("")}V${base}Z`;
}

function line(values, {x, y}) {
  return values.map((value, at) => value === null ? "" : `${at && values[at - 1] !== null ? "V" : `M${x(at)},`}${y(value)}H${x(at + 1)}`).join("");
}

// Draws layers on top of each other, the first one lowest, and lines over them: [class, a value of each group].
function drawChart(place, {groups, many, layers, lines = [], height, foot = 4}) {
  const sums = [], flat = groups.map(() => 0);
  for (const [name, values] of layers) sums.push([name, values.map((value, at) => flat[at] += value)]);
  const most = [...sums.slice(-1), ...lines].reduce((most, [, values]) => values.reduce((a, b) => Math.max(a, b ?? 0), most), 0);
  const at = scale(place.clientWidth, height, groups.length, most, foot);
  const made = shape("svg", {width: at.width, height, viewBox: `0 0 ${at.width} ${height}`});
  for (const value of ticks(most, 3)) made.append(
    shape("line", {class: "grid", x1: LEFT, x2: at.width - RIGHT, y1: at.y(value), y2: at.y(value)}),
    shape("text", {class: "tick", x: LEFT - 6, y: at.y(value), "text-anchor": "end", dy: "0.35em"}, short.format(value)));
  for (const [name, values] of sums.reverse()) made.append(shape("path", {class: `fill-${name}`, d: area(values, at)}));
  for (const [name, values] of lines) made.append(shape("path", {class: `line-${name}`, d: line(values, at)}));
  if (foot > 10) for (const value of ticks(many - 1, Math.max(2, at.width / 110))) made.append(
    shape("text", {class: "tick", x: at.x(groups.findIndex(([from, end]) => from <= value && value < end) + 0.5), y: height - 2, "text-anchor": "middle"}, number(value)));
  place.replaceChildren(made);
}

// Draws short bars for groups in which something happened: [class, whether it did in each group].
function drawMarks(place, {groups, marks, height}) {
  const at = scale(place.clientWidth, height, groups.length, 1, 0), many = marks.reduce((sum, [, values]) => sum + values.filter((is) => is).length, 0);
  const thick = Math.max(many > at.width / 8 ? 1 : 3, Math.min(at.step, 8));
  const made = shape("svg", {width: at.width, height, viewBox: `0 0 ${at.width} ${height}`});
  for (const [name, values] of marks) values.forEach((is, group) => {
    if (is) made.append(shape("rect", {class: `fill-${name}`, x: Number(at.x(group + 0.5)) - thick / 2, y: 2, width: thick, height: height - 4}));
  });
  place.replaceChildren(made);
}

// Marks one group in a chart that is drawn.
function markGroup(place, name, group, groups) {
  const chart = place.firstElementChild, at = scale(place.clientWidth, 0, groups, 1, 0);
  if (!chart) return;
  chart.querySelector(`.${name}`)?.remove();
  if (group >= 0) chart.append(shape("rect", {class: name, x: at.x(group), y: 0, width: Math.max(2, at.step), height: chart.getAttribute("height")}));
}

// The group under a pointer.
function groupAt(place, event, groups) {
  const at = event.clientX - place.getBoundingClientRect().left - LEFT;
  return Math.max(0, Math.min(groups - 1, Math.floor(at / (place.clientWidth - LEFT - RIGHT) * groups)));
}
