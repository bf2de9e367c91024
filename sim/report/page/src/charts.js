// Charts of a page, drawn by ECharts.
import * as echarts from 'echarts/core';
import { BarChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent,
  VisualMapContinuousComponent,
} from 'echarts/components';
import { LabelLayout } from 'echarts/features';
import { CanvasRenderer } from 'echarts/renderers';
import { element, escapeHtml } from './dom.js';
import { formatIn } from './format.js';
import { isPrinting, onTheme, palette, ramp, sequence } from './theme.js';
import { unpack } from './unpack.js';
import { onView } from './view_bus.js';

echarts.use([BarChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomComponent, GridComponent,
  LegendComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent, LabelLayout, CanvasRenderer]);

const manySeries = 9;  // more are coloured from first to last
const rowHeight = 20;
const mostHeight = 560;

/** A round distance of marks in binary units, about five on an axis up to `most`. */
function byteInterval(most) {
  if (!(most > 0)) return undefined;
  const unit = 1024 ** Math.floor(Math.log2(most / 4) / 10);
  const size = most / 5 / unit;
  const power = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= size) * unit;
}

function bytesTo(axis, most) {
  if (axis.unit !== 'bytes' || axis.logarithmic) return {};
  const interval = byteInterval(most);
  return interval ? { interval, max: Math.ceil((most * 1.02) / interval) * interval } : {};
}

function axisOf(axis, colors, extra = {}) {
  return {
    type: axis.logarithmic ? 'log' : 'value', name: axis.name, nameLocation: 'middle', nameGap: 28,
    nameTextStyle: { color: colors.soft },
    axisLabel: { color: colors.soft, formatter: (value) => formatIn(axis.unit, value, 4), hideOverlap: true },
    axisLine: { lineStyle: { color: colors.rule } }, splitLine: { lineStyle: { color: colors.rule, opacity: 0.6 } },
    ...extra,
  };
}

function colorOf(chart, i, colors) {
  const role = chart.series[i].color;
  if (role) return colors[role] ?? role;
  if (chart.series.length > manySeries) return ramp(i / (chart.series.length - 1));
  return sequence[i % sequence.length];
}

function marker(color) {
  return `<span style="display:inline-block;width:10px;height:10px;margin-right:6px;background:${escapeHtml(color)}"></span>`;
}

function lineOf(name, value, color) {
  return `<div>${color ? marker(color) : ''}${escapeHtml(name)} <b>${escapeHtml(value)}</b></div>`;
}

function common(colors, chart) {
  return {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: { color: colors.ink, fontFamily: 'system-ui, sans-serif' },
    grid: { left: 8, right: 24, top: 40, bottom: 12, containLabel: true },
    tooltip: {
      confine: true, backgroundColor: colors.panel, borderColor: colors.rule, textStyle: { color: colors.ink, fontSize: 12 },
      extraCssText: 'max-height:320px;overflow:hidden',
    },
    aria: { enabled: true, label: { description: chart.title }, decal: { show: isPrinting() } },
  };
}

function legendOf(chart, colors) {
  const names = chart.series.map((series) => series.name);
  return {
    show: names.length > 1, type: 'scroll', top: 4, textStyle: { color: colors.ink },
    pageTextStyle: { color: colors.ink }, pageIconColor: colors.ink, pageIconInactiveColor: colors.rule, data: names,
    selected: Object.fromEntries(chart.series.map((series) => [series.name, series.shown !== false])),
  };
}

function limitLines(chart, colors, along) {
  if (!chart.limits?.length) return undefined;
  return {
    silent: true, symbol: 'none', lineStyle: { color: colors.limit, type: 'dashed', width: 1.5 },
    label: { color: colors.limit, formatter: (item) => item.name, position: along === 'xAxis' ? 'start' : 'insideEndTop' },
    data: chart.limits.map((limit) => ({ name: limit.name, [along]: limit.y })),
  };
}

function xyOptions(chart, colors) {
  const scatter = chart.kind === 'scatter';
  const most = Math.max(0, ...chart.limits.map((limit) => limit.y));
  const highest = (axis) => chart.series.reduce((top, series) => series[axis].reduce((a, b) => Math.max(a, b), top), axis === 'y' ? most : 0);
  const least = chart.series.reduce((low, series) => series.x.reduce((a, b) => Math.min(a, b), low), Infinity);
  const isRight = (x) => x - least > 0.7 * (highest('x') - least);
  const series = chart.series.map((series, i) => ({
    name: series.name, type: scatter ? 'scatter' : 'line', step: chart.kind === 'steps' ? 'end' : undefined,
    data: Array.from(series.x, (x, j) => (scatter && isRight(x) ? { value: [x, series.y[j]], label: { position: 'left' } } : [x, series.y[j]])), showSymbol: scatter, symbolSize: 9, sampling: undefined,
    itemStyle: { color: colorOf(chart, i, colors) }, lineStyle: { width: 1.4 }, emphasis: { focus: 'series' },
    label: { show: Boolean(series.labels) && series.labels.length <= 40, position: 'right', color: colors.ink, formatter: (item) => series.labels?.[item.dataIndex] ?? '' },
    labelLayout: { hideOverlap: true },
    markLine: i === 0 ? limitLines(chart, colors, 'yAxis') : undefined,
  }));
  const describe = (items) => {
    const list = Array.isArray(items) ? items : [items];
    const head = `<div>${escapeHtml(formatIn(chart.x.unit, list[0].value[0], 6))}</div>`;
    const sorted = [...list].sort((a, b) => b.value[1] - a.value[1]);
    return head + sorted.slice(0, 14).map((item) => lineOf(
      chart.series[item.seriesIndex].labels?.[item.dataIndex] ?? item.seriesName,
      formatIn(chart.y.unit, item.value[1]), item.color)).join('') + (sorted.length > 14 ? `<div>and ${sorted.length - 14} more</div>` : '');
  };
  return {
    ...common(colors, chart), grid: { ...common(colors, chart).grid, bottom: chart.x.name ? 36 : 12 }, legend: legendOf(chart, colors), series,
    tooltip: { ...common(colors, chart).tooltip, trigger: scatter ? 'item' : 'axis', formatter: describe },
    xAxis: axisOf(chart.x, colors, scatter ? { scale: true, ...bytesTo(chart.x, highest('x')) } : { min: 'dataMin', max: 'dataMax' }),
    yAxis: axisOf(chart.y, colors, { scale: scatter, nameLocation: 'end', nameGap: 8, nameTextStyle: { color: colors.soft, align: 'left' }, max: most > 0 ? (range) => Math.max(range.max, most * 1.02) : undefined, ...bytesTo(chart.y, highest('y')) }),
    dataZoom: scatter ? [] : [{ type: 'inside', filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true }],
  };
}

function barOptions(chart, colors) {
  const total = (row) => chart.series.reduce((sum, series) => sum + series.y[row], 0);
  const describe = (items) => `<div>${escapeHtml(items[0].name)}</div>` + items.map((item) =>
    lineOf(item.seriesName, formatIn(chart.x.unit, item.value), item.color)).join('') +
    lineOf('together', formatIn(chart.x.unit, total(items[0].dataIndex)));
  const most = Math.max(0, ...(chart.limits ?? []).map((limit) => limit.y));
  const rows = chart.categories.length;
  const shownRows = Math.floor((mostHeight - 90) / rowHeight);
  return {
    ...common(colors, chart), legend: legendOf(chart, colors),
    tooltip: { ...common(colors, chart).tooltip, trigger: 'axis', axisPointer: { type: 'shadow' }, formatter: describe },
    xAxis: axisOf(chart.x, colors, { max: most > 0 ? (range) => Math.max(range.max, most * 1.04) : undefined, ...bytesTo(chart.x, Math.max(most, ...chart.categories.map((_, row) => total(row)))) }),
    yAxis: { type: 'category', inverse: true, data: chart.categories, axisLabel: { color: colors.soft }, axisLine: { lineStyle: { color: colors.rule } } },
    dataZoom: rows > shownRows ? [{ type: 'slider', yAxisIndex: 0, startValue: 0, endValue: shownRows - 1, right: 2, width: 14, brushSelect: false, showDetail: false }] : [],
    series: chart.series.map((series, i) => ({
      name: series.name, type: 'bar', stack: 'all', data: Array.from(series.y), itemStyle: { color: colorOf(chart, i, colors) },
      barCategoryGap: '25%', markLine: i === 0 ? limitLines(chart, colors, 'xAxis') : undefined,
    })),
  };
}

function waterfallOptions(chart, colors) {
  const changes = chart.series[0].y;
  const last = changes.length - 1;
  let sum = 0;
  const hidden = [];
  const shown = Array.from(changes, (change, i) => {
    const total = i === 0 || i === last;
    const floor = total ? 0 : Math.min(sum, sum + change);
    sum = total ? change : sum + change;
    hidden.push(floor);
    return { value: Math.abs(change), itemStyle: { color: total ? colors.busy : change >= 0 ? colors.steady : colors.forward } };
  });
  const share = (i) => `${(100 * changes[i] / changes[last]).toFixed(1)} %`;
  const narrow = chart.width < 520;
  return {
    ...common(colors, chart), grid: { ...common(colors, chart).grid, top: 12, right: narrow ? 76 : 130 },
    tooltip: { ...common(colors, chart).tooltip, trigger: 'item', formatter: (item) => lineOf(chart.categories[item.dataIndex], `${formatIn(chart.y.unit, changes[item.dataIndex], 5)} (${share(item.dataIndex)})`) },
    xAxis: axisOf(chart.y, colors, narrow ? { splitNumber: 2 } : {}),
    yAxis: { type: 'category', inverse: true, data: chart.categories, axisLabel: { color: colors.soft, width: narrow ? 90 : 150, overflow: 'break', lineHeight: 14 }, axisLine: { lineStyle: { color: colors.rule } } },
    series: [
      { type: 'bar', stack: 'all', data: hidden, itemStyle: { color: 'transparent', decal: { color: 'transparent' } }, silent: true, tooltip: { show: false } },
      { type: 'bar', stack: 'all', data: shown, barCategoryGap: '25%', label: { show: true, position: 'right', color: colors.ink, formatter: (item) => `${item.dataIndex === 0 || item.dataIndex === last ? '' : changes[item.dataIndex] < 0 ? '\u2212 ' : '+ '}${formatIn(chart.y.unit, Math.abs(changes[item.dataIndex]), 4)}${narrow ? '' : ` (${share(item.dataIndex)})`}` } },
    ],
  };
}

function heatmapOptions(chart, colors) {
  const columns = chart.series[0].y.length;
  const from = chart.series[0].x[0];
  const to = chart.series[0].x[chart.series[0].x.length - 1];
  const at = (column) => from + ((to - from) * column) / columns;
  const data = [];
  let most = 0;
  chart.series.forEach((series, row) => Array.from(series.y).forEach((value, column) => {
    most = Math.max(most, value);
    if (value > 0) data.push([column, row, value]);
  }));
  return {
    ...common(colors, chart), grid: { ...common(colors, chart).grid, top: 12, bottom: 44 },
    tooltip: { ...common(colors, chart).tooltip, formatter: (item) => lineOf(chart.series[item.value[1]].name, formatIn(chart.y.unit, item.value[2])) +
      `<div>${escapeHtml(formatIn(chart.x.unit, at(item.value[0]), 5))} to ${escapeHtml(formatIn(chart.x.unit, at(item.value[0] + 1), 5))}</div>` },
    xAxis: { type: 'category', data: Array.from({ length: columns }, (_, i) => formatIn(chart.x.unit, at(i), 3)), axisLabel: { color: colors.soft, interval: Math.ceil(columns / 8) - 1, hideOverlap: true }, axisTick: { show: false }, axisLine: { lineStyle: { color: colors.rule } } },
    yAxis: { type: 'category', inverse: true, data: chart.series.map((series) => series.name), axisLabel: { color: colors.soft, width: 140, overflow: 'truncate' }, axisTick: { show: false }, axisLine: { lineStyle: { color: colors.rule } } },
    visualMap: { min: 0, max: Math.max(most, 1e-9), calculable: false, orient: 'horizontal', left: 'center', bottom: 0, itemHeight: 160, itemWidth: 12, textStyle: { color: colors.soft }, formatter: (value) => formatIn(chart.y.unit, value, 3), inRange: { color: [colors.panel, colors.warmup, colors.steady, colors.limit] } },
    series: [{ type: 'heatmap', data, progressive: 0, emphasis: { itemStyle: { borderColor: colors.ink, borderWidth: 1 } } }],
  };
}

function optionsOf(chart, colors) {
  switch (chart.kind) {
    case 'bars': return barOptions(chart, colors);
    case 'waterfall': return waterfallOptions(chart, colors);
    case 'heatmap': return heatmapOptions(chart, colors);
    default: return xyOptions(chart, colors);
  }
}

function heightOf(chart) {
  switch (chart.kind) {
    case 'bars': return Math.min(mostHeight, 90 + rowHeight * chart.categories.length);
    case 'waterfall': return 50 + 34 * chart.categories.length;
    case 'heatmap': return 80 + 16 * chart.series.length;
    case 'scatter': return 420;
    default: return 320;
  }
}

async function unpackChart(block) {
  const series = await Promise.all(block.series.map(async (one) => ({ ...one, x: await unpack(one.x), y: await unpack(one.y) })));
  return { ...block, series };
}

/** The chart of a block, drawn once it is in the document and again when its size or the colours change. */
export function showChart(block) {
  const holder = element('div', { class: 'chart', role: 'img', 'aria-label': block.title });
  unpackChart(block).then((chart) => {
    holder.style.height = `${heightOf(chart)}px`;
    if (chart.series.length === 0) return;
    const instance = echarts.init(holder);
    const draw = () => instance.setOption(optionsOf({ ...chart, width: holder.clientWidth }, palette()), true);
    draw();
    onTheme(() => { draw(); instance.resize({ width: isPrinting() ? 680 : 'auto' }); });
    new ResizeObserver(() => instance.resize()).observe(holder);
    if (chart.follows_timeline && chart.kind !== 'heatmap')
      onView((view) => instance.dispatchAction({ type: 'dataZoom', startValue: view.from_s, endValue: view.to_s }));
    holder.dataset.ready = 'yes';
  });
  return holder;
}
