// The page: fields to questions, answers to tables and pictures. All rules are in the translated functions.
"use strict";
const DATA = /*DATA*/null;
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const WAIT_MS = 60, STRIP_PACKETS = 1000, TIME_CYCLES = 240, SHOWN_ORDER = 48, STEP_CYCLES = 200, CONTEST_PACKETS = 20000;
const LONGEST_LINK = 60000, LARGE_TEXT = 20000, MANY_NOTES = 40, MANY_LEVELS = 3;
const fill = (text, ...parts) => parts.reduce((made, part) => made.replace("{}", () => part), text);
const colour = vl => `var(--c${vl % 8})`;
const count = number => number.toLocaleString("en");
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

function make(name, attributes = {}, ...children) {
  const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map(String));
  return made;
}

// Python's format ".3g".
function general(value, digits = 3) {
  if (value === 0) return "0";
  const [, mantissa, power] = /^(.*)e(.*)$/.exec(value.toExponential(digits - 1)), exponent = Number(power);
  const plain = text => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  if (exponent >= -4 && exponent < digits) return plain(value.toFixed(digits - 1 - exponent));
  return `${plain(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
const percent = share => (100 * share).toFixed(2);
const microseconds = (blocks, gbps) => 512 * blocks / gbps / 1000;
function shownWait(wait, gbps) {
  if (wait < 0) return DATA.words.noBound;
  const us = microseconds(wait, gbps);
  return us >= 100 ? count(Math.round(us)) : general(us);
}
const harmless = text => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, c => `\\x${c.codePointAt(0).toString(16).padStart(2, "0")}`);

// A worker computes, so that the page answers while a long order is followed; without workers the page computes.
const bytes = Uint8Array.from(atob(DATA.wasm), c => c.charCodeAt(0));
const asked = new Map();
let worker = null, local = null, number = 0;
function startWorker() {
  const code = `${$("core").textContent}
let core; const ready = new Promise(done => { onmessage = async ({ data }) => {
  if (data.bytes) { core = await arbiterCore(data.data, data.bytes); done(); return; }
  await ready; postMessage({ number: data.number, answer: core[data.name](data.question) }); }; });`;
  worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => { asked.get(data.number)?.(data.answer); asked.delete(data.number); };
  worker.onerror = () => { worker = null; asked.clear(); update(); };
  worker.postMessage({ bytes, data: { ...DATA, wasm: "", examples: [] } });
}
function restartWorker() {
  if (!worker || !asked.size) return;
  worker.terminate();
  asked.clear();
  startWorker();
}
async function ask(name, question) {
  if (!worker) return (await (local = local || arbiterCore(DATA, bytes)))[name](question);
  return new Promise(done => { asked.set(++number, done); worker.postMessage({ number, name, question }); });
}

// Numbers such as "0,1,2" from 0 to most, each once and in order; null for anything else.
function numbersOf(text, most) {
  const parts = text.split(/[\s,]+/).filter(Boolean), found = [...new Set(parts.map(Number))].sort((a, b) => a - b);
  return parts.every(part => /^\d+$/.test(part)) && found.every(each => each <= most) ? found : null;
}

let view = null, version = 0, stepping = Promise.resolve();
function question() {
  const sls = $("sls").value.trim() ? numbersOf($("sls").value, 15) : [...Array(16).keys()];
  return { text: $("text").value, kind: Number($("kind").value), vls: Number($("vls").value), mtu: Number($("mtu").value), sls };
}
async function update() {
  const began = performance.now(), mine = ++version, given = question();
  restartWorker();
  stepping = Promise.resolve();
  if (!given.sls) return problem("Levels that send: numbers from 0 to 15, such as 0,1,2,3.");
  const found = await ask("explain", { ...given, packets: STRIP_PACKETS });
  if (mine !== version) return;
  if (found.problem) return problem(found.problem);
  view = { ...found, gbps: DATA.rates[$("rate").value], given, history: [], packets: 0 };
  $("results").hidden = false;
  for (const show of [showVerdict, showRows, showBars, showStrip, showLanes]) show();
  showStep(null);
  document.documentElement.dataset.ms = (performance.now() - began).toFixed(1);
  document.documentElement.dataset.done = String(mine);
  globalThis.arbiterResult = view;
  remember();
}
function problem(text) {
  view = null;
  globalThis.arbiterResult = { problem: text };
  $("results").hidden = true;
  $("verdict").replaceChildren(make("p", { class: "bad headline" }, text));
  document.documentElement.dataset.done = String(version);
}

function showVerdict() {
  const { words } = DATA, dropped = view.levels.filter(level => level.dropped), levels = view.levels.filter(level => !level.dropped);
  const starved = levels.filter(level => !level.most), endless = levels.filter(level => level.most && level.wait < 0);
  const sentence = ([one, several], some) => some.length ? fill(some.length > 1 ? several : one, listed(some.map(level => level.sl)), "") : "";
  const said = [sentence(words.droppedLevels, dropped), sentence(words.starved, starved), sentence(words.endless, endless)].filter(Boolean).join(" ");
  const off = view.notes.find(note => note.code === "QOS_OFF");
  const [kind, text] = off ? ["bad", off.message] : [dropped.length || starved.length ? "bad" : said ? "warn" : "good", said || words.bounded];
  const list = make("ul");
  const notes = view.notes.filter(note => note !== off);
  for (const { code, line, name, message } of notes.slice(0, MANY_NOTES)) {
    const own = [line ? `line ${line}` : "", harmless(name)].filter(Boolean).join(" ");
    const where = code === DATA.words.weights ? view.weightLists.map(list => `line ${list.line} ${harmless(list.name)}`).join(", ") : own;
    list.append(make("li", { class: "warn" }, `${code}${where ? ` (${where})` : ""}: ${harmless(message)}`));
  }
  if (notes.length > MANY_NOTES) list.append(make("li", { class: "warn" }, `${count(notes.length - MANY_NOTES)} more findings`));
  $("verdict").replaceChildren(make("p", { class: `${kind} headline` }, text), list);
}

// Numbers as text: "3", "3 and 4", "3, 4 and 5".
const listed = numbers => numbers.length > 1 ? `${numbers.slice(0, -1).join(", ")} and ${numbers[numbers.length - 1]}` : String(numbers[0]);
const sharing = level => level.dropped ? [] : view.levels.filter(other => other !== level && other.vl === level.vl).map(other => other.sl);
function inWords(level) {
  const { words } = DATA;
  if (level.dropped) return words.dropped;
  if (!level.most) return words.unserved;
  const [low, high] = [level.least, level.most].map(share => general(share * view.gbps));
  const lane = low === high ? fill(words.gets, low) : fill(words.getsRange, low, high), others = sharing(level);
  const gets = others.length ? fill(words.together, lane, listed(others)) : lane;
  return level.wait < 0 ? fill(words.getsEndless, gets) : fill(words.getsBounded, gets, shownWait(level.wait, view.gbps));
}
function showRows() {
  const source = view.limitLine ? `line ${view.limitLine}, ${view.limitName}` : "OpenSM's default";
  $("caption").textContent = `${view.dataVls} data lanes, packets of up to ${view.mtu} bytes, ${$("rate").value}, LimitOfHighPriority ${view.limit} (${source}). A packet of ${view.mtu} bytes of payload has ${view.blocks} blocks of 64 bytes with its headers. Share, Gb/s and wait are those of the lane: levels in one lane divide its share.`;
  const heads = ["SL", "VL", "share of the lane (%)", "from (%)", "to (%)", "Gb/s", "longest wait in the lane (us)", "in words"];
  $("heads").replaceChildren(...heads.map((head, place) => make("th", { scope: "col", ...(place === 7 ? { class: "text" } : {}) }, head)));
  $("rows").replaceChildren(...view.levels.map(level => {
    const others = sharing(level), lane = others.length ? fill(DATA.words.laneTogether, level.vl, listed(others)) : level.vl;
    const cells = [level.sl, lane, percent(level.share), percent(level.least), percent(level.most),
      general(level.share * view.gbps), shownWait(level.wait, view.gbps), inWords(level)];
    const row = make("tr");
    cells.forEach((cell, place) => row.append(make(place ? "td" : "th",
      { "data-name": heads[place], ...(place ? {} : { scope: "row" }), ...(place === 7 ? { class: "text" } : {}) }, cell)));
    return row;
  }));
}

const width = () => Math.max(320, Math.min(1120, $("results").clientWidth || 900));
function picture(wide, high, label) { return make("svg:svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": label }); }
function showBars() {
  const lanes = [...new Set(view.levels.map(level => level.vl))].map(vl => view.levels.filter(level => level.vl === vl));
  const wide = width(), tall = 26, left = 130, right = 72, high = lanes.length * tall;
  const named = levels => `VL ${levels[0].vl} (${levels.length > MANY_LEVELS ? `${levels.length} levels` : `SL ${levels.map(level => level.sl).join(", ")}`})`;
  const shown = level => level.dropped ? "dropped" : `${percent(level.share)} %`;
  const place = share => left + share * (wide - left - right);
  const svg = picture(wide, high + 22, lanes.map(levels => `${named(levels)}: ${shown(levels[0])}`).join(", "));
  for (const share of [0, .25, .5, .75, 1]) svg.append(
    make("svg:line", { x1: place(share), x2: place(share), y1: 0, y2: high, class: "axis" }),
    make("svg:text", { x: place(share), y: high + 16, "text-anchor": "middle" }, `${100 * share} %`));
  lanes.forEach((levels, row) => {
    const [level] = levels, y = row * tall, middle = y + tall / 2, from = place(level.least), to = place(level.most);
    svg.append(make("svg:text", { x: 0, y: y + 17 }, named(levels)),
      make("svg:rect", { x: left, y: y + 4, width: Math.max(0, place(level.share) - left), height: tall - 8, fill: colour(level.vl) }),
      make("svg:path", { d: `M${from} ${middle}H${to}M${from} ${y + 8}v${tall - 16}M${to} ${y + 8}v${tall - 16}`, class: "whisker" }),
      make("svg:text", { x: place(Math.max(level.share, level.most)) + 6, y: y + 17 }, shown(level)));
  });
  $("bars").replaceChildren(svg);
}

// One row per lane; each mark is a start, a length and a lane.
function timeline(marks, length, label) {
  const wide = width(), left = 52, tall = 18, lanes = view.vls, svg = picture(wide, lanes.length * tall + 4, label);
  const scale = (wide - left) / Math.max(length, 1);
  lanes.forEach((vl, row) => {
    svg.append(make("svg:text", { x: 0, y: row * tall + 14 }, `VL ${vl}`), make("svg:line", { x1: left, x2: wide, y1: row * tall + tall, y2: row * tall + tall, class: "axis" }));
    for (const isHigh of [true, false]) {
      const path = marks.filter(mark => mark.lane === vl && (mark.source === 1) === isHigh).map(mark =>
        `M${(left + mark.from * scale).toFixed(2)} ${row * tall + (isHigh ? 2 : 8)}h${Math.max(.6, mark.size * scale - .5).toFixed(2)}v${isHigh ? 14 : 8}h-${Math.max(.6, mark.size * scale - .5).toFixed(2)}z`).join("");
      svg.append(make("svg:path", { d: path, fill: colour(vl) }));
    }
  });
  return svg;
}
function showStrip() {
  const { order, sources } = view, drawn = order.length;
  $("period").textContent = !view.period ? "No lane can send." : `With a backlog in all lanes, the order repeats after ${count(view.period)} packets${view.period > drawn ? `. The first ${count(drawn)} packets` : ""}. Tall marks: high list. Short marks: low list.`;
  const marks = order.map((lane, place) => ({ lane, source: sources[place], from: place, size: 1 }));
  $("strip").replaceChildren(timeline(marks, drawn, "Packets in the order of service: " + view.vls.map(vl => `VL ${vl} ${order.filter(lane => lane === vl).length}`).join(", ")));
}

function showLanes() {
  for (const [id, name] of [["requests", "a packet"], ["credits", "credit"]]) {
    $(id).querySelectorAll("label").forEach(label => label.remove());
    for (const vl of view.vls) {
      const box = make("input", { type: "checkbox", value: vl, "aria-label": `VL ${vl} has ${name}` }), label = make("label");
      box.checked = true;
      label.append(box, ` VL ${vl}`);
      $(id).append(label);
    }
  }
}
const chosen = id => [...$(id).querySelectorAll("input:checked")].map(box => Number(box.value));
const LISTS = ["no list", "the high list", "the low list", "VL15"];
function entryText(name, pointer, remaining) {
  const left = remaining > 0 ? `${plural(remaining, "block")} left` : remaining < 0 ? `weight exceeded by ${plural(-remaining, "block")}` : "weight used up";
  return `${name} list at entry ${pointer}, ${left}`;
}
function showStep(last) {
  const r = view.registers, now = view.history.length;
  const limit = r.limit === 255 ? "no limit" : r.counter > 0 ? `${r.limit}, ${plural(r.counter, "block")} before the turn of the low list` : `${r.limit}, used up: the low list is next`;
  const lines = [`${entryText("High", r.pointerHigh, r.remainingHigh)}. ${entryText("Low", r.pointerLow, r.remainingLow)}. LimitOfHighPriority ${limit}.${r.swapPending ? " A swap is pending." : ""}`];
  if (last) {
    const blocks = view.blocks, event = last.lane >= 0 ? `VL ${last.lane} sends a packet of ${blocks} blocks (${view.mtu} bytes of payload and headers) from ${LISTS[last.source]}`
      : last.stalled ? "the link is stalled" : last.ready ? "no lane has a packet and credit for it" : `the link is busy; the packet needs ${plural(last.busy, "more cycle")}`;
    lines.unshift(`Cycle ${count(now)}, packet ${count(view.packets)}: ${event}.`);
  } else lines.unshift("Before the first decision.");
  $("now").replaceChildren(...lines.map(line => make("p", {}, line)));
  $("lists").replaceChildren(...[["High list", r.high, r.pointerHigh], ["Low list", r.low, r.pointerLow]].map(([name, list, pointer]) => {
    const line = make("p", {}, `${name} (VL:weight): `);
    if (!list.length) line.append("no entry");
    list.forEach(([vl, weight], entry) => line.append(make("span", entry === pointer ? { class: "entry", "aria-current": "true" } : { class: "entry" }, `${vl}:${weight}`), " "));
    return line;
  }));
  const shown = view.history.slice(-TIME_CYCLES), first = now - shown.length, marks = [];
  shown.forEach((each, at) => { const before = marks[marks.length - 1]; if (each.lane < 0 && before && before.on === each.on && each.on >= 0) before.size++; else if (each.on >= 0) marks.push({ lane: each.on, on: each.on, source: each.from, from: at, size: 1 }); });
  $("time").replaceChildren(...(now ? [timeline(marks, Math.max(shown.length, 1), `Cycles ${first + 1} to ${now}: lane on the link`), make("p", { class: "key" }, `Cycles ${count(first + 1)} to ${count(now)}; a packet of ${view.blocks} blocks occupies the link for ${view.blocks} cycles.`)] : []));
}
function advance(cycles, packets) { stepping = stepping.then(() => advanceNow(cycles, packets)); return stepping; }
async function advanceNow(cycles, packets) {
  if (!view) return;
  const mine = version, stalled = $("stalled").checked;
  const answer = await ask("cycles", { requests: chosen("requests"), credits: chosen("credits"), stalled, swap: !!view.swap, count: cycles, packets });
  if (mine !== version) return;
  view.swap = false;
  let on = view.on ?? -1, from = view.from ?? 0;
  for (const each of answer.found) {
    if (each.lane >= 0) { on = each.lane; from = each.source; view.packets++; }
    view.history.push({ ...each, stalled, on: stalled && each.lane < 0 ? -1 : each.lane < 0 && each.ready ? -1 : on, from });
    if (view.history.length > 200000) view.history.splice(0, 100000);
  }
  view.on = on; view.from = from; view.registers = answer.registers;
  showStep(view.history[view.history.length - 1] || null);
}
async function restart() {
  const mine = version;
  if (!view) return;
  const answer = await ask("explain", { ...view.given, packets: 0 });
  if (mine !== version) return;
  Object.assign(view, { history: [], packets: 0, registers: answer.registers, on: -1, swap: false });
  $("swapped").textContent = "";
  showStep(null);
}
async function swapTable() {
  if (!view) return;
  const second = { ...view.given, text: $("second").value }, answer = await ask("swapIn", { main: view.given, second });
  if (answer.problem) { $("swapped").textContent = answer.problem; return; }
  view.swap = true;
  $("swapped").textContent = `Written: ${answer.high.length} high and ${answer.low.length} low entries, limit ${answer.limit}. The swap takes effect at the end of the next cycle in which the link is free.`;
}

async function contest() {
  const small = $("small").value.trim() ? numbersOf($("small").value, 14) : [];
  if (!small) { $("contest-problem").textContent = "Lanes with packets of 64 bytes: numbers from 0 to 14, such as 1,3."; return; }
  const mtu = Number($("mtu").value);
  const answer = await contestCore("compare", { weights: $("weights").value, small, mtu, shown: SHOWN_ORDER, count: CONTEST_PACKETS });
  const { vls } = answer;
  $("contest-problem").textContent = vls.length ? "" : "Weights: at least one VL:weight with a weight from 1 to 255, such as 0:1,1:2.";
  $("contest-caption").textContent = `Shares of the link in ${count(CONTEST_PACKETS)} packets, all lanes with a backlog; configured: ${vls.map((vl, place) => `VL ${vl} ${percent(answer.weights[place])} %`).join(", ")}`;
  const order = `first ${SHOWN_ORDER} packets`;
  $("contest-heads").replaceChildren(make("th", { scope: "col", class: "text" }, "scheduler"), ...vls.map(vl => make("th", { scope: "col" }, `VL ${vl} (%)`)), make("th", { scope: "col", class: "text" }, order));
  $("contest-rows").replaceChildren(...answer.schedulers.map(each => {
    const row = make("tr", {}), bad = each.done < 0, last = make("td", { class: "text", "data-name": order }, bad ? "a weight is too large beside the smallest weight" : "");
    if (!bad) {
      const svg = make("svg:svg", { viewBox: `0 0 ${SHOWN_ORDER * 8} 16`, role: "img", "aria-label": `VL ${each.order.join(" ")}` });
      each.order.forEach((vl, place) => svg.append(make("svg:rect", { x: 8 * place, y: 0, width: 7, height: 16, fill: colour(vl) })));
      last.append(svg);
    }
    row.append(make("th", { scope: "row", class: "text", "data-name": "scheduler" }, each.title), ...vls.map((vl, place) => make("td", { "data-name": `VL ${vl} (%)` }, bad ? "" : percent(each.shares[place]))), last);
    return row;
  }));
  globalThis.contestResult = answer;
}
// A module of its own, so that the comparison changes no table of the stepped arbiter.
let contestInstance = null;
async function contestCore(name, given) { return (await (contestInstance = contestInstance || arbiterCore(DATA, bytes)))[name](given); }

// The state of the fields stands in the fragment of the address, compressed; browsers send fragments to no server.
const FIELDS = ["text", "kind", "vls", "mtu", "rate", "sls", "weights", "small", "second"];
const stream = (data, through) => new Response(new Blob([data]).stream().pipeThrough(through)).arrayBuffer();
async function coded() {
  const state = JSON.stringify(Object.fromEntries(FIELDS.map(id => [id, $(id).value])));
  const packed = new Uint8Array(await stream(new TextEncoder().encode(state), new CompressionStream("deflate-raw")));
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
async function decode(fragment) {
  const packed = Uint8Array.from(atob(fragment.replace(/-/g, "+").replace(/_/g, "/")), c => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await stream(packed, new DecompressionStream("deflate-raw"))));
}
async function remember() {
  if ($("text").value.length > 10 * LARGE_TEXT) return;
  const mine = version, fragment = await coded();
  if (mine === version && fragment.length <= LONGEST_LINK) history.replaceState(null, "", `#${fragment}`);
}
async function copyLink() {
  const fragment = await coded();
  if (fragment.length > LONGEST_LINK) { $("copied").textContent = "The text is too long for a link."; return; }
  history.replaceState(null, "", `#${fragment}`);
  try { await navigator.clipboard.writeText(location.href); $("copied").textContent = "Copied."; }
  catch { $("copied").textContent = "The address of this page is the link."; }
}
async function restore() {
  if (location.hash.length < 2) return false;
  try {
    const state = await decode(location.hash.slice(1));
    for (const id of FIELDS) if (typeof state[id] === "string") $(id).value = state[id];
    return true;
  } catch { $("copied").textContent = "The link is damaged; this is the first example."; return false; }
}

function setUp() {
  const options = (id, pairs, chosenValue) => { $(id).append(...pairs.map(([value, text]) => new Option(text, value))); $(id).value = chosenValue; };
  options("kind", DATA.kinds, DATA.kinds[0][0]);
  options("vls", [[0, "of max_op_vls, else 8"], ...DATA.vls.map(each => [each, each])], 0);
  options("mtu", DATA.mtus.map(each => [each, each]), DATA.mtu);
  options("rate", Object.entries(DATA.rates).map(([name, gbps]) => [name, `${name} (${general(gbps, 4)} Gb/s)`]), DATA.rate);
  $("turns").textContent = DATA.words.turns;
  $("meaning").textContent = DATA.words.meaning;
  $("words").textContent = DATA.words.terms;
  $("about").textContent = `vlane ${DATA.version}: ${count(bytes.length)} bytes of WebAssembly, translated from vlane's golden model and from the rules of vlane vlarb explain.`;
  $("sls").value = "0,1,2,3";
  $("weights").value = "0:1,1:2,2:4,3:8";
  $("second").value = "high 0:64\nlow 1:64,2:64,3:64\nlimit 1\n";
  for (const { title, text, sls } of DATA.examples) {
    const button = make("button", { type: "button" }, title);
    button.onclick = () => { $("text").value = text; $("sls").value = sls; $("copied").textContent = ""; update(); };
    $("examples").append(button);
  }
  let timer = 0, contestTimer = 0;
  const soon = () => { clearTimeout(timer); timer = setTimeout(update, WAIT_MS); };
  const contestSoon = () => { clearTimeout(contestTimer); contestTimer = setTimeout(() => contest().then(remember), WAIT_MS); };
  $("form").addEventListener("input", event => { soon(); if (event.target.id === "mtu") contestSoon(); });
  document.addEventListener("input", () => { $("copied").textContent = ""; });
  $("text").addEventListener("paste", () => setTimeout(() => { $("text").scrollTop = 0; }));
  $("form").addEventListener("submit", event => event.preventDefault());
  for (const id of ["weights", "small"]) $(id).addEventListener("input", contestSoon);
  $("packet").onclick = () => advance(STEP_CYCLES, 1);
  $("ten").onclick = () => advance(10 * STEP_CYCLES, 10);
  $("cycle").onclick = () => advance(1, 1);
  $("restart").onclick = restart;
  $("swap").onclick = swapTable;
  $("link").onclick = copyLink;
  addEventListener("resize", () => { if (view) { showBars(); showStrip(); showStep(view.history[view.history.length - 1] || null); } });
}
(async () => {
  setUp();
  try { startWorker(); } catch { worker = null; }
  if (!await restore()) { $("text").value = DATA.examples[0].text; $("sls").value = DATA.examples[0].sls; }
  await update();
  await contest();
  document.documentElement.dataset.ready = "1";
})();
