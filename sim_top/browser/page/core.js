// Calls of the translated functions: texts in, plain objects out. It runs in a worker, or in the page itself.
"use strict";
async function arbiterCore(data, bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const run = instance.exports, start = run.memory_start(), places = data.places;
  const array = (path, buffer = run.memory.buffer) => {
    const [offset, type, length] = data.arrays[path];
    const kinds = { int64: BigInt64Array, int32: Int32Array, uint8: Uint8Array };
    return new kinds[type](buffer, start + offset, length);
  };
  const numbers = (path, from = 0, to = undefined) => Array.from(array(path).subarray(from, to), Number);
  const encoder = new TextEncoder(), decoder = new TextDecoder();

  function write(text) {
    const coded = encoder.encode(text);
    if (coded.length <= data.mostBytes) array("options.text").set(coded, data.preamble);
    return coded.length;
  }

  function notes() {
    const count = Number(array("notes.used")[0]), out = array("notes.out"), rows = array("notes.rows"), found = [];
    for (let row = 0, at = 0; row < count; row++) {
      const [phrase, line, name, end] = rows.subarray(4 * row, 4 * row + 4);
      const part = (from, to) => decoder.decode(out.slice(from, to));
      found.push({ code: data.codes[phrase], line, name: part(at, name), message: part(name, end) });
      at = end;
    }
    return found;
  }

  function list(name, count) {
    const vls = numbers(`${name}_vl`, 0, count), weights = numbers(`${name}_weight`, 0, count);
    return vls.map((vl, place) => [vl, weights[place]]);
  }

  function lane(vl) {
    const each = numbers("lanes", data.laneNumbers * vl, data.laneNumbers * (vl + 1));
    const shares = [0, 1, 2].map(place => each[2 * place + 1] ? each[2 * place] / each[2 * place + 1] : 0);
    return { share: shares[0], least: Math.min(...shares), most: Math.max(...shares), wait: each[6], period: each[7] };
  }

  function analyse({ text, kind, vls, sls, mtu }) {
    const size = write(text);
    if (size > data.mostBytes) return { problem: `The text has ${size} bytes. The page reads up to ${data.mostBytes}.` };
    const senders = sls.reduce((mask, sl) => mask | 1 << sl, 0);
    run.analyse(size, kind, vls, senders, mtu, data.blocks[mtu]);
    const facts = numbers("facts"), fact = name => facts[places[name]], row = numbers("row");
    if (!fact("HAS_NAMES")) return { problem: "No line begins with the name of an option." };
    const name = decoder.decode(array("options.text").slice(fact("LIMIT_FROM"), fact("LIMIT_TO")));
    const weightLists = ["HIGH", "LOW"].filter((list, place) => fact("WEIGHT_LISTS") >> place & 1 && fact(`${list}_LINE`)).map(list => (
      { line: fact(`${list}_LINE`), name: decoder.decode(array("options.text").slice(fact(`${list}_FROM`), fact(`${list}_TO`))) }));
    const lanes = {};
    for (const vl of new Set(sls.map(sl => row[sl]))) if (vl < fact("DATA_VLS")) lanes[vl] = lane(vl);
    const none = { share: 0, least: 0, most: 0, wait: -1, period: 0 };
    return {
      high: list("high", fact("HIGH_COUNT")), low: list("low", fact("LOW_COUNT")), limit: fact("LIMIT"),
      limitLine: fact("LIMIT_LINE"), limitName: name, dataVls: fact("DATA_VLS"), isTable: !!fact("IS_TABLE"),
      row, lanes, notes: notes(), weightLists, mtu, blocks: data.blocks[mtu],
      levels: sls.map(sl => ({ sl, vl: row[sl], dropped: !(row[sl] in lanes), ...(lanes[row[sl]] || none) })),
    };
  }

  function mask(vls) { return vls.reduce((found, vl) => found | 1 << vl, 0); }

  // Registers of the arbiter, and the lists and the limit of its active bank.
  function registers() {
    const regs = numbers("arbiter.regs"), vls = numbers("arbiter.vl"), weights = numbers("arbiter.weight");
    const found = Object.fromEntries(Object.entries(data.registers).map(([name, place]) => [name, regs[place]]));
    const entries = vls.length / 4, lists = [0, 1].map(which => {
      const from = (2 * found.bank + which) * entries, pairs = [];
      for (let at = from; at < from + entries; at++) pairs.push([vls[at], weights[at]]);
      return pairs.slice(0, 1 + pairs.findLastIndex(pair => pair[1]));
    });
    return { ...found, high: lists[0], low: lists[1], limit: numbers("arbiter.limit")[found.bank] };
  }

  // The analysis, and the first packets of the order of service with a backlog in all lanes.
  function explain(question) {
    const found = analyse(question), vls = Object.keys(found.lanes || {}).map(Number);
    if (found.problem) return found;
    const period = vls.length ? found.lanes[vls[0]].period : 0;
    run.start();
    const done = run.serve(mask(vls), Math.min(period, question.packets));
    const order = numbers("order", 0, done), sources = numbers("sources", 0, done);
    run.start();
    return { ...found, vls, period, order, sources, registers: registers() };
  }

  function cycles({ requests, credits, stalled, swap, count, packets }) {
    const found = [];
    let started = 0;
    while (found.length < count && started < packets) {
      const lane = run.cycle(mask(requests), mask(credits), stalled ? 1 : 0, swap && !found.length ? 1 : 0);
      const shown = numbers("shown");
      started += lane >= 0;
      found.push({ lane, source: shown[places.SOURCE], ready: shown[places.READY], busy: shown[places.BUSY] });
    }
    return { found, registers: registers() };
  }

  function swapIn({ main, second }) {
    const other = analyse(second);
    if (!other.problem) run.write_table();
    analyse(main);
    return other;
  }

  function compare({ weights, small, mtu, shown, count }) {
    const read = analyse({ text: `low ${weights.replace(/[\r\n#]/g, " ")}`, kind: 2, vls: 15, sls: [0], mtu });
    const given = array("weights").fill(0n), blocks = array("blocks");
    for (const [vl, weight] of read.low || []) given[vl] = BigInt(Math.min(255, Number(given[vl]) + weight));
    for (let vl = 0; vl < 15; vl++) blocks[vl] = BigInt(small.includes(vl) ? 1 : data.blocks[mtu]);
    const vls = [...Array(15).keys()].filter(vl => given[vl] > 0n);
    const total = vls.reduce((sum, vl) => sum + Number(given[vl]), 0);
    const schedulers = data.schedulers.map(({ name, title }) => {
      const done = run[`contest_${name}`](shown, count), sent = numbers("sent");
      const whole = sent.reduce((sum, each) => sum + each, 0);
      return { name, title, done, order: numbers("order", 0, Math.min(shown, Math.max(done, 0))),
        shares: vls.map(vl => whole ? sent[vl] / whole : 0) };
    });
    return { vls, weights: vls.map(vl => Number(given[vl]) / total), schedulers };
  }
  return { analyse, explain, cycles, swapIn, compare };
}
