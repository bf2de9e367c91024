// Paints lines of a run into a bitmap. Where boxes are narrower than a pixel, a pixel shows the exact shares of the
// time it stands for, from prefix sums, so a frame costs pixels and not operations.
import { firstAfter, inks } from './timeline_model.js';

function packed(color) {
  const value = parseInt(color.slice(1), 16);
  return (255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16);
}

function mix(a, b, share) {
  let result = 255 << 24;
  for (let shift = 0; shift < 24; shift += 8) {
    const from = (a >>> shift) & 255;
    result |= Math.round(from + (((b >>> shift) & 255) - from) * share) << shift;
  }
  return result;
}

/** Colours as the bitmap wants them, for a palette. */
export function paintColors(colors) {
  const fill = inks.map((ink) => packed(colors[ink]));
  const idle = packed(colors.idle);
  const paper = packed(colors.paper);
  const line = ['warmup', 'steady', 'cooldown', 'transfer'].map((role) => mix(idle, packed(colors[role]), 0.85));
  return {
    idle, paper, fill, line, edge: fill.map((color) => mix(color, paper, 0.75)),
    hatch: fill.map((color) => mix(color, 255 << 24, 0.22)),
    dim: fill.map((color) => mix(color, idle, 0.78)), dimHatch: fill.map((color) => mix(color, idle, 0.7)),
  };
}

/** How many pixels of each ink a column of `height` has, from the shares of its time. */
const heights = new Int32Array(inks.length);
const parts = new Float64Array(inks.length);

export class Painter {
  constructor(bitmap, colors) {
    this.pixels = new Uint32Array(bitmap.data.buffer);
    this.width = bitmap.width;
    this.height = bitmap.height;
    this.colors = colors;
  }

  /** Moves everything by whole pixels; returns the columns that are to be painted anew. */
  shift(pixels) {
    if (Math.abs(pixels) >= this.width) return [0, this.width];
    if (pixels > 0) this.pixels.copyWithin(0, pixels);  // what wraps into the next row is painted anew
    else if (pixels < 0) this.pixels.copyWithin(-pixels, 0, this.pixels.length + pixels);
    return pixels > 0 ? [this.width - pixels, this.width] : [0, -pixels];
  }

  /** Everything below is about these columns alone, and they are empty. */
  clear(columns) {
    this.columns = columns;
    this.fill(columns[0], columns[1], 0, this.height, this.colors.paper);
  }

  fill(x0, x1, y0, y1, color) {
    for (let y = y0; y < y1; ++y) this.pixels.fill(color, y * this.width + x0, y * this.width + x1);
  }

  /**
   * A line of a run between y0 and y1 (whole pixels); `scale` is pixels per tick, `from` the tick at x = 0, `chosen` the
   * boxes that are not dimmed (a predicate) or null.
   */
  line(run, line, y0, y1, from, scale, chosen) {
    const { first, last } = run.lines[line];
    const { start, end } = run.boxes;
    const left = Math.max(this.columns[0], Math.floor(-from * scale));
    const right = Math.min(this.columns[1], Math.ceil((run.length_s * run.perSecond - from) * scale));
    if (right <= left) return;
    this.fill(left, right, y0, y1, this.colors.idle);
    let box = firstAfter(end, first, last, from + left / scale);
    for (let x = left; x < right && box < last;) {
      const edge = from + (x + 1) / scale;
      const begins = (start[box] - from) * scale;
      if (begins >= x + 1) {  // idle up to the box
        x = Math.floor(begins);
        continue;
      }
      const ends = (end[box] - from) * scale;
      if (begins <= x && ends >= x + 1) {  // whole columns of one box
        const stop = Math.min(right, Math.floor(ends));
        this.solid(run, box, x, stop, y0, y1, ends - begins >= 5, Math.floor(begins) === x, chosen, from * scale);
        x = stop;
        if (ends <= x) ++box;
        continue;
      }
      const next = firstAfter(end, box, last, edge);
      this.column(run, box, next, last, x, y0, y1, from + x / scale, edge, chosen);
      box = next;
      ++x;
    }
  }

  solid(run, box, x0, x1, y0, y1, wide, begins, chosen, offset) {
    const ink = run.ink[box];
    const { colors, pixels, width } = this;
    const dimmed = chosen !== null && !chosen(box);
    this.fill(x0, x1, y0, y1, dimmed ? colors.dim[ink] : colors.fill[ink]);
    if (run.boxes.chunk[box] % 2 === 1 && wide) {
      const stripe = dimmed ? colors.dimHatch[ink] : colors.hatch[ink];
      const shift = Math.floor(offset) % 7;
      for (let y = y0; y < y1; ++y)
        for (let x = x0 + (((-(x0 + shift + y) % 7) + 7) % 7); x < x1; x += 7) {
          pixels[y * width + x] = stripe;
          if (x + 1 < x1) pixels[y * width + x + 1] = stripe;
        }
    }
    if (wide && begins) this.fill(x0, x0 + 1, y0, y1, dimmed ? colors.dim[ink] : colors.edge[ink]);
  }

  /** One pixel wide: the inks stand on each other, each as high as its share of the time. */
  column(run, box, next, last, x, y0, y1, from, edge, chosen) {
    const { start, end } = run.boxes;
    const { colors, pixels, width } = this;
    let lit = false;
    for (let ink = 0; ink < inks.length; ++ink) {
      const sum = run.sums[ink];
      parts[ink] = 0;
      if (!sum) continue;
      const top = next < last ? sum[next] : sum[next - 1] + (run.ink[next - 1] === ink ? end[next - 1] - start[next - 1] : 0);
      parts[ink] = top - sum[box];
    }
    if (start[box] < from) parts[run.ink[box]] -= from - start[box];
    if (next < last && start[next] < edge) parts[run.ink[next]] += edge - start[next];
    if (chosen) for (let i = box; i <= next && i < last && i < box + 400 && !lit; ++i) lit = start[i] < edge && chosen(i);
    const span = edge - from;
    let sum = 0;
    let done = 0;
    let y = y1;
    for (let ink = 0; ink < inks.length; ++ink) {
      sum += parts[ink];
      heights[ink] = Math.round((sum / span) * (y1 - y0)) - done;
      done += heights[ink];
      const color = chosen && !lit ? colors.dim[ink] : colors.fill[ink];
      for (let stop = Math.max(y - heights[ink], y0); y > stop;) pixels[--y * width + x] = color;
    }
  }

  /** Why the line idles, as a bar in the middle of stretches that are wide enough. */
  idle(run, line, y0, y1, from, scale) {
    const { firstIdle, lastIdle } = run.lines[line];
    const { start, end, code } = run.idle;
    const middle = (y0 + y1) >> 1;
    const half = Math.max(1, Math.round((y1 - y0) / 12));
    const [left, right] = this.columns;
    const until = from + right / scale;
    let i = firstAfter(end, firstIdle, lastIdle, from + left / scale);
    for (let budget = 2 * this.width; i < lastIdle && start[i] < until && budget > 0; ++i, --budget) {
      const begins = Math.round((start[i] - from) * scale) + 1;
      const ends = Math.round((end[i] - from) * scale) - 1;
      if (ends - begins < 2) continue;
      const cause = code[i] >> 2;
      const color = this.colors.line[cause === 1 ? 3 : code[i] & 3];
      const x0 = Math.max(left, begins);
      const x1 = Math.min(right, ends);
      if (cause !== 2) this.fill(x0, x1, middle - half, middle + half, color);
      else for (let x = x0; x < x1; ++x) if ((x - begins) % 4 < 2) this.fill(x, x + 1, middle - half, middle + half, color);
    }
  }
}
