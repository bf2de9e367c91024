// Reports: drawn, zoomed, panned, asked, by pointer and by keys, light, dark, narrow and printed.
import { readFileSync } from 'node:fs';
import { colors, expect, expectEqual, open, placeOf, run, shown } from './helpers.mjs';

const scenario = 'scenarios/infiniband-gpt3-175b.yaml';

function report(world) {
  const file = `${world.out}/run.html`;
  if (!world.hasReport) run(world, 'run', scenario, '--quiet', '--report', file);
  world.hasReport = true;
  return file;
}

export async function everyPartOfAReportIsDrawn(world) {
  const { page, faults } = await open(world, report(world));
  const titles = await page.$$eval('h2', (heads) => heads.map((head) => head.textContent));
  for (const title of ['Timeline', 'From the ideal step to the predicted one', 'Where the time of each rank goes', 'Critical path',
    'Memory of each rank over the step', 'Peak memory of each rank by component', 'Utilization of the busiest links', 'Ranks', 'Stages', 'The scenario that made it'])
    expect(titles.includes(title), `no part is called ${title}`);
  expect((await colors(page, '.timeline canvas')) > 6, 'the timeline is blank');
  const charts = await page.$$('.chart canvas');
  expect(charts.length >= 5, `${charts.length} charts`);
  for (const canvas of charts)
    expect((await canvas.evaluate((node) => new Set(new Uint32Array(node.getContext('2d').getImageData(0, 0, node.width, node.height).data.buffer)).size)) > 4, 'a chart is blank');
  expectEqual((await shown(page)).boxes, 8 * 3 * 64 * 2, 'operations on the timeline');
  expectEqual(faults, [], 'complaints');
  await page.screenshot({ path: `${world.out}/run-1280.png`, fullPage: true });
  await page.close();
}

export async function thePointerZoomsPansAndAsks(world) {
  const { page, faults } = await open(world, report(world));
  const whole = await shown(page);
  const box = await page.locator('.timeline canvas').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  await page.keyboard.down('Control');
  for (let i = 0; i < 8; ++i) await page.mouse.wheel(0, -240);
  await page.keyboard.up('Control');
  await page.waitForTimeout(100);
  const near = await shown(page);
  expect(near.span < whole.span / 20, `zooming left a span of ${near.span} s`);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 200, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForTimeout(100);
  const panned = await shown(page);
  expect(panned.from > near.from && Math.abs(panned.span - near.span) < 1e-9, 'dragging did not pan');
  await page.getByRole('button', { name: 'show the whole step' }).click();
  await page.waitForTimeout(100);
  expectEqual(await shown(page), whole, 'after whole step');
  const place = await placeOf(page, '5F0');
  await page.mouse.move(place.x, place.y);
  await page.waitForTimeout(100);
  expectEqual(await page.locator('.tip b').textContent(), '5F0', 'what the tip names');
  expect(/stage 5, microbatch 0, rank 5/.test(await page.locator('.tip').textContent()), 'the tip does not say where');
  await page.mouse.click(place.x, place.y);
  expect((await page.locator('.said').textContent()).startsWith('5F0'), 'a click does not keep the operation');
  expectEqual(faults, [], 'complaints');
  await page.close();
}

export async function keysDoWhatThePointerDoes(world) {
  const { page, faults } = await open(world, report(world));
  const whole = await shown(page);
  await page.locator('.timeline canvas').focus();
  for (const key of ['+', '+', '+', 'ArrowRight', 'c', 'm']) await page.keyboard.press(key);
  await page.waitForTimeout(100);
  const near = await shown(page);
  expect(near.span < whole.span / 2 && near.from > 0, 'plus and arrow do nothing');
  expectEqual(await page.$$eval('.bar button[aria-pressed=true]', (list) => list.map((one) => one.textContent)), ['critical path', 'messages'], 'pressed buttons');
  await page.keyboard.press('.');
  await page.keyboard.press('n');
  expect((await page.locator('.said').textContent()).startsWith('0F1 '), `n leads to ${await page.locator('.said').textContent()}`);
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  await page.waitForTimeout(100);
  expectEqual((await shown(page)).span, whole.span, 'span after 0');
  expect(await page.locator('.said').textContent().then((text) => text.startsWith('Point at')), 'Escape does not let go');
  await page.keyboard.press('?');
  expect(await page.locator('.keys').isVisible(), 'the list of keys does not open');
  expectEqual(faults, [], 'complaints');
  await page.close();
}

export async function tablesSortByTheirNumbers(world) {
  const { page } = await open(world, report(world));
  const table = page.locator('.block-table', { hasText: 'Ranks' }).first();
  const peaks = () => table.locator('tbody tr td:nth-child(12)').allTextContents();
  await table.getByRole('button', { name: 'peak' }).click();
  const ascending = await peaks();
  const numbers = ascending.map(parseFloat);
  expectEqual(numbers, [...numbers].sort((a, b) => a - b), 'ascending peaks');
  await table.getByRole('button', { name: 'peak' }).click();
  expect(parseFloat((await peaks())[0]) === Math.max(...numbers), 'a second click does not turn the order');
  await page.close();
}

export async function aNarrowScreenAndDarknessWork(world) {
  for (const scheme of ['light', 'dark']) {
    const { page, faults } = await open(world, report(world), { width: 390, scheme });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(overflow <= 0, `the page is ${overflow} px wider than 390`);
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expectEqual(paper, scheme === 'dark' ? 'rgb(22, 22, 22)' : 'rgb(255, 255, 255)', 'background');
    await page.getByRole('button', { name: 'switch between light and dark' }).click();
    expect((await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) !== paper, 'the switch does nothing');
    expectEqual(faults, [], 'complaints');
    await page.screenshot({ path: `${world.out}/run-390-from-${scheme}.png`, fullPage: true });
    await page.close();
  }
}

/** Grey value of each kind of operation in print, as papers and laser printers show them. */
export async function kindsSurviveGreyPrinting(world) {
  const { page } = await open(world, report(world), { scheme: 'light' });
  const greys = await page.$$eval('.legend i', (list) => list.slice(0, 3).map((one) => {
    const [r, g, b] = getComputedStyle(one).backgroundColor.match(/\d+/g).map(Number);
    return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
  }));
  const sorted = [...greys].sort((a, b) => a - b);
  expect(greys.length === 3 && sorted.every((grey, i) => i === 0 || grey - sorted[i - 1] > 0.13), `grey values ${greys}`);
  await page.close();
}

export async function thePageCanBePrinted(world) {
  const { page, faults } = await open(world, report(world), { scheme: 'dark' });
  const pdf = await page.pdf({ format: 'A4', printBackground: true, path: `${world.out}/run.pdf` });
  expect(pdf.length > 50_000, `a PDF of ${pdf.length} bytes`);
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.waitForTimeout(500);
  // Below a small change of the waterfall there is nothing: patterns are for bars only.
  const waterfall = page.locator('.block-chart', { hasText: 'From the ideal step' }).locator('canvas').first();
  const hatched = await waterfall.evaluate((canvas) => {
    const ratio = canvas.height / canvas.clientHeight;
    const rows = (canvas.clientHeight - 50) / 34;
    const plot = canvas.clientHeight - 12 - 30;
    const middle = 12 + (1.5 / rows) * plot;
    const [left, width, height] = [0.3 * canvas.width, 0.2 * canvas.width, 10 * ratio].map(Math.round);
    const area = canvas.getContext('2d').getImageData(left, Math.round((middle - 5) * ratio), width, height);
    const pixels = new Uint32Array(area.data.buffer);
    let columns = 0;
    for (let x = 0; x < width; ++x) {
      const strip = new Set(Array.from({ length: height }, (_, y) => pixels[y * width + x]));
      columns += strip.size > 1 ? 1 : 0;
    }
    return columns;
  });
  expectEqual(hatched, 0, 'hatched columns where the waterfall is empty');
  expectEqual(faults, [], 'complaints');
  await page.close();
}

export async function aComparisonShowsTheSchedulesThatAreChosen(world) {
  const file = `${world.out}/compare.html`;
  run(world, 'compare', 'scenarios/zero-bubble-1.5b.yaml', '--engine', 'longest-path', '--schedules', '1f1b,zb-h1,zb-h2,gpipe', '--report', file);
  const { page, faults } = await open(world, file);
  const before = (await shown(page)).boxes;
  await page.getByRole('checkbox', { name: 'gpipe' }).check();
  await page.waitForFunction((boxes) => +document.querySelector('.timeline').dataset.boxes > boxes, before);
  await page.locator('#section').selectOption({ label: 'zb-h1' });
  expectEqual(await page.locator('#section option:checked').textContent(), 'zb-h1', 'details');
  expectEqual(faults, [], 'complaints');
  await page.screenshot({ path: `${world.out}/compare-1280.png`, fullPage: true });
  await page.close();
}

export async function textOfTheUserStaysText(world) {
  const file = `${world.out}/escape.html`;
  const name = '</script><script>window.broken=1</script><img src=x onerror=window.broken=1>';
  run(world, 'run', 'scenarios/zero-bubble-1.5b.yaml', '--quiet', '--report', file, '--set', `name=${JSON.stringify(name)}`);
  const { page, faults } = await open(world, file);
  expectEqual(await page.evaluate(() => window.broken), undefined, 'what the name ran');
  expectEqual(await page.locator('h1').textContent(), name, 'the title');
  expectEqual(faults, [], 'complaints');
  expect(!readFileSync(file, 'utf8').includes('<img'), 'markup of the user is in the file');
  await page.close();
}

/** Both timelines of an import are drawn and asked like those of a run, wide and narrow, light and dark. */
export async function anImportShowsMeasuredAndPredicted(world) {
  const file = `${world.out}/import.html`;
  run(world, 'import', 'scenarios/measured/primus-pp8.csv', '--report', file);
  const { page, faults } = await open(world, file);
  const titles = await page.$$eval('h2', (heads) => heads.map((head) => head.textContent));
  for (const title of ['Measured and predicted', 'From the ideal step to the measured one', 'Where the measured time of each rank goes', 'How far each rank is behind the prediction',
    'What the excess is made of', 'Where measured and predicted differ', 'Outliers of the profile', 'Ranks', 'Operations of each stage'])
    expect(titles.includes(title), `no part is called ${title}`);
  expectEqual((await shown(page)).boxes, 2 * 8 * 2 * 16, 'operations on both timelines');
  await page.getByRole('checkbox', { name: 'predicted' }).uncheck();
  await page.waitForFunction((boxes) => +document.querySelector('.timeline').dataset.boxes === boxes, 8 * 2 * 16);
  const place = await placeOf(page, '1F4');
  await page.mouse.move(place.x, place.y);
  await page.waitForTimeout(100);
  expectEqual(await page.locator('.tip b').textContent(), '1F4', 'what the tip names');
  expect(/300\.\d* ms/.test(await page.locator('.tip').textContent()), `the tip does not say how long the operation took: ${await page.locator('.tip').textContent()}`);
  await page.getByRole('checkbox', { name: 'predicted' }).check();
  const whole = await shown(page);
  await page.locator('.timeline canvas').focus();
  for (const key of ['+', '+', '+', 'ArrowRight']) await page.keyboard.press(key);
  await page.waitForTimeout(100);
  expect((await shown(page)).span < whole.span / 2, 'the keys do not zoom');
  const differences = page.locator('.block-table', { hasText: 'Where measured and predicted differ' }).first();
  expect((await differences.locator('tbody tr').first().textContent()).startsWith('slower operation11F4'), 'the largest difference is not that of 1F4');
  expectEqual(faults, [], 'complaints');
  await page.keyboard.press('0');
  await page.screenshot({ path: `${world.out}/import-1280.png`, fullPage: true });
  await page.close();
  for (const scheme of ['light', 'dark']) {
    const narrow = await open(world, file, { width: 390, scheme });
    const overflow = await narrow.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(overflow <= 0, `the page is ${overflow} px wider than 390`);
    expectEqual(narrow.faults, [], 'complaints');
    await narrow.page.screenshot({ path: `${world.out}/import-390-${scheme}.png`, fullPage: true });
    await narrow.page.close();
  }
}
