// Runs every check, prints a line for each, and ends with 1 when one failed.
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import * as pages from './pages.mjs';
import * as speed from './speed.mjs';
import * as viewers from './viewers.mjs';

const [pipecast, executablePath, repository, out, only = ''] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const world = { pipecast, browser, repository, out };
let failed = 0;
for (const [name, check] of Object.entries({ ...pages, ...viewers, ...speed })) {
  if (!name.includes(only)) continue;
  try {
    const said = await check(world);
    console.log(`ok      ${name}${said ? `: ${said}` : ''}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}: ${error.stack}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
