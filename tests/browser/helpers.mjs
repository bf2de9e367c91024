import { execFileSync } from 'node:child_process';

/** Runs pipecast in the repository's folder. */
export function run(world, ...words) {
  execFileSync(world.pipecast, words, { cwd: world.repository, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Opens a report; `faults` collects whatever the console or the page complains about. */
export async function open(world, file, options = {}) {
  const page = await world.browser.newPage({ viewport: { width: options.width ?? 1280, height: 900 }, colorScheme: options.scheme ?? 'light' });
  const faults = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) faults.push(message.text()); });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) faults.push(`fetches ${request.url()}`); });
  page.setDefaultTimeout(120_000);
  await page.goto(`file://${file}`, { waitUntil: 'commit' });
  await page.waitForSelector('.timeline[data-ready]');
  await page.waitForFunction(() => [...document.querySelectorAll('.chart')].every((chart) => chart.dataset.ready || !chart.style.height));
  return { page, faults };
}

export function expect(condition, sentence) {
  if (!condition) throw new Error(sentence);
}
export function expectEqual(seen, wanted, what) {
  expect(JSON.stringify(seen) === JSON.stringify(wanted), `${what}: ${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`);
}

/** What the timeline shows: seconds at the left edge, across, and how many boxes it holds. */
export const shown = (page) => page.$eval('.timeline', (node) => ({ from: +node.dataset.from, span: +node.dataset.span, boxes: +node.dataset.boxes }));

/** Where the middle of an operation is on the screen, by its name as in 3F7. */
export const placeOf = (page, name) => page.$eval('.timeline', (node, wanted) => {
  const { view } = node.timeline;
  const [run] = view.runs;
  const { start, end, stage, kind, microbatch } = run.boxes;
  const box = start.findIndex((_, i) => `${stage[i]}${run.kinds[kind[i]]}${microbatch[i]}` === wanted);
  const area = view.canvas.getBoundingClientRect();
  return { x: area.x + view.xOf((start[box] + end[box]) / 2 / run.perSecond), y: area.y + view.centre(run, box) };
}, name);

/** How many different colours a canvas shows: a blank one has one. */
export const colors = (page, selector) => page.$eval(selector, (canvas) => {
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(pixels).size;
});
