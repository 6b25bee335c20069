const DASHES = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
const DASH_ARRAYS = { solid: '', dash: '6 3', dot: '1.5 3', dashdot: '6 3 1.5 3', longdash: '10 3' };
const SYMBOLS = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'star'];
const SYMBOL_PATHS = {
  circle: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z', square: 'M-3.6 -3.6h7.2v7.2h-7.2z', diamond: 'M0 -5L5 0L0 5L-5 0z',
  'triangle-up': 'M0 -4.6L4.8 3.8H-4.8z', cross: 'M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z',
  star: 'M0 -5L1.3 -1.6L4.8 -1.5L2 .6L3 4L0 2L-3 4L-2 .6L-4.8 -1.5L-1.3 -1.6z', 'diamond-open': 'M0 -4.5L4.5 0L0 4.5L-4.5 0z', 'circle-open': 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z',
};
/** Properties of the style sheet as the theme has them. */
const looks = new Map();
function css(name) {
  if (!looks.has(name)) looks.set(name, getComputedStyle(root).getPropertyValue(name).trim());
  return looks.get(name);
}
const COLOURS = 6;
/** Opacity of the n-th series: colours repeat, and each time they are paler. */
const strength = index => [1, 0.6, 0.35, 0.2][Math.min(Math.floor(index / COLOURS), 3)];
const style = index => ({
  colour: css(`--series-${index % COLOURS}`),
  dash: DASHES[(index + Math.floor(index / COLOURS)) % DASHES.length],
  symbol: SYMBOLS[index % SYMBOLS.length],
});
const measuredStyle = () => ({ colour: css('--ink'), dash: 'dot', symbol: 'diamond-open' });
const alpha = (hex, share) => hex + Math.round(share * 255).toString(16).padStart(2, '0');

function swatch({ colour, dash, symbol }, width = 30) {
  const open = symbol?.endsWith('-open');
  const line = ['line', { x1: 0, y1: 6, x2: width, y2: 6, stroke: colour, 'stroke-width': 2, 'stroke-dasharray': DASH_ARRAYS[dash] }];
  const mark = ['path', {
    d: SYMBOL_PATHS[symbol], transform: `translate(${width / 2} 6)`, fill: open ? css('--page') : colour, stroke: colour,
  }];
  return drawing(width, 12, symbol ? [line, mark] : [line]);
}
const area = colour => drawing(18, 12, [['rect', { width: 18, height: 12, rx: 2, fill: colour }]]);
const stroke = colour => drawing(8, 16, [['rect', { width: 8, height: 16, fill: colour }]]);
const legendItem = (mark, text) => element('span', { className: 'legend-item' }, mark, text);

const narrow = () => innerWidth < 640;
/** Text for Plotly, which reads some HTML in names and labels. */
const plain = text => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/%\{/g, '% {');
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const CONFIG = {
  responsive: true, displaylogo: false, doubleClick: false, showSendToCloud: false, plotlyServerURL: '', // nothing leaves the page
  modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d', 'resetScale2d', 'pan2d', 'zoom2d', 'zoomIn2d', 'zoomOut2d'],
};

/** `ticklabeloverflow`: to find labels that stick out, Plotly has the browser lay out the whole page for each of them. */
function axis(extra) {
  const rule = css('--rule');
  return {
    gridcolor: rule, zerolinecolor: rule, linecolor: rule, tickcolor: rule, showline: false, zeroline: false, ticks: '',
    ticklabelstandoff: 4, ticklabeloverflow: 'allow', tickfont: { size: 12, color: css('--soft') }, ...extra,
  };
}

function layout(extra) {
  return {
    margin: { l: 58, r: 20, t: 10, b: 40 }, paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', showlegend: false,
    font: { family: css('--font'), size: 12, color: css('--ink') }, hovermode: 'x unified', dragmode: matchMedia('(pointer: coarse)').matches ? false : 'zoom',
    hoverlabel: { bgcolor: css('--card'), bordercolor: css('--rule'), font: { color: css('--ink'), size: 12 } },
    modebar: { bgcolor: 'rgba(0,0,0,0)', color: css('--faint'), activecolor: css('--ink') }, ...extra,
  };
}

/** A logarithmic axis of latencies whose ticks carry their unit. */
function latencyAxis(values) {
  const [low, high] = extent(values.filter(value => value > 0), 1, 10).map(Math.log10);
  const padding = Math.max((high - low) * 0.06, 0.08);
  const range = [low - padding, high + padding];
  return axis({ ...logTicks(range, shortDuration), type: 'log', range });
}

function logTicks([from, to], text) {
  const mantissas = to - from < 1.2 ? [1, 2, 3, 5, 7] : to - from < 2.6 ? [1, 2, 5] : [1];
  const tickvals = [];
  for (let decade = Math.floor(from); decade <= to; decade++) tickvals.push(...mantissas.map(m => m * 10 ** decade));
  return { tickvals, ticktext: tickvals.map(text) };
}

function extent(values, low, high) {
  if (!values.length) return [low, high];
  return values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
}

const niceAbove = value => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map(step => step * power).find(step => step >= value * 0.999);
};

const inUnit = seconds => seconds.map(value => value / timeUnit(spanShown())[1]);
const middles = time => time.start_s.map((start, i) => (start + time.end_s[i]) / 2);

function timeAxis(extra) {
  const [unit, factor] = timeUnit(spanShown());
  const isThere = state.window?.[0] < spanShown(); // a sample ends before the recording
  const range = (isThere ? state.window : [0, spanShown()]).map(value => value / factor);
  return axis({ range, ticksuffix: ` ${unit}`, showgrid: false, ticks: 'outside', ticklen: 4, ticklabelstandoff: 0, nticks: narrow() ? 5 : 8, hoverformat: '.4~g', spikecolor: css('--faint'), spikethickness: 1, spikedash: 'solid', ...extra });
}

/** The area between two series, in pieces where they are unknown. */
function band(x, low, high, colour) {
  const outline = { x: [], y: [] };
  let run = [];
  const close = () => {
    if (run.length > 1) {
      outline.x.push(...run.map(i => x[i]), ...run.toReversed().map(i => x[i]), null);
      outline.y.push(...run.map(i => high[i]), ...run.toReversed().map(i => low[i]), null);
    }
    run = [];
  };
  x.forEach((_, i) => (known(low[i]) && known(high[i]) ? run.push(i) : close()));
  close();
  return { ...outline, mode: 'lines', fill: 'toself', fillcolor: colour, line: { width: 0 }, hoverinfo: 'skip' };
}

function line(x, y, name, properties) {
  const lonely = y.some((value, i) => known(value) && !known(y[i - 1]) && !known(y[i + 1]));
  return { x, y, name: plain(name), mode: lonely ? 'lines+markers' : 'lines', marker: { size: 4, color: properties.color }, line: properties };
}

const hoverLatency = name => ({ hovertemplate: `%{text}<extra>${plain(name)}</extra>` });
const latencyText = values => values.map(us => (known(us) ? duration(us) : ''));

// Several series, one below the other on one time axis: each row has its own scale.
function stackedRows(rows, shapes = []) {
  const gap = 0.34 / Math.max(rows.length, 3);
  const height = (1 - gap * (rows.length - 1)) / rows.length;
  const how = { xaxis: timeAxis({ anchor: rows.length > 1 ? `y${rows.length}` : 'y' }), annotations: [] };
  rows.forEach((row, i) => {
    const bottom = 1 - (i + 1) * height - i * gap;
    const suffix = i ? i + 1 : '';
    how[`yaxis${suffix}`] = axis({
      domain: [Math.max(bottom, 0), bottom + height], range: [0, row.top * 1.04], tickvals: [0, row.top], ticktext: row.ticks, fixedrange: true,
    });
    how.annotations.push({
      text: plain(row.label), xref: 'paper', x: 0, xanchor: 'left', yref: 'paper', y: bottom + height, yanchor: 'bottom', yshift: -1, showarrow: false,
      font: { size: 12, color: css(row.prominent ? '--ink' : '--soft'), weight: row.prominent ? 600 : 400 },
    });
    row.traces.forEach(trace => { trace.yaxis = `y${suffix}`; });
  });
  return layout({ ...how, shapes, margin: { l: 58, r: 20, t: 22, b: 40 }, hoversubplots: 'axis' });
}
