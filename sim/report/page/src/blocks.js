// Figures, tables and texts.
import { element } from './dom.js';

export function showFigures(block) {
  return element('dl', { class: 'figures' }, ...block.figures.map((figure) =>
    element('div', { class: 'figure' }, element('dt', {}, figure.name), element('dd', {}, figure.value),
      element('small', {}, figure.meaning))));
}

const textOf = (cell) => (Array.isArray(cell) ? cell[0] : cell);
const isNumber = (cell) => Array.isArray(cell);

function compare(a, b) {
  if (isNumber(a) && isNumber(b)) return (a[1] ?? 0) - (b[1] ?? 0);
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function bodyOf(rows) {
  return rows.map((row) => element('tr', {}, ...row.map((cell) =>
    element('td', { class: isNumber(cell) ? 'n' : undefined }, textOf(cell)))));
}

/** A table whose columns sort by a click on their head: up, down, as it was. */
export function showTable(block) {
  const body = element('tbody', {}, ...bodyOf(block.rows));
  let sorted = -1;
  let direction = 0;
  const heads = block.columns.map((name, column) => {
    const numeric = block.rows.some((row) => isNumber(row[column]));
    const button = element('button', { type: 'button', onclick: () => sortBy(column) }, name);
    return element('th', { scope: 'col', class: numeric ? 'n' : undefined }, button);
  });
  function sortBy(column) {
    direction = sorted === column ? (direction === 1 ? -1 : direction === -1 ? 0 : 1) : 1;
    sorted = column;
    const rows = [...block.rows];
    if (direction !== 0) rows.sort((a, b) => direction * compare(a[column], b[column]));
    body.replaceChildren(...bodyOf(rows));
    heads.forEach((head, i) => head.setAttribute('aria-sort',
      i !== sorted || direction === 0 ? 'none' : direction === 1 ? 'ascending' : 'descending'));
  }
  return element('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': block.title },
    element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body));
}

export function showText(block) {
  return element('pre', { class: 'text', tabindex: '0' }, block.text);
}
