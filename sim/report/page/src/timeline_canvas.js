// The canvas of a timeline: which lines it shows, where time lies, and what is drawn above the bitmap.
import { formatTime, timeMarks } from './format.js';
import { palette } from './theme.js';
import { boxName, chainOf, firstAfter, inks, linksOf } from './timeline_model.js';
import { Painter, paintColors } from './timeline_paint.js';

export const axisHeight = 24;
const headHeight = 20;
const font = '11px system-ui, sans-serif';

/** Rows of one or several runs below each other: a head per run when there are several. */
export function layoutRows(runs, rowHeight) {
  const rows = [];
  let y = 0;
  for (const run of runs) {
    if (runs.length > 1) {
      rows.push({ run, line: -1, y, height: headHeight });
      y += headHeight;
    }
    run.lines.forEach((line, i) => {
      const height = line.thin ? Math.max(3, Math.round(rowHeight * 0.45)) : rowHeight;
      rows.push({ run, line: i, y, height });
      y += height;
    });
  }
  return { rows, height: y };
}

const darkLabels = new Set(['backward', 'weight', 'collective']);

export class TimelineCanvas {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.runs = [];
    this.from = 0;  // seconds at the left edge
    this.span = 1;  // seconds across
    this.scroll = 0;
    this.rowHeight = 20;
    this.focus = null;  // {run, box} whose microbatch stands out
    this.showCritical = false;
    this.showMessages = false;
    this.frames = 0;
    this.recolor();
  }

  recolor() {
    this.palette = palette();
    this.colors = paintColors(this.palette);
    this.bitmap = null;
  }

  setRuns(runs) {
    this.runs = runs;
    this.length = Math.max(1e-12, ...runs.map((run) => run.length_s));
    this.focus = null;
    this.relayout();
  }

  relayout() {
    this.layout = layoutRows(this.runs, this.rowHeight);
    this.rowOf = new Map();
    for (const row of this.layout.rows) {
      if (!this.rowOf.has(row.run)) this.rowOf.set(row.run, []);
      if (row.line >= 0) this.rowOf.get(row.run)[row.line] = row;
    }
  }

  resize(width, height, ratio) {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context.font = font;
    const longest = this.runs.flatMap((run) => run.lines.filter((line) => !line.thin).map((line) => line.name));
    const sample = longest.reduce((a, b) => (b.length > a.length ? b : a), '');
    this.left = Math.min(Math.ceil(this.context.measureText(sample).width) + 14, Math.max(40, width * 0.3));
    this.bitmap = null;
  }

  get plotWidth() { return Math.max(1, this.width - this.left); }
  get viewHeight() { return this.height - axisHeight; }
  xOf(time) { return this.left + ((time - this.from) / this.span) * this.plotWidth; }
  timeAt(x) { return this.from + ((x - this.left) / this.plotWidth) * this.span; }
  rowAt(y) {
    const at = y + this.scroll;
    if (y >= this.viewHeight) return null;
    const { rows } = this.layout;
    const i = firstAfter(rows.map((row) => row.y), 0, rows.length, at) - 1;
    return rows[i] && rows[i].line >= 0 && at < rows[i].y + rows[i].height ? rows[i] : null;
  }

  *visibleRows() {
    for (const row of this.layout.rows)
      if (row.y + row.height > this.scroll && row.y < this.scroll + this.viewHeight) yield row;
  }

  chosenFor(run) {
    if (!this.focus) return this.showCritical ? (box) => (run.boxes.flags[box] & 1) === 1 : null;
    const { boxes } = this.focus.run;
    const microbatch = boxes.microbatch[this.focus.box];
    if (microbatch < 0) return this.focus.run === run ? (box) => box === this.focus.box : null;
    return (box) => run.boxes.microbatch[box] === microbatch;
  }

  draw() {
    ++this.frames;
    const { context, ratio } = this;
    const width = Math.max(1, Math.round(this.plotWidth * ratio));
    const height = Math.max(1, Math.round(this.viewHeight * ratio));
    if (!this.bitmap || this.bitmap.width !== width || this.bitmap.height !== height)
      this.bitmap = context.createImageData(width, height);
    this.paint(new Painter(this.bitmap, this.colors));
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.palette.paper;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.putImageData(this.bitmap, Math.round(this.left * ratio), 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.plotWidth, this.viewHeight);
    context.clip();
    this.drawLabels();
    if (this.showMessages) this.drawMessages();
    if (this.showCritical) this.drawCritical();
    if (this.focus) this.drawChain();
    context.restore();
    this.drawNames();
    this.drawAxis();
  }

  /** Where only the time at the left edge changed, what is painted moves by whole pixels and the rest is painted. */
  paint(painter) {
    const state = [this.bitmap, this.colors, this.span, this.scroll, this.layout, this.focus, this.showCritical, this.plotWidth];
    const pixel = this.span / painter.width;
    const moved = this.painted && state.every((value, i) => value === this.painted.state[i]) ? Math.round((this.from - this.painted.from) / pixel) : painter.width;
    const columns = painter.shift(moved);
    const from = Math.abs(moved) < painter.width ? this.painted.from + moved * pixel : this.from;
    this.painted = { state, from };
    if (columns[0] === columns[1]) return;
    painter.clear(columns);
    for (const row of this.visibleRows()) if (row.line >= 0) this.paintRow(painter, row, from);
  }

  paintRow(painter, row, left) {
    const { run } = row;
    const y0 = Math.max(0, Math.round((row.y - this.scroll) * this.ratio));
    const y1 = Math.min(painter.height, Math.round((row.y - this.scroll + row.height - (row.height > 6 ? 2 : 0)) * this.ratio));
    if (y1 <= y0) return;
    const from = left * run.perSecond;
    const scale = painter.width / (this.span * run.perSecond);
    painter.line(run, row.line, y0, y1, from, scale, this.chosenFor(run));
    if (y1 - y0 > 5) painter.idle(run, row.line, y0, y1, from, scale);
  }

  *visibleBoxes(row, least) {
    const { run } = row;
    const { start, end } = run.boxes;
    const { first, last } = run.lines[row.line];
    const from = this.from * run.perSecond;
    const until = (this.from + this.span) * run.perSecond;
    const ticks = (least * this.span * run.perSecond) / this.plotWidth;
    let skipped = 0;
    for (let i = firstAfter(end, first, last, from); i < last && start[i] < until; ++i) {
      if (end[i] - start[i] >= ticks) yield i;
      else if (++skipped > 3000) return;  // too dense for labels anyway
    }
  }

  drawLabels() {
    const { context } = this;
    context.font = font;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (const row of this.visibleRows()) {
      if (row.line < 0 || row.height < 12) continue;
      const { run } = row;
      const chosen = this.chosenFor(run);
      for (const box of this.visibleBoxes(row, 13)) {
        const x0 = Math.max(this.left, this.xOf(run.boxes.start[box] / run.perSecond));
        const x1 = Math.min(this.width, this.xOf(run.boxes.end[box] / run.perSecond));
        const number = String(run.boxes.microbatch[box] >= 0 ? run.boxes.microbatch[box] : '');
        const whole = boxName(run, box);
        const text = (run.manyChunks || x1 - x0 > 60) && 6.6 * whole.length + 6 <= x1 - x0 ? whole : number;
        if (6.6 * text.length + 3 > x1 - x0) continue;
        const lit = !chosen || chosen(box);
        context.globalAlpha = lit ? 1 : 0.35;
        context.fillStyle = lit && darkLabels.has(inks[run.ink[box]]) ? '#ffffff' : lit ? '#111111' : this.palette.ink;
        context.fillText(text, (x0 + x1) / 2, row.y - this.scroll + (row.height - 1) / 2);
      }
    }
    context.globalAlpha = 1;
  }

  centre(run, box) {
    const row = this.rowOf.get(run)[run.lineOfBox[box]];
    return row.y - this.scroll + (row.height - 2) / 2;
  }

  connect(run, a, b) {
    const { start, end } = run.boxes;
    const x0 = this.xOf(end[a] / run.perSecond);
    const x1 = this.xOf(start[b] / run.perSecond);
    if ((x0 < this.left && x1 < this.left) || (x0 > this.width && x1 > this.width)) return;
    this.context.moveTo(x0, this.centre(run, a));
    this.context.lineTo(x1, this.centre(run, b));
  }

  outline(run, box) {
    const row = this.rowOf.get(run)[run.lineOfBox[box]];
    const x0 = this.xOf(run.boxes.start[box] / run.perSecond);
    const x1 = this.xOf(run.boxes.end[box] / run.perSecond);
    if (x1 < this.left || x0 > this.width) return;
    this.context.rect(x0 + 0.5, row.y - this.scroll + 0.5, Math.max(x1 - x0 - 1, 1.5), row.height - 3);
  }

  drawChain() {
    const { run, box } = this.focus;
    const { context } = this;
    const chain = chainOf(run, box);
    const at = chain.indexOf(box);
    for (const [after, style] of [[false, []], [true, [4, 3]]]) {
      context.beginPath();
      for (const [a, b] of linksOf(run, chain)) if ((chain.indexOf(a) >= at) === after) this.connect(run, a, b);
      context.setLineDash(style);
      context.lineWidth = 1.6;
      context.strokeStyle = this.palette.link;
      context.stroke();
    }
    context.setLineDash([]);
    context.beginPath();
    for (const link of chain) this.outline(run, link);
    context.lineWidth = 1;
    context.stroke();
    context.beginPath();
    this.outline(run, box);
    context.lineWidth = 3;
    context.stroke();
  }

  drawCritical() {
    const { context } = this;
    context.strokeStyle = this.palette.critical;
    for (const run of this.runs) {
      const path = run.criticalByTime ??= run.critical.slice().sort((a, b) => run.boxes.start[a] - run.boxes.start[b]);
      context.beginPath();
      let drawn = 0;
      let lastX = -1e9;
      for (let i = 0; i < path.length; ++i) {
        const x = this.xOf(run.boxes.end[path[i]] / run.perSecond);
        if (x < this.left - 4000 || x > this.width + 4000 || drawn > 6000) continue;
        const turns = i + 1 < path.length && run.lineOfBox[path[i]] !== run.lineOfBox[path[i + 1]];
        if (turns && Math.abs(x - lastX) > 1.5) {
          this.connect(run, path[i], path[i + 1]);
          lastX = x;
          ++drawn;
        }
        if (x - this.xOf(run.boxes.start[path[i]] / run.perSecond) > 3) this.outline(run, path[i]);
      }
      context.lineWidth = 2;
      context.stroke();
    }
  }

  drawMessages() {
    const { context } = this;
    for (const run of this.runs) {
      const { start, length, from, to, kind } = run.messages;
      const begin = this.from * run.perSecond;
      const until = (this.from + this.span) * run.perSecond;
      context.beginPath();
      let drawn = 0;
      const rows = this.rowOf.get(run);
      for (let i = 0; i < start.length && drawn < 4000; ++i) {
        if (start[i] + length[i] < begin || start[i] > until) continue;
        const source = rows[run.lineOfRank.get(from[i])];
        const target = rows[run.lineOfRank.get(to[i])];
        if (!source || !target) continue;
        const down = target.y > source.y;
        ++drawn;
        context.moveTo(this.xOf(start[i] / run.perSecond), source.y - this.scroll + (down ? source.height - 2 : 0));
        context.lineTo(this.xOf((start[i] + length[i]) / run.perSecond), target.y - this.scroll + (down ? 0 : target.height - 2));
      }
      context.lineWidth = 1;
      context.strokeStyle = this.palette.transfer;
      if (drawn < 4000) context.stroke();
      this.tooManyMessages = drawn >= 4000;
    }
  }

  drawNames() {
    const { context } = this;
    context.textBaseline = 'middle';
    context.font = font;
    let lastY = -1e9;
    for (const row of this.visibleRows()) {
      const y = row.y - this.scroll + row.height / 2;
      if (row.line < 0) {
        context.textAlign = 'left';
        context.fillStyle = this.palette.ink;
        context.font = 'bold 12px system-ui, sans-serif';
        context.fillText(`${row.run.name}  ${formatTime(row.run.length_s)}`, 4, y);
        context.font = font;
        lastY = y;
        continue;
      }
      if (y - lastY < 11 || y > this.viewHeight - 4 || row.run.lines[row.line].thin) continue;
      lastY = y;
      context.textAlign = 'right';
      context.fillStyle = this.palette.soft;
      context.fillText(row.run.lines[row.line].name, this.left - 6, y - 1);
    }
  }

  drawAxis() {
    const { context } = this;
    const y = this.viewHeight;
    context.fillStyle = this.palette.paper;
    context.fillRect(0, y, this.width, axisHeight);
    context.strokeStyle = this.palette.rule;
    context.fillStyle = this.palette.soft;
    context.textBaseline = 'top';
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(this.left, y + 0.5);
    context.lineTo(this.width, y + 0.5);
    for (const mark of timeMarks(this.from, this.from + this.span, this.plotWidth / 90)) {
      const x = Math.round(this.xOf(mark.at)) + 0.5;
      context.moveTo(x, y);
      context.lineTo(x, y + 4);
      context.textAlign = x < this.left + 20 ? 'left' : x > this.width - 30 ? 'right' : 'center';
      context.fillText(mark.label, x, y + 6);
    }
    context.stroke();
  }
}
