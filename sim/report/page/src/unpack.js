// Columns as sim/report/page_json.cpp packs them: base64 of a zlib stream of byte planes.

async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function joinPlanes(planes, count, width) {
  if (width === 1) return planes;
  const bytes = new Uint8Array(count * width);
  for (let plane = 0; plane < width; ++plane) {
    const from = plane * count;
    for (let i = 0, to = plane; i < count; ++i, to += width) bytes[to] = planes[from + i];
  }
  return bytes;
}

function words32(bytes, count) {
  if (littleEndian) return new Uint32Array(bytes.buffer, 0, count);
  const view = new DataView(bytes.buffer);
  return Uint32Array.from({ length: count }, (_, i) => view.getUint32(4 * i, true));
}

function doubles(bytes, count) {
  if (littleEndian) return new Float64Array(bytes.buffer, 0, count);
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: count }, (_, i) => view.getFloat64(8 * i, true));
}

const littleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** A typed array from a packed column; a plain list is returned as it is. */
export async function unpack(column) {
  if (Array.isArray(column)) return column;
  const count = column.n;
  if ('u8' in column) return inflate(column.u8);
  if ('u32' in column) return words32(joinPlanes(await inflate(column.u32), count, 4), count);
  if ('f64' in column) return doubles(joinPlanes(await inflate(column.f64), count, 8), count);
  const steps = words32(joinPlanes(await inflate(column.d32), count, 4), count);
  for (let i = 1; i < count; ++i) steps[i] += steps[i - 1];
  return new Int32Array(steps.buffer, steps.byteOffset, count);
}

/** Every column of an object, side by side. */
export async function unpackAll(columns) {
  const names = Object.keys(columns);
  const values = await Promise.all(names.map((name) => unpack(columns[name])));
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}
