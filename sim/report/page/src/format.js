// Numbers as a person reads them.

function digits(value, significant) {
  if (value === 0) return '0';
  const decimals = Math.max(0, Math.min(9, significant - 1 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toFixed(decimals).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

const timeUnits = [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']];
const byteUnits = [[2 ** 50, 'PiB'], [2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];

function scaled(value, units, significant) {
  const size = Math.abs(value);
  const [factor, name] = units.find(([least]) => size >= least * 0.9995) ?? units[units.length - 1];
  return `${digits(value / factor, significant)} ${name}`;
}

export function formatTime(seconds, significant = 5) {
  return seconds === 0 ? '0' : scaled(seconds, timeUnits, significant);
}

export function formatBytes(bytes, significant = 4) {
  return bytes === 0 ? '0' : scaled(bytes, byteUnits, significant);
}

/** `unit` is that of an axis: plain, time, memory, share, money by their words in the page's data. */
export function formatIn(unit, value, significant = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  switch (unit) {
    case 'seconds': return formatTime(value, significant);
    case 'bytes': return formatBytes(value, significant);
    case 'share': return `${digits(100 * value, significant)} %`;
    case 'money': return `$${Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en-US') : digits(value, significant)}`;
    default: return Math.abs(value) >= 1e6 ? value.toExponential(3) : digits(value, significant);
  }
}

/** Marks between `from` and `to`, about `count`, at 1, 2 or 5 times a power of ten, with their label. */
export function timeMarks(from, to, count) {
  const span = to - from;
  if (!(span > 0)) return [];
  const least = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least * 0.999);
  const [factor, unit] = timeUnits.find(([size]) => Math.max(Math.abs(to), step) >= size) ?? timeUnits[3];
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / factor) + 1e-9)));
  const marks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-12); ++i)
    marks.push({ at: i * step, label: `${((i * step) / factor).toFixed(decimals)} ${unit}` });
  return marks;
}
