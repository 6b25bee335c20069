// Results at several sizes of the buffer pool: a slider that moves the whole page, and latency against size.
const queryName = query => (query === ALL ? 'transactions' : query === COMMITS ? 'commits' : `“${shortened(data.queries[query].label, 60)}”`);

function addPool() {
  if (!POOLS.length) return;
  $('pool-control').hidden = false;
  $('pool').max = POOLS.length - 1;
  $('pool').addEventListener('input', event => select({ pool: Number(event.target.value) }));
  $('cards').before($('charts')); // what it moves begins with the cards
  $('charts').classList.add('first');
  $('pool-figures').hidden = false;
  const statistic = element('select', { id: 'pool-statistic', ariaLabel: 'Latency shown' });
  const query = element('select', { id: 'pool-query', ariaLabel: 'Latency of' });
  addFigure('latency-pool', { into: 'pool-figures', className: 'wide', control: element('div', { className: 'choices' }, query, statistic) });
  fillSelect('pool-statistic', Object.entries(STATISTICS), value => select({ statistic: value }));
  fillSelect('pool-query', [[ALL, 'Transactions'], ...(ANY_COMMITS ? [[COMMITS, 'Commits']] : []), ...data.queries.map((one, i) => [i, shortened(one.label, 60)])], value => select({ query: Number(value) }));
}

function syncPool() {
  if (!POOLS.length) return;
  $('pool').value = state.pool;
  $('pool').ariaValueText = bytes(POOLS[state.pool]);
  $('pool-size').textContent = bytes(POOLS[state.pool]);
  $('pool-statistic').value = state.statistic;
  $('pool-query').value = state.query;
}

const withPool = tier => tier.filter(scenario => known(poolOf(scenario)));
function pointOf(scenario) {
  const found = queryLatency(scenario, state.query, state.statistic);
  return { scenario, size: poolOf(scenario), ...found, figure: expectedFigure(scenario, found.figure, found.us, state.statistic, purposeOf(state.query)) };
}

function poolText({ scenario, size, us, figure, range, word }) {
  const value = known(us) ? [duration(us), spread(figure, us)].filter(Boolean).join(', ') : range ? `${range}, ${word}` : word;
  return plain(`${bytes(size)}: ${value}${scenario.extrapolated ? ' (extrapolated)' : ''}`);
}

function poolTraces(tier, index, top) {
  const points = withPool(tier).map(pointOf);
  const { colour, dash, symbol } = style(index);
  const bold = index === state.scenario;
  const places = points.map(({ size }) => [index, POOLS.indexOf(size)]);
  const marks = points.map(({ scenario }) => (scenario.extrapolated ? `${symbol}-open` : symbol));
  const common = { x: points.map(({ size }) => size), name: plain(tier[0].name), customdata: places };
  const look = { mode: 'lines+markers', line: { color: colour, dash, width: bold ? 3 : 1.75 } };
  const marker = { color: colour, symbol: marks, size: bold ? 11 : 9, line: { width: 2, color: colour } };
  const end = (figure, key) => (known(figure?.[key]) ? figure[key] / 1e3 : null);
  const open = points.filter(({ us, figure }) => !known(us) && known(figure?.low) && known(figure?.high));
  const full = points.filter(({ word }) => word === 'saturated');
  return [
    {
      ...common, ...look, marker, y: points.map(({ us }) => us ?? null), text: points.map(poolText), ...hoverLatency(tier[0].name),
      error_y: {
        type: 'data', symmetric: false, thickness: 1.25, width: 0, color: alpha(colour, 0.6),
        array: points.map(({ us, figure }) => (known(us) && known(end(figure, 'high')) ? end(figure, 'high') - us : 0)),
        arrayminus: points.map(({ us, figure }) => (known(us) && known(end(figure, 'low')) ? us - end(figure, 'low') : 0)),
      },
    },
    open.length ? {
      x: open.flatMap(({ size }) => [size, size, null]), y: open.flatMap(({ figure }) => [end(figure, 'low'), end(figure, 'high'), null]), name: 'range', mode: 'lines',
      line: { color: alpha(colour, 0.4), width: 7 }, text: open.flatMap(point => { const text = poolText(point); return [text, text, '']; }), ...hoverLatency(tier[0].name),
    } : null,
    full.length ? {
      x: full.map(({ size }) => size), y: full.map(() => top), name: 'saturated', mode: 'markers', marker: { symbol: 'x-thin', size: 11, line: { width: 2.5, color: colour } },
      text: full.map(poolText), ...hoverLatency(tier[0].name),
    } : null,
    {
      ...common, ...look, marker: { ...marker, size: bold ? 9 : 7 }, yaxis: 'y2', y: points.map(({ scenario }) => (isCached(scenario) ? 100 * scenario.hit_ratio.pool : null)),
      text: points.map(({ scenario, size }) => `${bytes(size)}: pool hit ratio ${hitRatio(scenario.hit_ratio?.pool)}`), ...hoverLatency(tier[0].name),
    },
  ].filter(known);
}

/** With the largest pool latency is below this share of that with the next smaller one: a larger one may help more. */
const STILL_FALLS = 0.95;

function poolReading(tiers) {
  const told = tiers.map(tier => {
    const resolved = withPool(tier).map(pointOf).filter(({ us }) => known(us));
    const [first, last] = [resolved[0], resolved.at(-1)];
    if (!first) return `${tier[0].name}: ${pointOf(withPool(tier)[0]).word}.`;
    const most = `${duration(first.us)} at ${bytes(first.size)}`;
    const falls = resolved.length > 1 && last.us < STILL_FALLS * resolved.at(-2).us ? ' and still falling' : '';
    return `${tier[0].name}: ${most}${first === last ? '' : `, ${duration(last.us)} at ${bytes(last.size)}${falls}`}.`;
  });
  return `${capital(STATISTICS[state.statistic])} of ${queryName(state.query)}. ${told.join(' ')}${tiers.flat().some(one => one.expected && errorOf(one, state.statistic)) ? ' Bars: the expected range.' : ''}${tiers.flat().some(one => one.extrapolated)
    ? ' Hollow points are extrapolated: the pool is more than four times as large, or less than a quarter as large, as the recorded one.' : ''}`;
}

/** The verdict on each storage at each size of the pool; null on a page without sizes. */
function verdictsBySize() {
  if (POOLS.length < 2) return null;
  const tiers = TIERS.map(withPool);
  const verdictAt = (tier, size) => tier.find(one => poolOf(one) === size);
  const rows = POOLS.map(size => [bytes(size), ...tiers.map(tier => verdictAt(tier, size)).map(one => (one ? verdictWord(one) : null))]);
  return element('div', { className: 'scroll', tabIndex: 0, role: 'group', ariaLabel: 'Verdict by size of the buffer pool' },
    table(['Buffer pool', ...tiers.map(([one]) => one.name)], rows, { className: 'numbers sizes' }));
}

function poolNumbers(tiers) {
  const short = ns => (known(ns) ? Number((ns / 1e3).toPrecision(5)) : null);
  return [{
    caption: `${STATISTICS[state.statistic]} of ${queryName(state.query)} against the size of the buffer pool`,
    head: ['Scenario', 'Buffer pool (MiB)', 'Latency (µs)', 'Low (µs)', 'High (µs)', 'Pool hit ratio (%)', 'Extrapolated', 'Note'],
    rows: tiers.flatMap(tier => withPool(tier).map(pointOf).map(({ scenario, size, us, figure, word }) => [
      tier[0].name, size / 2 ** 20, known(us) ? short(us * 1e3) : null, short(figure?.low), short(figure?.high),
      isCached(scenario) ? Number((100 * scenario.hit_ratio.pool).toPrecision(5)) : null, scenario.extrapolated ? 'yes' : 'no', word ?? 'resolved',
    ])),
  }];
}

function drawPool() {
  if (!POOLS.length) return;
  const tiers = TIERS.filter(tier => withPool(tier).length);
  const values = tiers.flatMap(withPool).map(pointOf).flatMap(({ us, figure }) => [us, ...(known(us) || known(figure) ? [figure?.low, figure?.high].filter(known).map(ns => ns / 1e3) : [])]).filter(value => value > 0);
  const yaxis = latencyAxis(values);
  const traces = tiers.flatMap(tier => poolTraces(tier, TIERS.indexOf(tier), 10 ** yaxis.range[1] * 0.93));
  const sizes = [...new Set(tiers.flatMap(withPool).map(poolOf))].sort((a, b) => a - b);
  const range = [Math.log10(sizes[0]) - 0.12, Math.log10(sizes.at(-1)) + 0.12];
  const ratios = traces.filter(trace => trace.yaxis === 'y2').flatMap(trace => trace.y).filter(known);
  const lowest = Math.min(...ratios, 99);
  const label = (text, y) => ({ text: plain(text), xref: 'paper', x: 0, xanchor: 'left', yref: 'paper', y, yanchor: 'bottom', showarrow: false, font: { size: 12, color: css('--soft') } });
  const there = symbol => swatch({ colour: css('--soft'), dash: 'solid', symbol });
  show('latency-pool', {
    title: `Latency of ${queryName(state.query)} against the size of the buffer pool`, traces, reading: poolReading(tiers), numbers: () => poolNumbers(tiers), height: narrow() ? 420 : 470,
    legend: [
      ...tiers.map(tier => legendItem(swatch(style(TIERS.indexOf(tier))), tier[0].name)),
      tiers.flat().some(one => one.extrapolated) ? legendItem(there('circle-open'), 'extrapolated') : null,
      traces.some(trace => trace.name === 'range') ? legendItem(stroke(alpha(css('--soft'), 0.4)), 'only a range') : null,
      traces.some(trace => trace.name === 'saturated') ? legendItem('×', 'saturated: no steady latency') : null,
    ].filter(known),
    layout: values.length ? layout({
      hovermode: 'closest', dragmode: false, margin: { l: 66, r: 20, t: 22, b: 40 },
      xaxis: axis({ type: 'log', range, tickvals: sizes, ticktext: sizes.map(bytes), anchor: 'y2', fixedrange: true }),
      yaxis: { ...yaxis, domain: [0.38, 1], fixedrange: true },
      yaxis2: axis({ domain: [0, 0.26], range: [Math.max(lowest - (100 - lowest) * 0.15, 0), 100 + (100 - lowest) * 0.08], ticksuffix: ' %', nticks: 4, fixedrange: true }),
      annotations: [label(`${STATISTICS[state.statistic]} of ${state.query in WHOLE ? queryName(state.query) : 'the query'}`, 1), label('pool hit ratio', 0.26)],
      shapes: [{ type: 'line', x0: POOLS[state.pool], x1: POOLS[state.pool], yref: 'paper', y0: 0, y1: 1, layer: 'below', line: { color: css('--faint'), width: 1.5, dash: 'dot' } }],
    }) : nothing(tiers.flat().some(one => isUnknown(one, state.statistic)) ? capital(WHY_UNKNOWN) : 'No figure is resolved at any size.'),
  });
}

/** A click on a point chooses its scenario and its size. */
function listenToPool() {
  if (!POOLS.length) return;
  listen('latency-pool', 'plotly_click', event => {
    const [scenario, pool] = event.points[0].customdata ?? [];
    if (known(scenario)) select({ scenario, pool: Math.max(pool, 0) });
  });
}
