// The part of time that a page's timeline shows, for charts that follow it.
const listeners = new Set();
let timer = 0;

export function onView(listener) { listeners.add(listener); }

/** Tells the followers a moment after the last change, so that panning stays smooth. */
export function announceView(view) {
  clearTimeout(timer);
  timer = setTimeout(() => listeners.forEach((listener) => listener(view)), 120);
}
