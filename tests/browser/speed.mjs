// How fast the timeline pans, 60 drawings a second at least, and how large the report of a huge run is. The bounds are far above what a quiet
// machine takes, so that a busy one does not fail; the figures are printed.
import { statSync } from 'node:fs';
import { expect, open, run, shown } from './helpers.mjs';

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

/** Pans for a while with the pointer, as a reader does; milliseconds per drawing and per frame. */
async function pan(page, frames) {
  return page.$eval('.timeline', async (node, count) => {
    const { timeline } = node;
    timeline.drawTimes = [];
    const ticks = [];
    let last = performance.now();
    for (let i = 0; i < count; ++i) {
      const { view } = timeline;
      timeline.moveTo(view.from + (i % 120 < 60 ? 0.004 : -0.004) * view.span, view.span, view.scroll);
      await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });
      ticks.push((performance.now() - last) / 2);
      last = performance.now();
    }
    return { draws: timeline.drawTimes, frames: ticks };
  }, frames);
}

async function measure(world, name, words, leastBoxes) {
  const file = `${world.out}/${name}.html`;
  run(world, 'run', 'scenarios/zero-bubble-1.5b.yaml', '--quiet', '--engine', 'longest-path', ...words, '--report', file);
  const megabytes = statSync(file).size / 1e6;
  const begin = performance.now();
  const { page, faults } = await open(world, file);
  const opened = (performance.now() - begin) / 1000;
  expect((await shown(page)).boxes >= leastBoxes, 'the timeline lacks operations');
  const said = [];
  const all = [];
  for (const [what, factor] of [['whole step', 1.001], ['a tenth', 0.1], ['a thousandth', 0.001]]) {
    await page.$eval('.timeline', (node, share) => { const { view } = node.timeline; node.timeline.moveTo(view.length * 0.4, view.length * share, 0); }, factor);
    const { draws } = await pan(page, 60);
    all.push(...draws);
    said.push(`${what} ${median(draws).toFixed(1)} ms (least ${Math.min(...draws).toFixed(1)})`);
  }
  expect(faults.length === 0, `complaints: ${faults}`);
  expect(median(all) < 1000 / 60, `a drawing takes ${median(all)} ms`);
  await page.screenshot({ path: `${world.out}/${name}.png` });
  await page.close();
  return { megabytes, text: `${megabytes.toFixed(2)} MB, opened in ${opened.toFixed(1)} s; a drawing while panning: ${said.join(', ')}` };
}

export async function twoHundredThousandOperationsPan(world) {
  return (await measure(world, 'large', ['--set', 'pipeline.ranks=64', '--set', 'pipeline.microbatches=1050'], 200_000)).text;
}

export async function aMillionTasksStayBelowThirtyMegabytes(world) {
  const { megabytes, text } = await measure(world, 'huge', ['--set', 'pipeline.ranks=64', '--set', 'pipeline.microbatches=3200'], 600_000);
  expect(megabytes < 30, `${megabytes} MB`);
  return text;
}
