// The timeline of a page: canvas, buttons, what the pointer and the keys do, what is said about a box.
import { element } from './dom.js';
import { formatBytes, formatTime } from './format.js';
import { isPrinting, onTheme, palette } from './theme.js';
import { axisHeight, TimelineCanvas } from './timeline_canvas.js';
import { boxAt, boxName, idleAt, idleReason, inks, openRun } from './timeline_model.js';
import { announceView } from './view_bus.js';

const inkNames = { forward: 'forward', backward: 'backward', input: 'input gradient', weight: 'weight gradient', collective: 'collective', exchange: 'exchange', other: 'other' };
const idleNames = { warmup: 'idle, warm-up', steady: 'idle, steady', cooldown: 'idle, cool-down', transfer: 'waiting for a transfer' };
const kindNames = { F: 'forward', B: 'backward', I: 'input gradient', W: 'weight gradient' };
const keys = [['← →', 'pan'], ['+ −', 'zoom'], ['0', 'whole step'], ['↑ ↓', 'scroll ranks'], ['[ ]', 'lower and higher rows'],
  ['n p', 'next and previous microbatch'], [', .', 'previous and next operation of the rank'], ['c', 'critical path'], ['m', 'messages'], ['Esc', 'let go'],
  ['Ctrl + wheel', 'zoom'], ['drag', 'pan'], ['double click', 'zoom in']];

class Timeline {
  constructor(block) {
    this.block = block;
    this.canvas = element('canvas', { tabindex: '0', role: 'application', 'aria-label': 'timeline of the ranks; press ? for its keys' });
    this.view = new TimelineCanvas(this.canvas);
    this.tip = element('div', { class: 'tip', hidden: true });
    this.said = element('div', { class: 'said', 'aria-live': 'polite' });
    this.help = element('div', { class: 'keys' }, ...keys.flatMap(([key, what]) => [element('kbd', {}, key), ` ${what}  `]));
    this.legend = element('div', { class: 'legend' });
    this.stage = element('div', { class: 'stage' }, this.canvas, this.tip);
    this.pinned = false;
    this.pointers = new Map();
    this.root = element('div', { class: 'timeline' }, this.makeBar(), this.stage, this.legend, this.said, this.help);
    this.opened = new Map();
    this.listen();
    this.show(block.shown);
  }

  makeBar() {
    const button = (text, label, act) => element('button', { type: 'button', title: label, 'aria-label': label, onclick: act }, text);
    this.criticalButton = button('critical path', 'mark the critical path', () => this.toggle('showCritical'));
    this.messagesButton = button('messages', 'draw messages between ranks', () => this.toggle('showMessages'));
    this.syncButtons();
    const runs = this.block.runs.length > 1 ? element('div', { class: 'runs', role: 'group', 'aria-label': 'runs to show' }, ...this.block.runs.map((run, i) => {
      const box = element('input', { type: 'checkbox', checked: this.block.shown.includes(i), onchange: () => this.show(this.chosenRuns()) });
      (this.boxes ??= []).push(box);
      return element('label', {}, box, ` ${run.name}`);
    })) : null;
    return element('div', { class: 'bar' }, button('−', 'zoom out', () => this.zoom(1.5)), button('+', 'zoom in', () => this.zoom(1 / 1.5)),
      button('whole step', 'show the whole step', () => this.fit()), this.criticalButton, this.messagesButton,
      element('span', { class: 'grow' }), button('?', 'keys', () => this.help.classList.toggle('open')), runs);
  }

  chosenRuns() { return this.boxes.flatMap((box, i) => (box.checked ? [i] : [])); }

  syncButtons() {
    this.criticalButton.setAttribute('aria-pressed', String(this.view.showCritical));
    this.messagesButton.setAttribute('aria-pressed', String(this.view.showMessages));
  }

  toggle(what) {
    this.view[what] = !this.view[what];
    this.syncButtons();
    this.redraw();
  }

  async show(indices) {
    const runs = await Promise.all(indices.map((i) => {
      if (!this.opened.has(i)) this.opened.set(i, openRun(this.block.runs[i]));
      return this.opened.get(i);
    }));
    this.view.setRuns(runs);
    this.pinned = false;
    this.describeLegend(runs);
    this.chooseRowHeight();
    this.fit();
    this.sayNothing();
    this.root.dataset.ready = 'yes';
    this.root.dataset.boxes = runs.reduce((sum, run) => sum + run.boxes.start.length, 0);
  }

  describeLegend(runs) {
    const colors = palette();
    const entry = (color, text) => element('span', {}, element('i', { style: `background:${color}` }), text);
    const used = inks.filter((_, which) => runs.some((run) => run.used[which]));
    const hatched = runs.some((run) => run.odd) ? [entry('repeating-linear-gradient(45deg,#888 0 2px,#ddd 2px 6px)', 'odd chunk or opposite direction')] : [];
    const causes = new Set(runs.flatMap((run) => [0, 1, 2, 3].filter((cause) => run.idle.code.some((code) => (code >> 2 === 1 ? 3 : code & 3) === cause))));
    const idle = Object.keys(idleNames).filter((_, cause) => causes.has(cause));
    this.legend.replaceChildren(...used.map((ink) => entry(colors[ink], inkNames[ink])), ...hatched,
      ...idle.map((role) => entry(colors[role], idleNames[role])), ...runs.flatMap((run) => run.notes.map((note) => element('span', {}, note))));
  }

  chooseRowHeight() {
    const lines = this.view.runs.reduce((sum, run) => sum + run.lines.length, 0);
    const room = Math.max(220, Math.min(window.innerHeight * 0.62, 620));
    this.view.rowHeight = Math.max(5, Math.min(26, Math.floor(room / Math.max(lines, 1))));
    this.view.relayout();
    this.resize();
  }

  resize() {
    const room = Math.max(220, Math.min(window.innerHeight * 0.62, 620));
    const height = Math.min(this.view.layout.height, isPrinting() ? 1e4 : room) + axisHeight;
    this.canvas.style.height = `${height}px`;
    const width = isPrinting() ? 680 : this.stage.clientWidth;
    if (width > 0) this.view.resize(width, height, Math.min(window.devicePixelRatio || 1, 2));
    this.moveTo(this.view.from, this.view.span, this.view.scroll);
    this.view.draw();
  }

  /** Keeps time and rows within what there is. */
  moveTo(from, span, scroll) {
    const { view } = this;
    view.span = Math.min(Math.max(span, view.length * 1e-8), view.length);
    view.from = Math.min(Math.max(from, 0), view.length - view.span);
    view.scroll = Math.min(Math.max(scroll, 0), Math.max(0, view.layout.height - view.viewHeight));
    announceView({ from_s: view.from, to_s: view.from + view.span });
    this.root.dataset.from = view.from;
    this.root.dataset.span = view.span;
    this.redraw();
  }

  fit() { this.moveTo(0, this.view.length, 0); }

  zoom(factor, x = this.view.left + this.view.plotWidth / 2) {
    const at = this.view.timeAt(x);
    const span = Math.min(Math.max(this.view.span * factor, this.view.length * 1e-8), this.view.length);
    this.moveTo(at - ((x - this.view.left) / this.view.plotWidth) * span, span, this.view.scroll);
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const begin = performance.now();
      if (this.view.runs.length && this.view.width) this.view.draw();
      this.drawTimes?.push(performance.now() - begin);
    });
  }

  // --- pointer

  listen() {
    const { canvas } = this;
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointercancel', (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('dblclick', (event) => this.zoom(0.4, event.offsetX));
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => { if (this.view.runs.length && !isPrinting() && this.stage.clientWidth !== this.view.width) this.resize(); }).observe(this.stage);
    onTheme(() => {
      this.view.recolor();
      if (!this.view.runs.length) return;
      this.describeLegend(this.view.runs);
      this.resize();
    });
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.moved = 0;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(event.offsetX, event.offsetY);
    const now = { x: event.offsetX, y: event.offsetY };
    const { view } = this;
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      this.zoom(Math.max(Math.abs(before.x - other.x), 8) / Math.max(Math.abs(now.x - other.x), 8), (now.x + other.x) / 2);
    } else {
      this.canvas.classList.add('dragged');
      const touch = event.pointerType === 'touch';
      this.moveTo(view.from - ((now.x - before.x) / view.plotWidth) * view.span, view.span, view.scroll - (touch ? 0 : now.y - before.y));
    }
    this.moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    this.pointers.set(event.pointerId, now);
    this.tip.hidden = true;
  }

  release(event) {
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove('dragged');
    if (this.moved >= 5) return;
    const hit = this.hitAt(event.offsetX, event.offsetY);
    if (hit && hit.box >= 0) this.pin(hit.run, hit.box);
    else this.letGo();
  }

  leave() {
    this.tip.hidden = true;
    if (this.pinned || this.pointers.size) return;
    if (this.view.focus) this.redraw();
    this.view.focus = null;
  }

  wheel(event) {
    const { view } = this;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.004))), event.offsetX);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.moveTo(view.from + ((event.deltaX || event.deltaY) / view.plotWidth) * view.span, view.span, view.scroll);
    } else if (view.layout.height > view.viewHeight) {
      const scroll = view.scroll + event.deltaY;
      if (scroll > 0 && scroll < view.layout.height - view.viewHeight) event.preventDefault();
      this.moveTo(view.from, view.span, scroll);
    }
  }

  hitAt(x, y) {
    const row = x >= this.view.left ? this.view.rowAt(y) : null;
    if (!row) return null;
    const tick = this.view.timeAt(x) * row.run.perSecond;
    const box = boxAt(row.run, row.line, tick);
    return { run: row.run, line: row.line, box, idle: box < 0 ? idleAt(row.run, row.line, tick) : -1 };
  }

  hover(x, y) {
    const hit = this.hitAt(x, y);
    const focus = hit && hit.box >= 0 ? { run: hit.run, box: hit.box } : null;
    if (!this.pinned && (focus?.box !== this.view.focus?.box || focus?.run !== this.view.focus?.run)) {
      this.view.focus = focus;
      this.redraw();
    }
    if (!hit || (hit.box < 0 && hit.idle < 0)) { this.tip.hidden = true; return; }
    const [head, ...rest] = hit.box >= 0 ? this.describe(hit.run, hit.box) : this.describeIdle(hit.run, hit.line, hit.idle);
    this.tip.replaceChildren(element('b', {}, head), ...rest.map((line) => element('div', {}, line)));
    this.tip.hidden = false;
    const left = Math.min(x + 14, this.view.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(left, 0)}px`;
    this.tip.style.top = `${y + 18}px`;
  }

  describe(run, box) {
    const { start, end, stage, microbatch, kind, flags } = run.boxes;
    const word = run.kinds[kind[box]];
    const seconds = (ticks) => ticks / run.perSecond;
    const lines = [boxName(run, box), `${kindNames[word] ?? word.toLowerCase().replace('_', ' ')}, stage ${stage[box]}${microbatch[box] >= 0 ? `, microbatch ${microbatch[box]}` : ''}, ${run.lines[run.lineOfBox[box]].name}`,
      `${formatTime(seconds(start[box]), 6)} to ${formatTime(seconds(end[box]), 6)}: ${formatTime(seconds(end[box] - start[box]), 5)}`];
    const message = this.messageInto(run, box);
    if (message >= 0) {
      const { length, bytes } = run.messages;
      const slack = seconds(start[box] - run.messages.start[message] - length[message]);
      lines.push(`its input took ${formatTime(seconds(length[message]))}${bytes[message] > 0 ? ` for ${formatBytes(bytes[message])}` : ''} and came ${slack > 0.5 / run.perSecond ? `${formatTime(slack)} before` : 'just in time'}`);
    }
    if (flags[box] & 1) lines.push('on the critical path');
    return lines;
  }

  /** The message that a box waits for: the activation of the stage before, or the gradient of the one after. */
  messageInto(run, box) {
    const { stage, microbatch, kind } = run.boxes;
    const word = run.kinds[kind[box]];
    const sender = word === 'F' ? stage[box] - 1 : stage[box] + 1;
    const wanted = word === 'F' ? 'SEND_F' : word === 'B' || word === 'I' ? 'SEND_B' : '';
    for (const i of run.messagesByMicrobatch().of(microbatch[box]))
      if (run.messages.stage[i] === sender && run.kinds[run.messages.kind[i]] === wanted) return i;
    return -1;
  }

  describeIdle(run, line, i) {
    const { start, end } = run.idle;
    return [`idle: ${idleReason(run, i)}`, run.lines[line].name,
      `${formatTime(start[i] / run.perSecond, 6)} to ${formatTime(end[i] / run.perSecond, 6)}: ${formatTime((end[i] - start[i]) / run.perSecond, 5)}`];
  }

  pin(run, box) {
    this.view.focus = { run, box };
    this.pinned = true;
    this.said.textContent = this.describe(run, box).join(' · ');
    this.redraw();
  }

  letGo() {
    this.pinned = false;
    this.view.focus = null;
    this.sayNothing();
    this.redraw();
  }

  sayNothing() { this.said.textContent = 'Point at an operation to see its microbatch on every rank; click to keep it. Press ? for the keys.'; }

  // --- keys

  key(event) {
    const { view } = this;
    const pan = (share) => this.moveTo(view.from + share * view.span, view.span, view.scroll);
    const acts = {
      ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), PageUp: () => pan(-0.9), PageDown: () => pan(0.9),
      Home: () => this.moveTo(0, view.span, view.scroll), End: () => this.moveTo(view.length, view.span, view.scroll),
      ArrowUp: () => this.moveTo(view.from, view.span, view.scroll - view.rowHeight), ArrowDown: () => this.moveTo(view.from, view.span, view.scroll + view.rowHeight),
      '+': () => this.zoom(1 / 1.4), '=': () => this.zoom(1 / 1.4), '-': () => this.zoom(1.4), 0: () => this.fit(),
      '[': () => this.rows(-3), ']': () => this.rows(3), c: () => this.toggle('showCritical'), m: () => this.toggle('showMessages'),
      n: () => this.stepMicrobatch(1), p: () => this.stepMicrobatch(-1), '.': () => this.stepBox(1), ',': () => this.stepBox(-1),
      Escape: () => this.letGo(), '?': () => this.help.classList.toggle('open'),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  }

  rows(change) {
    this.view.rowHeight = Math.max(4, Math.min(48, this.view.rowHeight + change));
    this.view.relayout();
    this.resize();
  }

  firstBox() {
    const run = this.view.runs[0];
    const box = run.lines[0].first;
    return run.lines[0].last > box ? { run, box } : null;
  }

  stepBox(step) {
    const focus = this.view.focus ?? this.firstBox();
    if (!focus) return;
    const line = focus.run.lines[focus.run.lineOfBox[focus.box]];
    const box = this.view.focus ? Math.min(Math.max(focus.box + step, line.first), line.last - 1) : focus.box;
    this.pin(focus.run, box);
    this.reveal(focus.run, box);
  }

  /** The same operation of another microbatch. */
  stepMicrobatch(step) {
    const focus = this.view.focus ?? this.firstBox();
    if (!focus) return;
    const { stage, kind, microbatch } = focus.run.boxes;
    const wanted = this.view.focus ? microbatch[focus.box] + step : microbatch[focus.box];
    const box = [...focus.run.byMicrobatch().of(wanted)].find((i) => stage[i] === stage[focus.box] && kind[i] === kind[focus.box]);
    if (box === undefined) return;
    this.pin(focus.run, box);
    this.reveal(focus.run, box);
  }

  reveal(run, box) {
    const { view } = this;
    const start = run.boxes.start[box] / run.perSecond;
    const end = run.boxes.end[box] / run.perSecond;
    if (start < view.from || end > view.from + view.span) this.moveTo((start + end) / 2 - view.span / 2, view.span, view.scroll);
  }
}

export function showTimelines(block) {
  const timeline = new Timeline(block);
  timeline.root.timeline = timeline;  // for tests and for a curious reader's console
  return timeline.root;
}
