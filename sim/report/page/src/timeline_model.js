// A run as typed arrays: boxes of all lines one after the other, each line's in the order of time.
import { unpackAll } from './unpack.js';

const inkOfWord = { F: 'forward', B: 'backward', I: 'input', W: 'weight', UNSHARD: 'collective', RESHARD: 'collective', REDUCE_GRAD: 'collective', EVICT: 'exchange', RESTORE: 'exchange' };
export const inks = ['forward', 'backward', 'input', 'weight', 'collective', 'exchange', 'other'];
const phases = ['warm-up', 'steady', 'cool-down'];

/** Absolute starts and ends from gaps and lengths, line by line. */
function absolute(columns, counts) {
  const total = columns.gap.length;
  const start = new Uint32Array(total);
  const end = new Uint32Array(total);
  let i = 0;
  for (const count of counts)
    for (let now = 0, stop = i + count; i < stop; ++i) {
      start[i] = now + columns.gap[i];
      now = end[i] = start[i] + columns.length[i];
    }
  return { start, end };
}

/** Ticks of each ink before a box, so that the inks of any stretch are two look-ups apart. */
function sums(ink, start, end, lines) {
  const result = inks.map(() => null);
  for (const line of lines)
    for (let i = line.first; i < line.last; ++i) result[ink[i]] ??= new Uint32Array(start.length + 1);
  result.forEach((sum, which) => {
    if (!sum) return;
    for (const line of lines)
      for (let i = line.first, run = 0; i < line.last; ++i) {
        sum[i] = run;
        if (ink[i] === which) run += end[i] - start[i];
      }
  });
  return result;
}

/** Lists of indices by the value of a column: `of(value)` is a view. */
function groupBy(column) {
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < column.length; ++i) {
    least = Math.min(least, column[i]);
    most = Math.max(most, column[i]);
  }
  const size = column.length ? most - least + 1 : 0;
  const begin = new Uint32Array(size + 1);
  for (let i = 0; i < column.length; ++i) ++begin[column[i] - least + 1];
  for (let i = 1; i <= size; ++i) begin[i] += begin[i - 1];
  const next = begin.slice();
  const ids = new Uint32Array(column.length);
  for (let i = 0; i < column.length; ++i) ids[next[column[i] - least]++] = i;
  const none = new Uint32Array(0);
  return { least, most, of: (value) => (value < least || value > most ? none : ids.subarray(begin[value - least], begin[value - least + 1])) };
}

function splitLines(lines) {
  let box = 0;
  let idle = 0;
  return lines.map((line) => {
    const result = { ...line, first: box, last: box + line.boxes, firstIdle: idle, lastIdle: idle + line.idle };
    box += line.boxes;
    idle += line.idle;
    return result;
  });
}

export async function openRun(data) {
  const lines = splitLines(data.lines);
  const [boxes, idle, messages] = await Promise.all([unpackAll(data.boxes), unpackAll(data.idle), unpackAll(data.messages)]);
  Object.assign(boxes, absolute(boxes, lines.map((line) => line.boxes)));
  Object.assign(idle, absolute(idle, lines.map((line) => line.idle)));
  messages.start = new Uint32Array(messages.start.buffer, messages.start.byteOffset, messages.start.length);
  const inkOfKind = data.kinds.map((word) => inks.indexOf(inkOfWord[word] ?? 'other'));
  const ink = Uint8Array.from(boxes.kind, (kind) => inkOfKind[kind]);
  const used = inks.map((_, which) => ink.includes(which));
  const run = {
    name: data.name, length_s: data.length_s, perSecond: data.length_s > 0 ? data.ticks / data.length_s : 0, notes: data.notes,
    kinds: data.kinds, stages: data.stages, manyChunks: data.many_chunks, lines, boxes, idle, messages, ink, used,
    sums: sums(ink, boxes.start, boxes.end, lines),
    lineOfBox: lineIndex(lines, boxes.start.length),
  };
  run.odd = boxes.chunk.some((chunk) => chunk % 2 === 1);
  run.byMicrobatch = lazily(() => groupBy(boxes.microbatch));
  run.messagesByMicrobatch = lazily(() => groupBy(messages.microbatch));
  run.critical = Uint32Array.from(boxes.flags.keys()).filter((i) => boxes.flags[i] & 1);
  run.lineOfRank = new Map(lines.map((line, i) => [line, i]).filter(([line]) => !line.thin).map(([line, i]) => [line.rank, i]));
  return run;
}

function lazily(make) {
  let made = null;
  return () => (made ??= make());
}

function lineIndex(lines, total) {
  const index = new Uint16Array(total);
  lines.forEach((line, i) => index.fill(i, line.first, line.last));
  return index;
}

/** The first index in [first, last) whose value is greater than `value`; `last` when none is. */
export function firstAfter(column, first, last, value) {
  while (first < last) {
    const middle = (first + last) >>> 1;
    if (column[middle] > value) last = middle;
    else first = middle + 1;
  }
  return first;
}

export function boxName(run, box) {
  const { stage, kind, microbatch } = run.boxes;
  return `${stage[box]}${run.kinds[kind[box]]}${microbatch[box] >= 0 ? microbatch[box] : ''}`;
}

export function idleReason(run, i) {
  const phase = phases[run.idle.code[i] & 3];
  switch (run.idle.code[i] >> 2) {
    case 1: return `waiting for a transfer, ${phase}`;
    case 2: return `pause of the runtime, ${phase}`;
    default: return phase;
  }
}

/** The box at a time on a line, or −1. */
export function boxAt(run, line, tick) {
  const { first, last } = run.lines[line];
  const box = firstAfter(run.boxes.end, first, last, tick);
  return box < last && run.boxes.start[box] <= tick ? box : -1;
}

export function idleAt(run, line, tick) {
  const { firstIdle, lastIdle } = run.lines[line];
  const i = firstAfter(run.idle.end, firstIdle, lastIdle, tick);
  return i < lastIdle && run.idle.start[i] <= tick ? i : -1;
}

const order = { F: 0, B: 1, I: 1, W: 2 };

/**
 * The operations of a box's microbatch in the order in which they depend on each other: forwards up the stages,
 * backwards down, weight gradients as side branches of theirs.
 */
export function chainOf(run, box) {
  const { microbatch, stage, kind } = run.boxes;
  if (microbatch[box] < 0) return [box];
  const place = (i) => {
    const word = run.kinds[kind[i]];
    return word === 'F' ? stage[i] : 2 * run.stages - stage[i];
  };
  return [...run.byMicrobatch().of(microbatch[box])].filter((i) => run.kinds[kind[i]] in order)
    .sort((a, b) => place(a) - place(b) || order[run.kinds[kind[a]]] - order[run.kinds[kind[b]]]);
}

/** Pairs of the chain: what must end before what. A weight gradient hangs on its own input gradient. */
export function linksOf(run, chain) {
  const { kind, stage } = run.boxes;
  const links = [];
  let before = -1;
  let input = -1;
  for (const box of chain) {
    const word = run.kinds[kind[box]];
    if (word === 'W') {
      if (input >= 0 && stage[input] === stage[box]) links.push([input, box]);
      continue;
    }
    if (before >= 0) links.push([before, box]);
    before = box;
    if (word === 'I') input = box;
  }
  return links;
}
