// Chrome traces in a viewer that others wrote.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, expectEqual, run } from './helpers.mjs';

const speedscope = dirname(createRequire(import.meta.url).resolve('speedscope/package.json'));

/** Opens a trace as speedscope's own command does, and has it saved again in its own format. */
async function reopened(world, file) {
  const page = await world.browser.newPage({ acceptDownloads: true });
  page.setDefaultTimeout(120_000);
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  const loader = `${file}.js`;
  writeFileSync(loader, `speedscope.loadFileFromBase64("trace.json", "${readFileSync(file).toString('base64')}")`);
  await page.goto(`file://${speedscope}/dist/release/index.html#localProfilePath=${loader}`);
  await page.waitForFunction(() => document.querySelectorAll('canvas').length > 1);
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Control+s')]);
  const saved = JSON.parse(readFileSync(await download.path(), 'utf8'));
  await page.screenshot({ path: `${file}.png` });
  await page.close();
  expectEqual(faults, [], 'complaints of speedscope');
  return saved;
}

function slicesOf(file) {
  const bytes = readFileSync(file);
  const trace = JSON.parse(file.endsWith('.gz') ? gunzipSync(bytes) : bytes);
  return trace.traceEvents.filter((event) => event.ph === 'X');
}

async function check(world, name, words) {
  const file = `${world.out}/${name}`;
  run(world, ...words, '--trace', file);
  const slices = slicesOf(file);
  const saved = await reopened(world, file);
  const tracks = new Set(slices.map((slice) => `${slice.pid} ${slice.tid}`));
  expectEqual(saved.profiles.length, tracks.size, 'tracks in speedscope');
  const opened = saved.profiles.reduce((sum, profile) => sum + profile.events.filter((event) => event.type === 'O').length, 0);
  const closed = saved.profiles.reduce((sum, profile) => sum + profile.events.filter((event) => event.type === 'C').length, 0);
  expect(slices.length > 0 && opened === slices.length && closed === slices.length, `${opened} slices opened and ${closed} closed instead of ${slices.length}`);
  return `${slices.length} slices on ${tracks.size} tracks`;
}

export const speedscopeShowsEverySliceOfARun = (world) => check(world, 'run.json', ['run', 'scenarios/infiniband-gpt3-175b.yaml', '--quiet']);
export const speedscopeOpensAPackedTrace = (world) => check(world, 'run.json.gz', ['run', 'scenarios/zero-bubble-1.5b.yaml', '--quiet']);
export const speedscopeOpensACoarseTrace = (world) => check(world, 'coarse.json', ['run', 'scenarios/infiniband-gpt3-175b.yaml', '--quiet', '--trace-detail', 'coarse']);
export const speedscopeOpensAComparison = (world) =>
  check(world, 'compare.json', ['compare', 'scenarios/zero-bubble-1.5b.yaml', '--engine', 'longest-path', '--schedules', '1f1b,zb-h1']);
