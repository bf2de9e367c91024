// A page of pipecast: reads the data element and shows its blocks in order.
import { showFigures, showTable, showText } from './blocks.js';
import { showChart } from './charts.js';
import { element } from './dom.js';
import { switchTheme } from './theme.js';
import { showTimelines } from './timeline.js';

const showers = { figures: showFigures, table: showTable, text: showText, chart: showChart, timelines: showTimelines };

function titled(block) {
  const parts = [];
  if (block.title) parts.push(element('h2', {}, block.title));
  if (block.note) parts.push(element('p', { class: 'note' }, block.note));
  return element('section', { class: `block block-${block.type}` }, ...parts, showers[block.type](block));
}

function showSections(sections) {
  const body = element('div');
  const show = (index) => body.replaceChildren(...sections[index].blocks.map(titled));
  const choice = element('select', { id: 'section', onchange: (event) => show(Number(event.target.value)) },
    ...sections.map((section, i) => element('option', { value: i }, section.name)));
  show(0);
  if (sections.length === 1) return body;
  return element('div', {}, element('h2', {}, element('label', { for: 'section' }, 'Details of '), choice), body);
}

function showPage(page) {
  const main = document.getElementById('page');
  main.replaceChildren(
    element('header', {}, element('h1', {}, page.title),
      element('button', { type: 'button', class: 'theme', 'aria-label': 'switch between light and dark', title: 'light or dark', onclick: switchTheme }, '◐')),
    element('p', { class: 'subtitle' }, page.subtitle));
  if (page.warnings.length)
    main.append(element('ul', { class: 'warnings' }, ...page.warnings.map((text) => element('li', {}, text))));
  main.append(...page.blocks.map(titled));
  if (page.sections.length) main.append(showSections(page.sections));
  main.append(element('footer', {}, page.footer));
}

showPage(JSON.parse(document.getElementById('data').textContent));
