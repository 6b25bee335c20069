'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  const $ = id => document.getElementById(id);

  // ------------------------------------------------------------------------------------------------------- state
  const STATISTICS = { mean: 'mean', p50: 'p50', p95: 'p95', p99: 'p99', p999: 'p99.9' };
  const MEASURES = { busy_pct: 'utilisation', outstanding: 'outstanding requests' };
  const state = { scenario: 0, purpose: '', compare: -1, statistic: 'p99', stations: 'busy_pct', window: null };

  const selected = () => data.scenarios[state.scenario];
  const compared = () => data.scenarios[state.compare];
  const isSaturated = scenario => scenario.verdict.load === 'saturated';
  const traceOf = scenario => data.traces.find(trace => trace.hash === scenario.trace);
  const measuredFor = (scenario, purpose) => traceOf(scenario).measured_latency_ns[purpose];

  function readHash() {
    if (location.hash && !location.hash.includes('=')) return; // a place on the page, not a state
    const wanted = new URLSearchParams(location.hash.slice(1));
    const index = name => data.scenarios.findIndex(scenario => scenario.name === wanted.get(name));
    state.scenario = Math.max(index('scenario'), 0);
    state.compare = index('compare') === state.scenario ? -1 : index('compare');
    state.purpose = data.purposes.includes(wanted.get('purpose')) ? wanted.get('purpose') : data.purposes[0] ?? '';
    state.statistic = wanted.get('latency') in STATISTICS ? wanted.get('latency') : 'p99';
    state.stations = wanted.get('stations') in MEASURES ? wanted.get('stations') : 'busy_pct';
  }

  function writeHash() {
    const shown = { scenario: selected().name, purpose: state.purpose };
    if (compared()) shown.compare = compared().name;
    if (state.statistic !== 'p99') shown.latency = state.statistic;
    if (state.stations !== 'busy_pct') shown.stations = state.stations;
    history.replaceState(null, '', '#' + new URLSearchParams(shown));
  }

  // ------------------------------------------------------------------------------------------------------- words
  const NBSP = '\u00a0';
  const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
  const known = value => value !== null && value !== undefined;
  const significant = value => {
    const size = Math.abs(value);
    if (size >= 99.95) return whole.format(value);
    return value === 0 ? '0' : value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(size) + 1e-9)));
  };
  const count = value => {
    if (value >= 9.95 || Number.isInteger(value)) return whole.format(value);
    return value < 1 ? String(Number(value.toPrecision(2))) : significant(value);
  };
  const trimmed = value => significant(value).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  const percent = share => {
    const value = share * 100;
    const text = value > 0 && value < 0.1 ? `<${NBSP}0.1` : value > 0 && value < 9.95 ? value.toFixed(1) : whole.format(value);
    return text + NBSP + '%';
  };
  const capital = text => text.charAt(0).toUpperCase() + text.slice(1);
  const list = items => new Intl.ListFormat('en').format(items);

  const UNITS = [['s', 1e6], ['ms', 1e3], ['µs', 1], ['ns', 1e-3]];
  const unitOf = us => UNITS.find(([, factor]) => us >= factor * 0.9995) ?? UNITS.at(-1);
  const duration = us => {
    const [unit, factor] = unitOf(us);
    return significant(us / factor) + NBSP + unit;
  };
  const shortDuration = us => {
    const [unit, factor] = unitOf(us);
    return trimmed(us / factor) + NBSP + unit;
  };
  /** The interval of a resolved figure; nothing where it is narrower than the digits shown. */
  const spread = (figure, us) => {
    if (!known(figure.low) || !known(figure.high)) return '';
    const factor = unitOf(us)[1];
    const [low, high] = [figure.low, figure.high].map(ns => significant(ns / 1e3 / factor));
    return low === high ? '' : `${low}–${high}`;
  };
  /** Both ends of a range, in one unit where the lower end can be read in it. */
  const ends = (low, high) => {
    const [unit, factor] = unitOf(high);
    return [low === 0 || low >= factor / 10 ? significant(low / factor) : duration(low), significant(high / factor) + NBSP + unit];
  };

  const TIME_UNITS = [['h', 3600, 18000], ['min', 60, 600], ['s', 1, 0]];
  const timeUnit = span => TIME_UNITS.find(([, , from]) => span >= from);
  const moment = seconds => {
    const [unit, factor] = timeUnit(spanShown());
    return trimmed(seconds / factor) + NBSP + unit;
  };
  const span = seconds => {
    const [unit, factor] = TIME_UNITS.find(([, size]) => seconds >= size * 2) ?? TIME_UNITS.at(-1);
    return trimmed(seconds / factor) + NBSP + unit;
  };

  const PLURAL = {
    'log write': 'log writes', 'log flush': 'log flushes', 'data read': 'data reads', 'data write': 'data writes', flush: 'flushes',
    'checkpoint write': 'checkpoint writes', temp: 'temp requests', backup: 'backup requests', discard: 'discards',
    unknown: 'requests of unknown purpose',
  };
  const plural = purpose => PLURAL[purpose] ?? purpose;

  const VERDICTS = {
    steady: { word: 'Steady', one: 'keeps up with the recorded load', many: 'keep up with the recorded load' },
    behind: { word: 'Behind', one: 'falls behind the recorded load', many: 'fall behind the recorded load' },
    saturated: { word: 'Saturated', one: 'cannot carry the recorded load', many: 'cannot carry the recorded load' },
  };
  const verdictWord = scenario => VERDICTS[scenario.verdict.load]?.word ?? capital(scenario.verdict.load);

  const isShort = scenario => scenario.throughput_shortfall_pct >= 0.5;
  const shortfall = scenario => `${whole.format(scenario.throughput_shortfall_pct)}${NBSP}% short`;

  /** Where an unresolved figure lies, for a table and for a sentence. */
  function bounds(figure) {
    const [low, high] = [figure?.low, figure?.high].map(ns => (known(ns) ? ns / 1e3 : null));
    if (known(low) && known(high)) {
      const [from, to] = ends(low, high);
      return { range: `${from}–${to}`, lies: `between ${from} and ${to}` };
    }
    if (known(low)) return { range: `>${NBSP}${duration(low)}`, lies: `above ${duration(low)}` };
    if (known(high)) return { range: `<${NBSP}${duration(high)}`, lies: `below ${duration(high)}` };
    return {};
  }

  /** What may be said of one figure of a scenario: `{us}` or, where there is no single number, `{word}` and perhaps a range. */
  function latency(scenario, purpose, statistic) {
    const figures = scenario.latency_ns[purpose];
    if (!figures) return { word: 'none' };
    if (isSaturated(scenario)) return { word: 'saturated' };
    const figure = figures[statistic];
    if (!figure || !figure.resolved || !known(figure.value)) return { word: 'not resolved', ...bounds(figure) };
    return { us: figure.value / 1e3, figure };
  }

  // --------------------------------------------------------------------------------------------------- elements
  const SVG = 'http://www.w3.org/2000/svg';

  function element(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (key in node) node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children.flat().filter(known));
    return node;
  }

  function drawing(width, height, shapes, label) {
    const node = document.createElementNS(SVG, 'svg');
    const attributes = { viewBox: `0 0 ${width} ${height}`, width, height };
    Object.entries(label ? { ...attributes, role: 'img', 'aria-label': label } : { ...attributes, 'aria-hidden': true })
      .forEach(([key, value]) => node.setAttribute(key, value));
    for (const [tag, properties] of shapes) {
      const shape = document.createElementNS(SVG, tag);
      Object.entries(properties).forEach(([key, value]) => shape.setAttribute(key, value));
      node.append(shape);
    }
    return node;
  }

  const MARK = { fill: 'none', stroke: 'var(--page)', 'stroke-width': 2, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' };
  const ICONS = {
    steady: [['circle', { cx: 9, cy: 9, r: 9 }], ['path', { d: 'M5 9.4l2.8 2.8 5.2-5.8', ...MARK }]],
    behind: [['path', { d: 'M9 .5L18 17.5H0z' }], ['path', { d: 'M9 7v4.5M9 14.4v.1', ...MARK }]],
    saturated: [['path', { d: 'M5.3 0h7.4L18 5.3v7.4L12.7 18H5.3L0 12.7V5.3z' }], ['path', { d: 'M6 6l6 6M12 6l-6 6', ...MARK }]],
  };
  const verdictIcon = (load, label) => drawing(18, 18, ICONS[load] ?? ICONS.behind, label);

  function table(head, rows, options = {}) {
    const cell = (tag, content, extra) => element(tag, extra, content);
    return element('table', { className: options.className ?? 'numbers' },
      element('thead', {}, element('tr', {}, head.map(text => cell('th', text, { scope: 'col' })))),
      element('tbody', {}, rows.map(row => element('tr', {},
        row.map((content, i) => cell(i ? 'td' : 'th', content ?? '–', i ? {} : { scope: 'row' }))))));
  }

  // ----------------------------------------------------------------------------------------------------- colours
  const DASHES = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
  const DASH_ARRAYS = { solid: '', dash: '6 3', dot: '1.5 3', dashdot: '6 3 1.5 3', longdash: '10 3' };
  const SYMBOLS = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'star'];
  const SYMBOL_PATHS = {
    circle: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z', square: 'M-3.6 -3.6h7.2v7.2h-7.2z', diamond: 'M0 -5L5 0L0 5L-5 0z',
    'triangle-up': 'M0 -4.6L4.8 3.8H-4.8z', cross: 'M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z',
    star: 'M0 -5L1.3 -1.6L4.8 -1.5L2 .6L3 4L0 2L-3 4L-2 .6L-4.8 -1.5L-1.3 -1.6z', 'diamond-open': 'M0 -4.5L4.5 0L0 4.5L-4.5 0z',
  };
  const css = name => getComputedStyle(root).getPropertyValue(name).trim();
  const COLOURS = 6;
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

  // ---------------------------------------------------------------------------------------------- head and cards
  function sentenceOfVerdicts() {
    const total = data.scenarios.length;
    const parts = Object.entries(VERDICTS).map(([load, { one, many }]) => {
      const names = data.scenarios.filter(scenario => scenario.verdict.load === load).map(scenario => scenario.name);
      if (!names.length) return null;
      if (load === 'steady' && total > 1 && names.length === total) return `All ${total} scenarios ${many}`;
      if (load === 'steady' && names.length > 1) return `${names.length} of ${total} scenarios ${many}`;
      return `${list(names)} ${names.length > 1 ? many : one}`;
    });
    const said = parts.filter(known);
    return said.length ? said.map((part, i) => (i ? part.replace('the recorded load', 'it') : part)).join('; ') + '.' : '';
  }

  function sentenceOfLatency(purpose) {
    const said = data.scenarios.map(scenario => ({ name: scenario.name, ...latency(scenario, purpose, 'p99') }));
    const numbers = said.filter(one => known(one.us)).sort((a, b) => a.us - b.us);
    const unresolved = said.filter(one => one.word === 'not resolved').map(one => one.name + (one.lies ? ` (it lies ${one.lies})` : ''));
    if (!numbers.length && !said.some(one => one.lies)) return '';
    const within = numbers.length > 1 ? [numbers[0], numbers.at(-1)] : numbers;
    const measured = data.traces.length === 1 ? data.traces[0].measured_latency_ns[purpose]?.p99 : null;
    return capital([
      within.length ? `99${NBSP}% of ${plural(purpose)} end within ${within.map(one => `${duration(one.us)} on ${one.name}`).join(' and ')}` : null,
      unresolved.length ? `the 99th percentile${numbers.length ? '' : ` of ${plural(purpose)}`} is not resolved on ${list(unresolved)}` : null,
      known(measured) ? `the recorded hardware took ${duration(measured / 1e3)}` : null,
    ].filter(known).join('; ')) + '.';
  }

  /** The purpose that people wait for most comes first: a commit waits for a log write and then for a flush. */
  function headlinePurposes() {
    const there = purpose => data.purposes.includes(purpose);
    const first = ['log write', 'log flush', 'flush', 'data write', 'checkpoint write'].find(there);
    const chosen = [...new Set([first, first === 'log write' ? 'log flush' : null, 'data read'])].filter(purpose => known(purpose) && there(purpose));
    return chosen.length ? chosen : data.purposes.slice(0, 1);
  }

  function drawHead() {
    const main = headlinePurposes()[0];
    $('lead').textContent = [sentenceOfVerdicts(), main ? sentenceOfLatency(main) : ''].filter(Boolean).join(' ');
    const about = trace => `${trace.name}: ${whole.format(trace.requests)} requests in ${span(trace.span_ns / 1e9)}, recorded as ${trace.source_format}`;
    const doubts = data.scenarios.filter(scenario => scenario.verdict.calibration !== 'calibrated').map(scenario => meaning(scenario, 'calibration'));
    $('facts').replaceChildren(data.traces.map(about).join(' · '), ...[...new Set(doubts)].map(text => element('span', { className: 'doubt' }, warning(text))));
  }

  function headlineFigure(scenario, purpose, big) {
    const { us, figure, range, word } = latency(scenario, purpose, 'p99');
    const value = (text, className) => element('span', { className: `value ${className}`.trim() }, text);
    const beside = text => (text ? element('span', { className: 'interval' }, text) : null);
    const shown = known(us) ? [value(duration(us), ''), beside(spread(figure, us))]
      : range ? [value(range, 'range'), beside(word)] : [value(word, 'word')];
    return element('div', { className: big ? 'big' : 'row' }, element('dt', {}, `p99 of ${plural(purpose)}`), element('dd', {}, shown));
  }

  function card(scenario, index) {
    const { bottleneck, load } = scenario;
    const rate = scenario.throughput_per_s.requests;
    const purposes = headlinePurposes();
    const row = (label, ...value) => element('div', { className: 'row' }, element('dt', {}, label), element('dd', {}, value.flat().filter(known)));
    const busiest = bottleneck?.station ? `${bottleneck.station}, ${bottleneck.resource} ${percent(bottleneck.utilisation)}` : null;
    const choose = element('button', { type: 'button', className: 'choose', onclick: () => select({ scenario: index }) },
      element('span', { className: 'name' }, scenario.name), swatch(style(index)));
    return element('article', { className: `card ${scenario.verdict.load}`, 'aria-label': scenario.name },
      element('div', { className: 'card-head' },
        element('h2', {}, choose),
        element('p', { className: 'description' }, scenario.description ?? '')),
      element('p', { className: 'verdict' }, verdictIcon(scenario.verdict.load), element('strong', {}, verdictWord(scenario))),
      element('dl', { className: 'headline' }, purposes.slice(0, 1).map(purpose => headlineFigure(scenario, purpose, true))),
      element('dl', {},
        purposes.slice(1).map(purpose => headlineFigure(scenario, purpose, false)),
        row('Requests', [rate && known(rate.value) && rate.resolved ? `${count(rate.value)}/s` : 'not resolved',
          isShort(scenario) ? element('span', { className: 'interval' }, shortfall(scenario)) : null]),
        busiest ? row('Busiest part', busiest) : null),
      element('p', { className: 'explanation' }, load.explanation));
  }

  function drawCards() {
    $('cards').replaceChildren(...data.scenarios.map(card));
  }

  function markSelection() {
    root.style.setProperty('--accent', `var(--series-${state.scenario % COLOURS})`);
    [...$('cards').children].forEach((node, i) => {
      node.classList.toggle('selected', i === state.scenario);
      node.querySelector('.choose').setAttribute('aria-pressed', i === state.scenario);
    });
  }

  // -------------------------------------------------------------------------------------------------- comparison
  function comparisonCell(scenario, purpose) {
    const { us, figure, range, word } = latency(scenario, purpose, state.statistic);
    if (known(us)) return element('td', {}, duration(us), element('small', {}, spread(figure, us)));
    if (range) return element('td', { className: 'range' }, range, element('small', {}, word));
    return element('td', { className: 'word' }, word);
  }

  /** Requests as the device saw them, some of them joined: what the scenarios count. */
  const commandsOf = trace => data.scenarios.find(scenario => scenario.trace === trace.hash)?.commands ?? trace.requests;

  function recordedRow(trace) {
    const cells = data.purposes.map(purpose => {
      const value = trace.measured_latency_ns[purpose]?.[state.statistic];
      return known(value) ? element('td', {}, duration(value / 1e3), element('small', {}, 'measured')) : element('td', { className: 'word' }, 'not measured');
    });
    const rate = trace.span_ns ? commandsOf(trace) / (trace.span_ns / 1e9) : null;
    return element('tr', { className: 'recorded' },
      element('th', { scope: 'row' }, element('span', { className: 'who' }, swatch(measuredStyle()), 'Recorded hardware'), element('small', {}, trace.name)),
      element('td', {}, known(rate) ? count(rate) : '–', element('small', {}, 'arrivals')), cells, element('td', { className: 'text' }, '–'));
  }

  function scenarioRow(scenario) {
    const index = data.scenarios.indexOf(scenario);
    const rate = scenario.throughput_per_s.requests;
    const { bottleneck } = scenario;
    return element('tr', { className: index === state.scenario ? 'selected' : '' },
      element('th', { scope: 'row' }, element('span', { className: 'who' }, swatch(style(index)), scenario.name),
        element('small', { className: `state ${scenario.verdict.load}` }, verdictIcon(scenario.verdict.load), verdictWord(scenario))),
      element('td', {}, rate && known(rate.value) ? count(rate.value) : '–',
        isShort(scenario) ? element('small', {}, shortfall(scenario)) : null),
      data.purposes.map(purpose => comparisonCell(scenario, purpose)),
      element('td', { className: 'text' }, bottleneck?.station ?? '–', bottleneck?.station
        ? element('small', {}, `${bottleneck.resource} ${percent(bottleneck.utilisation)}`) : null));
  }

  function drawComparison() {
    const head = (text, className) => element('th', { scope: 'col', className }, text);
    const purposes = data.purposes.map(purpose => head(capital(plural(purpose)), purpose === state.purpose ? 'chosen' : ''));
    const rows = data.traces.flatMap(trace => [
      ...(Object.keys(trace.measured_latency_ns).length ? [recordedRow(trace)] : []),
      ...data.scenarios.filter(scenario => scenario.trace === trace.hash).map(scenarioRow),
    ]);
    $('comparison').replaceChildren(
      element('caption', { className: 'unseen' }, `${STATISTICS[state.statistic]} latency by purpose for each scenario`),
      element('thead', {}, element('tr', {}, head('Scenario', 'text'), head('Requests/s', ''), purposes, head('Busiest part', 'text'))), element('tbody', {}, rows));
    const basis = data.scenarios.flatMap(scenario => Object.values(scenario.latency_ns)).map(figures => figures[state.statistic]).find(figure => figure?.resolved)?.basis;
    $('comparison-note').textContent = [
      `Latency: ${STATISTICS[state.statistic]}, from arrival to completion. Small figures are the interval${basis ? ` (${basis})` : ''}, where it is wider than the digits shown.`,
      'A range stands where the recording is too short or too bursty for one figure.',
      data.scenarios.some(isSaturated) ? 'Saturated: the backlog grows, so no steady latency exists.' : '',
      data.traces.length > 1 ? 'These scenarios replayed different traces; compare within one trace only.' : '',
    ].filter(Boolean).join(' ');
  }

  // ----------------------------------------------------------------------------------------------- chart helpers
  const narrow = () => innerWidth < 640;
  /** Text for Plotly, which reads some HTML in names and labels. */
  const plain = text => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/%\{/g, '% {');
  const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const CONFIG = {
    responsive: true, displaylogo: false, doubleClick: false, showSendToCloud: false, plotlyServerURL: '', // nothing leaves the page
    modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d', 'resetScale2d', 'pan2d', 'zoom2d', 'zoomIn2d', 'zoomOut2d'],
  };

  function axis(extra) {
    const rule = css('--rule');
    return {
      gridcolor: rule, zerolinecolor: rule, linecolor: rule, tickcolor: rule, showline: false, zeroline: false, ticks: '',
      ticklabelstandoff: 4, tickfont: { size: 12, color: css('--soft') }, ...extra,
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

  const endOf = scenario => scenario.time.end_s.at(-1) ?? 0;
  const spanShown = () => Math.max(endOf(selected()), compared() ? endOf(compared()) : 0, 1e-6);
  const inUnit = seconds => seconds.map(value => value / timeUnit(spanShown())[1]);
  const middles = time => time.start_s.map((start, i) => (start + time.end_s[i]) / 2);

  function timeAxis(extra) {
    const [unit, factor] = timeUnit(spanShown());
    const range = (state.window ?? [0, spanShown()]).map(value => value / factor);
    return axis({ range, ticksuffix: ` ${unit}`, showgrid: false, ticks: 'outside', ticklen: 4, ticklabelstandoff: 0, ticklabeloverflow: 'allow', nticks: narrow() ? 5 : 8, hoverformat: '.4~g', spikecolor: css('--faint'), spikethickness: 1, spikedash: 'solid', ...extra });
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

  // -------------------------------------------------------------------------------------------------- the figures
  const figures = {};

  function addFigure(id, extra) {
    const title = element('h3', { id: `${id}-title` });
    const legend = element('div', { className: 'legend' });
    const plot = element('div', { id, className: 'plot', role: 'img' });
    plot.setAttribute('aria-labelledby', `${id}-title`);
    plot.setAttribute('aria-describedby', `${id}-reading`);
    const reading = element('p', { id: `${id}-reading`, className: 'reading' });
    const box = element('div', { className: 'scroll', tabIndex: 0 });
    const details = element('details', {}, element('summary', {}, 'Numbers'), box);
    const figure = { plot, title, legend, reading, details, box, numbers: () => [] };
    details.addEventListener('toggle', () => fillNumbers(figure));
    const node = element('figure', { className: extra?.className ?? '' },
      element('figcaption', {}, element('div', { className: 'section-head' }, title, extra?.control), legend), plot, reading, details);
    $('figures').append(node);
    figures[id] = figure;
  }

  function fillNumbers({ details, box, numbers }) {
    box.replaceChildren(...(details.open ? [numbers()].flat() : []));
  }

  function show(id, { title, legend, traces, layout: how, reading, numbers, height }) {
    const figure = figures[id];
    figure.title.textContent = title;
    figure.legend.replaceChildren(...legend);
    figure.reading.textContent = reading;
    figure.numbers = numbers;
    figure.plot.style.height = `${height ?? (narrow() ? 300 : 350)}px`;
    fillNumbers(figure);
    return Plotly.react(figure.plot, traces, how, CONFIG);
  }

  const nothing = text => layout({
    xaxis: axis({ visible: false }), yaxis: axis({ visible: false }),
    annotations: [{ text: plain(text), xref: 'paper', yref: 'paper', x: 0.5, y: 0.5, showarrow: false, font: { size: 14, color: css('--soft') } }],
  });

  // 1. latency by percentile
  const PERCENTILE_TICKS = [[1, '0'], [2, '50'], [10, '90'], [100, '99'], [1e3, '99.9'], [1e4, '99.99'], [1e5, '99.999'], [1e6, '99.9999']];
  const percentileAt = rank => `${+(100 - 100 / rank).toPrecision(Math.max(3, Math.ceil(Math.log10(rank)) + 2))} %`;

  function curveTrace(scenario, index) {
    const curve = scenario.curves[state.purpose];
    if (!curve) return null;
    const { colour, dash, symbol } = style(index);
    const bold = index === state.scenario;
    return {
      x: curve.rank, y: curve.us, text: curve.us.map((us, i) => `${percentileAt(curve.rank[i])}: ${duration(us)}`), name: plain(scenario.name), customdata: curve.rank.map(() => index),
      ...hoverLatency(scenario.name), mode: 'lines+markers', opacity: bold || index === state.compare ? 1 : 0.85,
      line: { color: colour, dash, width: bold ? 3.5 : 1.75 }, marker: { color: colour, symbol, size: bold ? 9 : 7, maxdisplayed: 9 },
    };
  }

  const RANKS = { p50: 2, p95: 20, p99: 100, p999: 1000 };

  /** The intervals of the percentiles of the selected scenario, as upright strokes across its curve. */
  function intervalsTrace() {
    const figures = selected().latency_ns[state.purpose] ?? {};
    const there = Object.entries(RANKS).filter(([key]) => known(figures[key]?.low) && known(figures[key]?.high));
    if (!there.length) return null;
    return {
      x: there.flatMap(([, rank]) => [rank, rank, null]), y: there.flatMap(([key]) => [figures[key].low / 1e3, figures[key].high / 1e3, null]), name: 'intervals',
      mode: 'lines', hoverinfo: 'skip', line: { color: alpha(style(state.scenario).colour, 0.4), width: 9 },
    };
  }

  function measuredTrace() {
    const measured = measuredFor(selected(), state.purpose);
    if (!measured) return null;
    const points = Object.entries(RANKS).map(([key, rank]) => [rank, measured[key]]).filter(([rank, ns]) => known(ns) && rank <= (measured.count ?? rank));
    const { colour, dash, symbol } = measuredStyle();
    return {
      x: points.map(([rank]) => rank), y: points.map(([, ns]) => ns / 1e3), text: points.map(([rank, ns]) => `${percentileAt(rank)}: ${duration(ns / 1e3)}`),
      name: 'recorded hardware', ...hoverLatency('recorded hardware'), mode: 'lines+markers', line: { color: colour, dash, width: 1.5 }, marker: { color: colour, symbol, size: 10 },
    };
  }

  function percentileReading() {
    const what = plural(state.purpose);
    const scenario = selected();
    const { us, word, range, lies } = latency(scenario, state.purpose, 'p99');
    const words = {
      saturated: `${scenario.name} is saturated, so its ${what} have no steady latency`,
      none: `${scenario.name} saw no ${what}`,
      'not resolved': range ? `the 99th percentile of ${what} on ${scenario.name} is not resolved: it lies ${lies}`
        : `too few ${what} were simulated on ${scenario.name} to resolve their 99th percentile`,
    };
    const said = [known(us) ? `99${NBSP}% of ${what} end within ${duration(us)} on ${scenario.name}` : words[word]];
    const others = data.scenarios.filter((_, i) => i !== state.scenario && (state.compare < 0 || i === state.compare))
      .map(other => ({ name: other.name, ...latency(other, state.purpose, 'p99') }));
    const fastest = others.filter(other => known(other.us)).sort((a, b) => a.us - b.us)[0];
    if (fastest) said.push(`on ${fastest.name} ${known(us) ? '' : `99${NBSP}% of them end `}within ${duration(fastest.us)}`);
    else if (compared() && others[0]?.range) said.push(`on ${others[0].name} it is not resolved: it lies ${others[0].lies}`);
    const measured = measuredFor(scenario, state.purpose)?.p99;
    if (known(measured)) said.push(`the recorded hardware took ${duration(measured / 1e3)}`);
    return capital(said.join('; ')) + '.';
  }

  function percentileNumbers() {
    const rows = data.scenarios.map(scenario => {
      const figures = scenario.latency_ns[state.purpose];
      const cells = Object.keys(STATISTICS).map(statistic => {
        const { us, figure, range, word } = latency(scenario, state.purpose, statistic);
        if (known(us)) return [duration(us), spread(figure, us)].filter(Boolean).join(' · ');
        return element('span', { className: 'range' }, range ? `${range}, ${word}` : word);
      });
      const most = figures && !isSaturated(scenario) && known(figures.max) ? duration(figures.max / 1e3) : null;
      return [scenario.name, figures ? whole.format(figures.count) : null, ...cells, most];
    });
    const measured = measuredFor(selected(), state.purpose);
    if (measured) {
      rows.unshift(['recorded hardware', known(measured.count) ? whole.format(measured.count) : null,
        ...Object.keys(STATISTICS).map(statistic => (known(measured[statistic]) ? duration(measured[statistic] / 1e3) : null)), null]);
    }
    return table(['Scenario', 'Requests', ...Object.values(STATISTICS), 'max'], rows);
  }

  function drawPercentiles() {
    const traces = [measuredTrace(), intervalsTrace(), ...data.scenarios.map(curveTrace)].filter(known);
    const legend = data.scenarios.map((scenario, i) => legendItem(swatch(style(i)), `${scenario.name}${isSaturated(scenario) ? ' (saturated: no curve)' : ''}`));
    if (intervalsTrace()) legend.push(legendItem(stroke(alpha(style(state.scenario).colour, 0.4)), '80 % interval'));
    if (measuredTrace()) legend.unshift(legendItem(swatch(measuredStyle()), 'recorded hardware'));
    const far = Math.max(100, ...traces.flatMap(trace => trace.x.filter(known)));
    const ticks = PERCENTILE_TICKS.filter(([rank]) => rank <= far * 1.2 && !(narrow() && rank === 1));
    return show('percentiles', {
      title: `Latency of ${plural(state.purpose)} by percentile`, legend, traces, reading: percentileReading(), numbers: percentileNumbers,
      layout: traces.length ? layout({
        hovermode: 'closest',
        xaxis: axis({ type: 'log', range: [0, Math.log10(far) + 0.08], tickvals: ticks.map(([rank]) => rank), ticktext: ticks.map(([, text]) => `${text} %`) }),
        yaxis: latencyAxis(traces.flatMap(trace => trace.y.filter(known))),
      }) : nothing('No percentiles: nothing here has a steady latency.'),
    });
  }

  // 2. latency over time
  function latencyLines(scenario, index, prominent) {
    const series = scenario.time.by_class[state.purpose];
    if (!series) return [];
    const x = inUnit(middles(scenario.time));
    const { colour, dash } = style(index);
    const drawn = (values, name, properties) => ({
      ...line(x, values, name, { color: colour, dash: prominent ? 'solid' : dash, ...properties }), text: latencyText(values), ...hoverLatency(`${name}, ${scenario.name}`),
    });
    if (!series.p99_us) return [drawn(series.mean_us, 'mean', { width: prominent ? 2.5 : 1.5 })];
    return [
      band(x, series.p50_us, series.p99_us, alpha(colour, prominent ? 0.2 : 0.1)),
      drawn(series.p50_us, 'p50', { width: prominent ? 1.5 : 1 }), drawn(series.p99_us, 'p99', { width: prominent ? 2.5 : 1.5 }),
    ];
  }

  /** The p99 of the typical and of the worst interval of a scenario, or null. */
  function typicalAndWorst({ time }) {
    const values = time.by_class[state.purpose]?.p99_us ?? [];
    const ordered = values.filter(known).toSorted((a, b) => a - b);
    if (!ordered.length) return null;
    const worst = ordered.at(-1);
    const middle = numbers => numbers[Math.floor(numbers.length / 2)];
    const arrivals = time.by_class[state.purpose].arrivals.filter(value => value > 0).toSorted((a, b) => a - b);
    return { typical: middle(ordered), worst, when: middles(time)[values.indexOf(worst)], requests: middle(arrivals) };
  }

  const lengthOfInterval = ({ time }) => trimmed(time.end_s[0] - time.start_s[0]) + NBSP + 's';

  function latencyTimeReading() {
    const scenario = selected();
    const what = plural(state.purpose);
    if (!scenario.time.by_class[state.purpose]) return `${scenario.name} saw no ${what}.`;
    if (isSaturated(scenario)) return `${scenario.name} is saturated: the mean latency of its ${what} follows the backlog and says how far behind it is, not how fast it is.`;
    const own = typicalAndWorst(scenario);
    if (!own) return `No ${what} arrived.`;
    const other = compared() && typicalAndWorst(compared());
    const slowest = own.requests > 1 ? `the slowest of ${own.requests} ${what} takes` : 'a request takes'; // the p99 of few is the slowest
    const [how, to] = own.requests < 100 ? [slowest, 'about'] : [`99${NBSP}% of ${what} end`, 'within'];
    return `In a typical interval of ${lengthOfInterval(scenario)} ${how} ${to} ${duration(own.typical)} on ${scenario.name}; in the worst, at ${moment(own.when)}, ${to} ${duration(own.worst)}.`
      + (other ? ` On ${compared().name} it is ${duration(other.typical)} and ${duration(other.worst)}.` : '');
  }

  function latencyTimeNumbers() {
    const { time } = selected();
    const series = time.by_class[state.purpose];
    if (!series) return [];
    const columns = [['p50', series.p50_us], ['mean', series.mean_us], ['p99', series.p99_us]].filter(([, values]) => values);
    return table(['From', ...columns.map(([name]) => name)],
      time.start_s.map((start, i) => [moment(start), ...columns.map(([, values]) => (known(values[i]) ? duration(values[i]) : null))]));
  }

  function drawLatencyTime() {
    const scenario = selected();
    const other = compared();
    const traces = [...(other ? latencyLines(other, state.compare, false) : []), ...latencyLines(scenario, state.scenario, true)];
    const text = one => `${one.name}: ${isSaturated(one) ? 'mean (saturated)' : 'p50 to p99'}`;
    const solid = { ...style(state.scenario), dash: 'solid', symbol: null };
    const legend = [legendItem(swatch(solid), text(scenario)), ...(other ? [legendItem(swatch({ ...style(state.compare), symbol: null }), text(other))] : [])];
    const values = traces.filter(trace => trace.hoverinfo !== 'skip').flatMap(trace => trace.y).filter(known);
    return show('latency-time', {
      title: `Latency of ${plural(state.purpose)} over time`, legend, traces, reading: latencyTimeReading(), numbers: latencyTimeNumbers,
      layout: values.length ? layout({ xaxis: timeAxis(), yaxis: { ...latencyAxis(values), fixedrange: true } }) : nothing(`No ${plural(state.purpose)} here.`),
    });
  }

  // Several series, one below the other on one time axis: each row has its own scale.
  function stackedRows(rows) {
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
    return layout({ ...how, margin: { l: 58, r: 20, t: 22, b: 40 }, hoversubplots: 'axis' });
  }

  // 3. requests over time by purpose
  function rates(time, values) {
    return values.map((value, i) => value / Math.max(time.end_s[i] - time.start_s[i], 1e-9));
  }

  function total(time, key) {
    return time.start_s.map((_, i) => Object.values(time.by_class).reduce((sum, series) => sum + series[key][i], 0));
  }

  function requestRow(purpose) {
    const { time } = selected();
    const series = time.by_class[purpose];
    const x = inUnit(middles(time));
    const arrivals = rates(time, series.arrivals);
    const completions = rates(time, series.completions);
    const prominent = purpose === state.purpose;
    const colour = prominent ? style(state.scenario).colour : css('--faint');
    const top = niceAbove(Math.max(...arrivals, ...completions, 1e-3));
    const text = completions.map((value, i) => `${count(value)}/s, arrived ${count(arrivals[i])}/s`);
    const mean = series.completions.reduce((a, b) => a + b, 0) / Math.max(endOf(selected()) - time.start_s[0], 1e-9);
    return {
      label: `${plural(purpose)}, ${count(mean)}/s`, prominent, top, ticks: ['0', `${count(top)}/s`],
      traces: [
        { ...line(x, completions, 'completions', { color: colour, width: 1.2 }), mode: 'lines', fill: 'tozeroy', fillcolor: alpha(colour, prominent ? 0.45 : 0.35), text, hovertemplate: `%{text}<extra>${plain(plural(purpose))}</extra>` },
        { ...line(x, arrivals, 'arrivals', { color: css('--soft'), width: 1, dash: 'dot' }), mode: 'lines', hoverinfo: 'skip' },
      ],
    };
  }

  function requestsReading() {
    const scenario = selected();
    const { time } = scenario;
    const arrivals = rates(time, total(time, 'arrivals'));
    const seconds = Math.max(endOf(scenario) - (time.start_s[0] ?? 0), 1e-9);
    const sum = key => total(time, key).reduce((a, b) => a + b, 0);
    const peak = arrivals.indexOf(Math.max(...arrivals));
    const left = Math.max(sum('arrivals') - sum('completions'), 0);
    const queues = isSaturated(scenario) || left > 0.05 * sum('arrivals');
    const ending = queues ? `only ${count(sum('completions') / seconds)} complete, so the rest queue up` : `all ${left ? `but ${whole.format(left)} ` : ''}of them complete before the end`;
    return `${count(sum('arrivals') / seconds)} requests/s arrive on average and ${count(arrivals[peak])}/s at the peak, at ${moment(middles(time)[peak])}; on ${scenario.name} ${ending}.`;
  }

  function requestsNumbers() {
    const { time } = selected();
    const purposes = data.purposes.filter(purpose => purpose in time.by_class);
    const cells = purposes.flatMap(purpose => [rates(time, time.by_class[purpose].arrivals), rates(time, time.by_class[purpose].completions)]);
    return table(['From', ...purposes.flatMap(purpose => [`${plural(purpose)}: arrivals/s`, 'completions/s'])],
      time.start_s.map((start, i) => [moment(start), ...cells.map(values => count(values[i]))]));
  }

  function drawRequests() {
    const { time } = selected();
    const rows = data.purposes.filter(purpose => purpose in time.by_class).map(requestRow);
    const legend = [
      legendItem(area(alpha(style(state.scenario).colour, 0.55)), 'completions'),
      legendItem(swatch({ colour: css('--soft'), dash: 'dot' }), 'arrivals'),
    ];
    return show('requests', {
      title: `Requests over time on ${selected().name}`, legend, traces: rows.flatMap(row => row.traces), height: Math.max(narrow() ? 300 : 350, 62 * rows.length + 60),
      layout: rows.length ? stackedRows(rows) : nothing('No requests.'), reading: rows.length ? requestsReading() : '', numbers: requestsNumbers,
    });
  }

  // 4. outstanding over time, all scenarios
  const queuesUp = scenario => scenario.verdict.load !== 'steady';

  /** Requests under way in each interval: on average by Little's law, or what has piled up where a backlog grows. */
  function outstanding(scenario) {
    const { time } = scenario;
    if (!queuesUp(scenario)) {
      return time.start_s.map((start, i) => Object.values(time.by_class)
        .reduce((sum, series) => sum + (series.mean_us[i] ?? 0) * series.arrivals[i], 0) / 1e6 / Math.max(time.end_s[i] - start, 1e-9));
    }
    const arrivals = total(time, 'arrivals');
    const completions = total(time, 'completions');
    let waiting = 0;
    return arrivals.map((value, i) => { waiting += value - completions[i]; return Math.max(waiting, 0); });
  }

  function outstandingTrace(scenario, index) {
    const values = outstanding(scenario);
    const { colour, dash } = style(index);
    const bold = index === state.scenario;
    return {
      x: inUnit(middles(scenario.time)), y: values.map(value => Math.max(value, HARDLY_ANY)), text: values.map(count), name: plain(scenario.name),
      hovertemplate: `%{text} outstanding<extra>${plain(scenario.name)}</extra>`, mode: 'lines', opacity: bold || index === state.compare ? 1 : 0.85,
      line: { color: colour, dash, width: bold ? 2 : 1.25 },
    };
  }

  const HARDLY_ANY = 0.01; // the foot of the logarithmic axis

  function outstandingReading() {
    const scenario = selected();
    const values = outstanding(scenario);
    if (!values.length) return '';
    const most = Math.max(...values);
    const when = moment(middles(scenario.time)[values.indexOf(most)]);
    if (isSaturated(scenario)) return `The backlog on ${scenario.name} grows to ${whole.format(most)} requests and does not come back.`;
    if (queuesUp(scenario)) return `The backlog on ${scenario.name} reaches ${whole.format(most)} requests, at ${when}.`;
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    return `On ${scenario.name} ${count(mean)} requests are under way on average, and ${count(most)} in the busiest interval of ${lengthOfInterval(scenario)}, at ${when}; a line that keeps rising is a system that does not keep up.`;
  }

  function drawOutstanding() {
    const order = data.scenarios.map((_, i) => i).sort((a, b) => (a === state.scenario) - (b === state.scenario));
    const traces = order.map(i => outstandingTrace(data.scenarios[i], i));
    const most = Math.max(10, ...traces.flatMap(trace => trace.y));
    const range = [Math.log10(HARDLY_ANY) - 0.06, Math.log10(most) + 0.15];
    const powers = Array.from({ length: Math.floor(range[1]) - Math.log10(HARDLY_ANY) + 1 }, (_, i) => HARDLY_ANY * 10 ** i);
    const shown = [selected(), compared()].filter(known);
    const columns = shown.map(outstanding);
    const text = scenario => scenario.name + (queuesUp(scenario) ? ': backlog' : '');
    return show('outstanding', {
      title: 'Outstanding requests over time', traces, reading: outstandingReading(),
      legend: data.scenarios.map((scenario, i) => legendItem(swatch({ ...style(i), symbol: null }), text(scenario))),
      layout: layout({
        xaxis: timeAxis(), yaxis: axis({ type: 'log', range, tickvals: powers, ticktext: powers.map((power, i) => (i ? trimmed(power) : `≤${NBSP}${HARDLY_ANY}`)), fixedrange: true }),
      }),
      numbers: () => table(['From', ...shown.map(scenario => scenario.name)], selected().time.start_s.map((start, i) => [
        moment(start), ...columns.map(values => (known(values[i]) ? count(values[i]) : null))])),
    });
  }

  // 5. stations over time
  const FEW_STATIONS = 3;

  /** The top of the scale of stations: all of it for what is busy, less for what is nearly idle. */
  function topOf(rows) {
    const most = rows.flatMap(row => row[state.stations]).reduce((a, b) => Math.max(a, b), 0);
    if (state.stations === 'outstanding') return niceAbove(Math.max(most, 1));
    return most >= 40 ? 100 : niceAbove(Math.max(most, 1));
  }
  const stationMiddles = ({ start_s: starts }) => {
    const step = starts.length > 1 ? starts[1] - starts[0] : spanShown();
    return starts.map((start, i) => (start + (starts[i + 1] ?? start + step)) / 2);
  };

  function stationRows({ rows }, x) {
    const { colour } = style(state.scenario);
    const utilisation = state.stations === 'busy_pct';
    return rows.map(row => {
      const values = row[state.stations];
      const top = topOf([row]);
      return {
        label: `${row.name}, ${row.resource}`, prominent: true, top, ticks: ['0', utilisation ? `${trimmed(top)} %` : count(top)],
        traces: [{
          ...line(x, values, row.name, { color: colour, width: 1.2 }), mode: 'lines', fill: 'tozeroy', fillcolor: alpha(colour, 0.4),
          hovertemplate: `%{y:.3~r}${utilisation ? ' %' : ' outstanding'}<extra>${plain(row.name)}, ${plain(row.resource)}</extra>`,
        }],
      };
    });
  }

  function heatMap({ rows }, x, height) {
    const utilisation = state.stations === 'busy_pct';
    const places = rows.map((_, i) => i);
    const every = Math.max(1, Math.ceil((rows.length * 15) / (height - 90)));
    const ticks = places.filter(i => i % every === 0);
    const top = topOf(rows);
    const amount = value => (utilisation ? `${trimmed(value)} %` : count(value));
    const traces = [{
      type: 'heatmap', x, y: places, z: rows.map(row => row[state.stations]), zmin: 0, zmax: top, colorscale: 'Cividis',
      ygap: height / rows.length > 14 ? 2 : 0, text: rows.map(row => x.map(() => plain(`${row.name}, ${row.resource}`))),
      hovertemplate: `%{text}<br>%{z:.3~r}${utilisation ? ' %' : ' outstanding'}<extra></extra>`,
      colorbar: {
        orientation: 'h', x: 1, xanchor: 'right', y: 1, yanchor: 'bottom', ypad: 6, len: narrow() ? 0.7 : 0.28, thickness: 8, outlinewidth: 0,
        tickvals: [0, top / 2, top], ticktext: [utilisation ? 'idle' : '0', amount(top / 2), amount(top)],
        tickfont: { size: 12, color: css('--soft') }, ticklabelposition: 'outside top',
      },
    }];
    const yaxis = axis({
      tickvals: ticks, ticktext: ticks.map(i => plain(shortened(rows[i].name, narrow() ? 14 : 28)) + ' '), range: [rows.length - 0.5, -0.5], automargin: true, showgrid: false, fixedrange: true,
    });
    return { traces, how: layout({ hovermode: 'closest', margin: { l: 58, r: 20, t: 44, b: 40 }, xaxis: timeAxis(), yaxis }) };
  }

  function stationsReading({ rows, left_out: leftOut }) {
    const hidden = leftOut ? ` (${leftOut} less busy stations are not drawn)` : '';
    if (state.stations === 'outstanding') {
      const peak = row => Math.max(...row.outstanding, 0);
      const fullest = rows.toSorted((a, b) => peak(b) - peak(a))[0];
      const mean = known(fullest.queue_mean) ? `; over the whole run it holds ${count(fullest.queue_mean)} on average` : '';
      return `Counted at the end of each interval: at most ${whole.format(peak(fullest))}, at ${fullest.name}${mean}${hidden}.`;
    }
    const mean = row => (known(row.utilisation) ? row.utilisation : row.busy_pct.reduce((a, b) => a + b, 0) / Math.max(row.busy_pct.length, 1) / 100);
    const ordered = rows.toSorted((a, b) => mean(b) - mean(a));
    const busiest = ordered[0];
    const peak = Math.max(...busiest.busy_pct, 0) / 100;
    const among = rows.length > 1 ? `; the median of ${rows.length} stations is ${percent(mean(ordered[Math.floor(ordered.length / 2)]))}` : '';
    return `The busiest part is ${busiest.name}, ${busiest.resource}: ${percent(mean(busiest))} of the time, and ${percent(peak)} in its busiest interval${among}${hidden}.`;
  }

  function stationsNumbers({ rows }) {
    return table(['Station', 'Kind', 'Busiest resource', 'Mean utilisation', 'Highest in an interval', 'Mean queue', 'Requests'], rows.map(row => [
      row.name, row.kind, row.resource, known(row.utilisation) ? percent(row.utilisation) : null, percent(Math.max(...row.busy_pct, 0) / 100),
      known(row.queue_mean) ? count(row.queue_mean) : null, known(row.requests) ? whole.format(row.requests) : null]));
  }

  function drawStations() {
    const { stations, name } = selected();
    const { rows } = stations;
    const title = `Stations of ${name}: ${MEASURES[state.stations]}`;
    if (!rows.length) return show('stations', { title, legend: [], traces: [], layout: nothing('No stations were recorded.'), reading: '', numbers: () => [] });
    const x = inUnit(stationMiddles(stations));
    const few = rows.length <= FEW_STATIONS;
    const height = few ? 130 + rows.length * 80 : Math.min(620, 110 + rows.length * 20);
    const lanes = few ? stationRows(stations, x) : [];
    const { traces, how } = few ? { traces: lanes.flatMap(lane => lane.traces), how: stackedRows(lanes) } : heatMap(stations, x, height);
    return show('stations', { title, legend: [], traces, layout: how, height, reading: stationsReading(stations), numbers: () => stationsNumbers(stations) });
  }

  const TIME_CHARTS = { 'latency-time': drawLatencyTime, requests: drawRequests, outstanding: drawOutstanding, stations: drawStations };

  // ------------------------------------------------------------------------------------------------- what is known
  const MEANINGS = {
    calibration: {
      none: 'Not calibrated: no replay on a model of the recorded hardware was compared with the recording.',
      uncalibrated: 'Uncalibrated: a replay on a model of the recorded hardware did not reproduce the recording.',
      calibrated: 'Calibrated: a replay on a model of the recorded hardware reproduced the recording.',
    },
    cache: {
      'not modelled': 'The cache is not modelled: only the requests that missed it were recorded, and they stay the same.',
      'not warmed': 'The cache was not warm when the run ended.', warm: 'The cache starts warm.', cold: 'The cache starts cold.',
    },
    arrivals: {
      recorded: 'Arrivals are the recorded ones.', inferred: 'Arrivals were inferred from what depends on what.', synthetic: 'Arrivals are synthetic.',
    },
    locks: { modelled: 'Locks are modelled.', 'not modelled': 'Locks between transactions are not modelled.' },
  };
  const meaning = (scenario, what) => MEANINGS[what][scenario.verdict[what]] ?? `${capital(what)}: ${scenario.verdict[what]}.`;
  const items = texts => element('ul', {}, texts.map(text => element('li', {}, text)));
  const warning = text => [verdictIcon('behind', 'warning'), ' ', text];

  function selfCheck({ name, conservation: check }) {
    const sums = `${whole.format(check.requests_in)} commands went in and ${whole.format(check.requests_out)} came out`;
    if (check.requests_in === check.requests_out && check.little && check.busy) return `Self-check of ${name}: ${sums}; Little’s law and busy time hold at every station.`;
    const broken = [check.little ? null : 'Little’s law', check.busy ? null : 'busy time'].filter(known);
    return warning(`Self-check of ${name} failed: ${sums}${broken.length ? `; ${list(broken)} does not hold` : ''}.`);
  }

  /** To stay small, a page of many scenarios draws fewer points. */
  function coarseness() {
    const merged = data.merged_intervals;
    return merged > 1 ? [`Each point over time stands for ${merged} intervals of the result: the worst p99 and the average of the rest.`] : [];
  }

  /** What was assumed, each device once above its parameters. */
  function assumedTable(assumed) {
    const named = assumed.map(({ what, value, source }) => {
      const cut = what.lastIndexOf(', ');
      return { device: cut < 0 ? '' : what.slice(0, cut), parameter: cut < 0 ? what : what.slice(cut + 2), value, source };
    });
    const node = table(['What', 'Value', 'Source'], named.map(one => [one.parameter, one.value, one.source]), { className: 'numbers words' });
    [...node.tBodies[0].rows].forEach((row, i) => {
      const { device } = named[i];
      if (device && device !== named[i - 1]?.device) row.before(element('tr', { className: 'group' }, element('th', { colSpan: 3, scope: 'rowgroup' }, device)));
    });
    return node;
  }

  function drawKnown() {
    const scenario = selected();
    const trace = traceOf(scenario);
    const measured = data.purposes.filter(purpose => purpose in trace.measured_latency_ns).map(plural);
    const assumed = scenario.assumed ?? [];
    $('known').replaceChildren(
      element('div', {}, element('h3', {}, 'Measured'), items([
        `${whole.format(trace.requests)} requests in ${span(trace.span_ns / 1e9)} of ${trace.name}, recorded as ${trace.source_format}`
          + (commandsOf(trace) === trace.requests ? '.' : `; some of them were joined, so that ${whole.format(commandsOf(trace))} commands reached the device.`),
        measured.length ? `Latency on the recorded hardware: ${list(measured)}.` : 'The trace holds no latency of the recorded hardware.',
        ...(trace.warnings ?? []).map(warning), selfCheck(scenario)])),
      element('div', {}, element('h3', {}, 'Inferred'), items([...(trace.inferred ?? []), meaning(scenario, 'arrivals')])),
      element('div', {}, element('h3', {}, 'Left out'), items([...['calibration', 'cache', 'locks'].map(what => meaning(scenario, what)), ...coarseness()])),
      element('div', { className: 'wide' }, element('h3', {}, `Assumed for ${scenario.name}`),
        assumed.length ? element('div', { className: 'scroll', tabIndex: 0 }, assumedTable(assumed)) : element('p', {}, 'Nothing beyond the scenario file.'),
        element('details', {}, element('summary', {}, 'Scenario file as it was run'), element('pre', { tabIndex: 0 }, scenario.toml))));
    $('footer').textContent = `tiersim ${scenario.tool_version} · seed ${scenario.seed} · trace ${trace.name} ${trace.hash.slice(0, 12)} · this page holds all its data and loads nothing`;
  }

  // ---------------------------------------------------------------------------------------------------- together
  function fillSelect(id, options, change) {
    $(id).replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    $(id).addEventListener('change', event => change(event.target.value));
  }

  function syncControls() {
    $('scenario').value = state.scenario;
    $('purpose').value = state.purpose;
    $('statistic').value = state.statistic;
    $('measure').value = state.stations;
    [...$('compare').options].forEach(option => { option.disabled = Number(option.value) === state.scenario; });
    $('compare').value = state.compare;
    $('whole-run').hidden = !state.window;
  }

  function drawCharts() {
    return Promise.all([drawPercentiles(), ...Object.values(TIME_CHARTS).map(draw => draw())]);
  }

  function draw() {
    syncControls();
    markSelection();
    drawComparison();
    drawKnown();
    return drawCharts();
  }

  function select(change) {
    Object.assign(state, change);
    if (state.compare === state.scenario) state.compare = -1;
    writeHash();
    return draw();
  }

  function zoom(seconds) {
    state.window = seconds;
    syncControls();
    Object.values(TIME_CHARTS).forEach(one => one());
  }

  function linkCharts() {
    for (const id of Object.keys(TIME_CHARTS)) {
      $(id).on('plotly_relayout', change => {
        const range = change['xaxis.range'] ?? [change['xaxis.range[0]'], change['xaxis.range[1]']];
        if (known(range[0]) && known(range[1])) zoom(range.map(value => value * timeUnit(spanShown())[1]));
      });
      $(id).on('plotly_doubleclick', () => zoom(null));
    }
    $('percentiles').on('plotly_click', event => {
      const index = event.points[0].customdata;
      if (known(index)) select({ scenario: index });
    });
    $('percentiles').on('plotly_doubleclick', () => drawPercentiles());
  }

  function toggleTheme() {
    const dark = getComputedStyle(root).colorScheme === 'dark';
    root.dataset.theme = dark ? 'light' : 'dark';
    redraw();
  }

  function redraw() {
    drawCards();
    return draw();
  }

  /** Paper is white and narrow: draw for it, and come back. */
  function preparePrint() {
    const theme = root.dataset.theme;
    addEventListener('beforeprint', () => { root.dataset.theme = 'light'; root.classList.add('printing'); redraw(); });
    addEventListener('afterprint', () => {
      root.classList.remove('printing');
      if (theme) root.dataset.theme = theme;
      else delete root.dataset.theme;
      redraw();
    });
  }

  function start() {
    const names = data.scenarios.map((scenario, i) => [i, scenario.name]);
    const measure = element('select', { id: 'measure', ariaLabel: 'Shown for stations' });
    addFigure('percentiles');
    addFigure('latency-time');
    addFigure('requests');
    addFigure('outstanding');
    addFigure('stations', { className: 'wide', control: measure });
    fillSelect('scenario', names, value => select({ scenario: Number(value) }));
    fillSelect('compare', [[-1, 'nothing'], ...names], value => select({ compare: Number(value) }));
    $('compare').closest('label').hidden = names.length < 2;
    fillSelect('purpose', data.purposes.map(purpose => [purpose, capital(plural(purpose))]), value => select({ purpose: value }));
    fillSelect('statistic', Object.entries(STATISTICS), value => select({ statistic: value }));
    fillSelect('measure', Object.entries(MEASURES).map(([value, text]) => [value, capital(text)]), value => select({ stations: value }));
    $('theme').addEventListener('click', toggleTheme);
    $('whole-run').addEventListener('click', () => zoom(null));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
    matchMedia('(max-width: 640px)').addEventListener('change', drawCharts);
    addEventListener('hashchange', () => { readHash(); draw(); });
    preparePrint();
    readHash();
    drawHead();
    drawCards();
    return draw().then(() => { linkCharts(); root.dataset.ready = '1'; });
  }

  start();
})();
