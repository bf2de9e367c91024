// Colours by role. Fills of operations have clearly different grey values, so they survive grey printing.

const light = {
  ink: '#1a1a1a', paper: '#ffffff', soft: '#5f5f5f', rule: '#d8d8d8', panel: '#f6f6f6',
  forward: '#b4d6f4', backward: '#35805a', input: '#e58f43', weight: '#47226a', other: '#8a8a8a',
  collective: '#b0584f', exchange: '#d8c24a',
  idle: '#f0f0f0', warmup: '#e3c16f', steady: '#c9733d', cooldown: '#9fb7a3', transfer: '#8d5aa8',
  busy: '#3b6ea5', critical: '#c2185b', link: '#1a1a1a', limit: '#b3261e',
  parameters: '#3b6ea5', gradients: '#2f7351', optimizer: '#e3c16f', activations: '#c9733d',
};
const dark = {
  ...light,
  ink: '#e6e6e6', paper: '#161616', soft: '#a3a3a3', rule: '#3a3a3a', panel: '#202020',
  forward: '#8fbde6', backward: '#3c8f66', weight: '#9468b5', idle: '#242424', other: '#8a8a8a',
  busy: '#6f9fd0', transfer: '#a877c4', cooldown: '#86a38b', critical: '#ff5c9a', link: '#f2f2f2', limit: '#ff8a80',
};

const query = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();
let chosen = '';  // what the reader chose on the page, or nothing
let printing = false;

export function palette() {
  const isDark = chosen ? chosen === 'dark' : query.matches;
  return isDark && !printing ? dark : light;
}
export function isPrinting() { return printing; }

function apply() {
  document.documentElement.dataset.theme = palette() === dark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

/** Calls `listener` whenever colours change, printing included. */
export function onTheme(listener) { listeners.add(listener); }

export function switchTheme() {
  chosen = palette() === dark ? 'light' : 'dark';
  apply();
}

query.addEventListener('change', apply);
window.addEventListener('beforeprint', () => { printing = true; apply(); });
window.addEventListener('afterprint', () => { printing = false; apply(); });
document.documentElement.dataset.theme = palette() === dark ? 'dark' : 'light';

/** Series by order, tellable apart by people who see fewer colours. */
export const sequence = ['#3b6ea5', '#c9733d', '#2f7351', '#8d5aa8', '#b79a2b', '#b3261e', '#4aa3a2', '#7a7a7a'];

/** From the first of many to the last: dark blue to yellow. */
export function ramp(share) {
  const stops = [[59, 76, 140], [43, 124, 142], [44, 163, 110], [214, 170, 40]];
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const left = Math.min(Math.floor(place), stops.length - 2);
  const mix = stops[left].map((value, i) => Math.round(value + (stops[left + 1][i] - value) * (place - left)));
  return `rgb(${mix.join(',')})`;
}
