// One point in detail: its latencies, where the time of its queries goes, what is busy, its checkpoints over time.
const MOST_CLASSES = 10;
const MOST_SPENT = 9;

const factsOf = point => {
  const shown = standsFor(point);
  const { kind, value } = rateAt(point);
  const busiest = shown.bottleneck;
  return [
    ['Load', element('span', { className: `state ${shown.verdict.load}` }, verdictIcon(shown.verdict.load), verdictWord(shown))],
    kind ? [capital(kind), `${count(value)}/s`] : null,
    known(shown.shortfall) && shown.shortfall >= 0.5 ? ['Throughput', `${percent(shown.shortfall / 100)} short of the recording`] : null,
    known(shown.hit) ? ['Pool hit ratio', `${(100 * shown.hit).toFixed(2)}${NBSP}%`] : null,
    busiest?.station ? ['Busiest part', `${busiest.station} (${busiest.resource}), ${percent(busiest.utilisation ?? 0)} busy`] : null,
    known(shown.cost?.capex) ? ['Price', `${money(shown.cost)}${shown.cost.monthly ? `, and ${count(shown.cost.monthly)}${NBSP}${shown.cost.currency} a month` : ''}`] : null,
    shown.verdict.calibration ? ['Calibration', shown.verdict.calibration] : null,
  ].filter(known);
};

/** What it costs, over its years of use where it costs something every month. */
const money = cost => { const price = 'price' in cost ? cost.price : cost.capex; return known(price) ? `${whole.format(price)}${NBSP}${cost.currency}${known(cost.total) && cost.monthly ? ` over ${count(cost.years)} years` : ''}` : '–'; };

const ranInstead = ({ not_run: { whole: recorded, asked, ran } }) => `Sessions are cloned or left out whole (${recorded} recorded): ${times(asked)} the recorded load ran as ${times(ran)}`;

function pointNote(point) {
  if (!point) return source() === 'size' ? 'This candidate was not simulated: see why in the table below.' : 'This point is not in the file: the sweep was stopped before it.';
  const shown = standsFor(point);
  if (shown.status === 'failed') return `This point failed: ${point.error}`;
  if (shown.status !== 'done') return `This point was not simulated: ${point.error}`;
  const said = [];
  if (shown !== point) said.push(`Not simulated: ${point.error} What is shown is the point ${ownAxes().map((axis, i) => valueText(axis, shown.at[i])).join(', ')}.`);
  if (shown.not_run) said.push(`${ranInstead(shown)}.`);
  if (shown.extrapolated) said.push('Extrapolated: far from what was recorded.');
  if (shown.explanation) said.push(capital(shown.explanation) + '.');
  return said.join(' ');
}

const classesOf = shown => CLASSES.filter(name => name in shown.latency).slice(0, MOST_CLASSES);

function drawPointLatency(shown) {
  const names = shown?.status === 'done' ? classesOf(shown) : [];
  const found = names.flatMap((name, row) => Object.keys(STATISTICS).filter(key => key in shown.latency[name].ns).map(statistic => ({ name, row, statistic, x: row, ...latencyAt(shown, name, statistic) })));
  const values = valuesOf(found);
  const yLook = axisLook({ tickvals: names.map((_, i) => i), ticktext: names.map(name => `${plain(name)} `), range: [names.length - 0.5, -0.5], automargin: true, showgrid: false, fixedrange: true });
  const traces = Object.keys(STATISTICS).map((statistic, i) => {
    const own = found.filter(one => one.statistic === statistic && known(one.us));
    const { colour } = style(i);
    const offset = (i - 2) * 0.13;
    const { array, arrayminus } = whiskers(own, colour);
    return {
      x: own.map(({ us }) => us), y: own.map(({ row }) => row + offset), name: STATISTICS[statistic], mode: 'markers', marker: { color: colour, symbol: STATISTIC_SYMBOLS[statistic], size: 9 },
      error_x: { type: 'data', symmetric: false, array, arrayminus, thickness: 1.25, width: 0, color: alpha(colour, 0.6) }, text: own.map(one => plain(`${one.name}, ${STATISTICS[statistic]}: ${textOf(one)}`)), ...hoverLatency(''),
    };
  });
  const open = found.filter(({ us, figure }) => !known(us) && known(figure?.low) && known(figure?.high));
  if (open.length) {
    const rowOf = ({ row, statistic }) => row + (Object.keys(STATISTICS).indexOf(statistic) - 2) * 0.13;
    traces.push({ x: open.flatMap(({ figure }) => [figure.low / 1e3, figure.high / 1e3, null]), y: open.flatMap(one => [rowOf(one), rowOf(one), null]), name: 'range', mode: 'lines', line: { width: 5, color: alpha(css('--faint'), 0.6) }, hoverinfo: 'skip' });
  }
  const main = names[0];
  const first = main ? latencyAt(shown, main, 'p99') : {};
  show('point-latency', {
    title: 'Latency by class', traces: values.length ? traces : [], height: Math.max(240, 46 * names.length + 70),
    reading: main ? `99${NBSP}% of ${plural(main)} end within ${known(first.us) ? duration(first.us) : first.range ? `${first.range} (${first.word})` : `a time that is ${first.word}`}.` : 'Nothing was simulated here.',
    legend: values.length ? [...Object.keys(STATISTICS).map((key, i) => legendItem(swatch({ ...style(i), symbol: STATISTIC_SYMBOLS[key], dash: 'solid' }, 14), STATISTICS[key])), open.length ? legendItem(area(alpha(css('--faint'), 0.6)), 'only a range') : null].filter(known) : [],
    layout: values.length ? layout({ hovermode: 'closest', dragmode: false, margin: { l: 70, r: 20, t: 6, b: 36 }, xaxis: latencyAcross(values), yaxis: yLook })
      : nothing(shown?.status === 'done' ? 'Saturated: there is no steady latency.' : 'No latencies: the point was not simulated.'),
    numbers: () => [{
      caption: 'Latency by class', head: ['Class', 'Statistic', 'Latency (ns)', 'Low (ns)', 'High (ns)'],
      rows: found.map(({ name, statistic, us, figure }) => [name, STATISTICS[statistic], nsOrNull(us), figure?.low ?? null, figure?.high ?? null]),
    }],
  });
}

/** Queries, and commits, whose time is divided: `{label, us, mean}`. */
function spentOf(shown) {
  const queries = QUERIES.map((query, i) => ({ label: query.label, found: shown.queries[i], of: `${QUERY}${query.id}` })).filter(({ found }) => found?.us)
    .map(({ label, found, of }) => ({ label, us: found.us, of, total: found.us.reduce((a, b) => a + b, 0) })).filter(({ total }) => total > 0).slice(0, MOST_SPENT);
  const commits = shown.commits_us?.some(us => us > 0) ? [{ label: 'commit', us: shown.commits_us, of: 'commit', total: shown.commits_us.reduce((a, b) => a + b, 0) }] : [];
  return [...queries, ...commits];
}

function drawPointSpent(shown) {
  const rows = shown?.status === 'done' ? spentOf(shown) : [];
  const used = PARTS.map((_, i) => i).filter(i => rows.some(({ us }) => us[i] > 0));
  const traces = used.map(i => ({
    type: 'bar', orientation: 'h', name: partWord(PARTS[i]), y: rows.map((_, k) => k), x: rows.map(({ us, total }) => (100 * us[i]) / total), customdata: rows.map(({ of }) => of),
    marker: { color: css(PART_COLOURS[i]), line: { color: css('--page'), width: 1 } }, text: rows.map(({ us, total }) => `${duration(us[i])}, ${percent(us[i] / total)}`), textposition: 'none',
    hovertemplate: `${plain(partWord(PARTS[i]))}: %{text}<extra></extra>`,
  }));
  const labels = rows.map(({ label, total }) => `${plain(isolated(cut(label, narrow() ? 15 : 26)))}, ${duration(total)} `);
  const first = rows[0];
  const most = first ? first.us.indexOf(Math.max(...first.us)) : -1;
  const pick = ([of]) => (CLASSES.includes(of) || queryPlace(of) >= 0 ? choose({ of }) : null);
  showClickable('point-spent', pick, {
    title: 'Where the time of a call goes', traces, height: Math.max(240, 36 * rows.length + 70), legend: used.map(i => legendItem(area(css(PART_COLOURS[i])), partWord(PARTS[i]))),
    reading: first ? `Of ${duration(first.total)} of the query that takes most time ${percent(first.us[most] / first.total)} is ${partWord(PARTS[most])}.` : 'The rows of this file divide no time of queries.',
    layout: rows.length ? layout({
      barmode: 'stack', bargap: 0.3, hovermode: 'closest', dragmode: false, margin: { l: 58, r: 24, t: 6, b: 36 }, xaxis: axis({ range: [0, 100], ticksuffix: ' %', dtick: narrow() ? 50 : 20, tickangle: 0, fixedrange: true }),
      yaxis: axis({ tickvals: rows.map((_, k) => k), ticktext: labels, range: [rows.length - 0.5, -0.5], automargin: true, showgrid: false, fixedrange: true }),
    }) : nothing('No time of queries is known here.'),
    numbers: () => [{ caption: 'Time of a call', head: ['Query', ...PARTS.map(part => `${partWord(part)} (µs)`)], rows: rows.map(({ label, us }) => [label, ...us]) }],
  });
}

function drawPointStations(shown) {
  const rows = shown?.stations ?? [];
  const colour = css('--series-0');
  show('point-stations', {
    title: 'What is busy', height: Math.max(240, 28 * rows.length + 70), legend: [],
    traces: rows.length ? [{
      type: 'bar', orientation: 'h', y: rows.map((_, i) => i), x: rows.map(([, , share]) => share * 100), marker: { color: rows.map(([, , share]) => (share >= 0.8 ? css('--bad') : colour)) },
      text: rows.map(([name, resource, share, queue]) => plain(`${name}, ${resource}: ${percent(share)}${known(queue) ? `; ${count(queue)} wait or are served on average` : ''}`)), textposition: 'none', ...hoverLatency(''),
    }] : [],
    reading: rows.length ? `${rows[0][0]} (${rows[0][1]}) is busy ${percent(rows[0][2])} of the time.` : 'No part is in this row.',
    layout: rows.length ? layout({
      bargap: 0.35, hovermode: 'closest', dragmode: false, margin: { l: 58, r: 24, t: 6, b: 36 }, xaxis: axis({ range: [0, 100], ticksuffix: ' %', dtick: narrow() ? 50 : 20, tickangle: 0, fixedrange: true }),
      yaxis: axis({ tickvals: rows.map((_, i) => i), ticktext: rows.map(([name, resource]) => `${plain(cut(`${name}, ${resource}`, narrow() ? 20 : 30))} `), range: [rows.length - 0.5, -0.5], automargin: true, showgrid: false, fixedrange: true }),
    }) : nothing('No part is in this row.'),
    numbers: () => [{ caption: 'Parts', head: ['Part', 'Resource', 'Utilisation', 'Mean queue'], rows }],
  });
}

// ------------------------------------------------------------------------------------------------- checkpoints over time
const shading = (spans, colour) => spans.map(([x0, x1]) => ({ type: 'rect', x0, x1, yref: 'paper', y0: 0, y1: 1, layer: 'below', line: { width: 0 }, fillcolor: colour }));

/** Latencies of a kept result over time, on a logarithmic axis, its checkpoints shaded. */
function keptTimeline({ time }) {
  const x = time.start_s.map((start, i) => (start + time.end_s[i]) / 2);
  const names = [...CLASSES, ...Object.keys(time.by_class)].filter((name, i, all) => name in time.by_class && all.indexOf(name) === i);
  const lines = names.flatMap((name, i) => {
    const { colour } = style(i);
    const { mean_us: mean, p99_us: p99 } = time.by_class[name];
    return [[mean, 'mean', { color: colour, width: 2 }], [p99, 'p99', { color: colour, width: 1, dash: 'dot' }]].filter(([y]) => y?.some(known)).map(([y, what, look]) => ({ x, y: y.map(us => us || null), mode: 'lines', name: `${plain(name)}: ${what}`, line: look, text: latencyText(y), ...hoverLatency(`${name}, ${what}`) }));
  });
  const values = lines.flatMap(one => one.y).filter(value => value > 0);
  const dirty = time.dirty_pages;
  const most = dirty ? Math.max(...dirty.pages, 1) : 0;
  const below = dirty ? [{ x: dirty.s, y: dirty.pages.map(pages => pages || null), yaxis: 'y2', mode: 'lines', name: 'dirty pages', line: { color: css('--soft'), width: 1.5 }, text: dirty.pages.map(pages => `${whole.format(pages)} pages`), ...hoverLatency('dirty pages') }] : [];
  const lowest = dirty ? Math.log10(Math.max(Math.min(...dirty.pages.filter(pages => pages > 0), most), 1)) : 0;
  const highest = Math.max(Math.log10(Math.max(most, 1)), lowest + 0.5);
  return {
    traces: [...lines, ...below], values, legend: [
      ...names.map((name, i) => legendItem(swatch({ ...style(i), dash: 'solid', symbol: null }), plural(name))), legendItem(swatch({ colour: css('--soft'), dash: 'dot' }), 'p99'),
      time.spans_s.length ? legendItem(area(css('--shade')), 'checkpoint') : null, time.syncing_s.length ? legendItem(area(css('--sync')), 'its sync phase') : null,
    ].filter(known),
    layout: {
      hovermode: 'closest', dragmode: false, margin: { l: 70, r: 20, t: 22, b: 40 }, xaxis: axis({ ticksuffix: ' s', range: [time.start_s[0] ?? 0, time.end_s.at(-1) ?? 1], showgrid: false, fixedrange: true, nticks: narrow() ? 5 : 8, anchor: dirty ? 'y2' : 'y' }),
      yaxis: { ...latencyAxis(values), domain: [dirty ? 0.36 : 0, 1], fixedrange: true },
      ...(dirty ? { yaxis2: axis({ type: 'log', domain: [0, 0.24], range: [lowest - 0.1, highest + 0.1], ...logTicks([lowest, highest], whole.format), nticks: 3, fixedrange: true }) } : {}),
      annotations: [above('latency', 1), ...(dirty ? [above('dirty pages', 0.24)] : [])], shapes: [...shading(time.spans_s, css('--shade')), ...shading(time.syncing_s, css('--sync'))],
    },
    numbers: () => [{
      caption: 'Latency over time', overTime: true, head: ['From (s)', ...names.flatMap(name => [`${name}: mean (µs)`, `${name}: p99 (µs)`])],
      rows: time.start_s.map((start, i) => [start, ...names.flatMap(name => [time.by_class[name].mean_us?.[i] ?? null, time.by_class[name].p99_us?.[i] ?? null])]),
    }],
  };
}

/** Of a row alone, how long each checkpoint wrote and synced. */
function rowTimeline({ checkpoints }) {
  const phases = [['write_ns', 'writing', '--series-1'], ['sync_ns', 'syncing', '--series-3']];
  const traces = phases.map(([key, name, colour]) => {
    const there = checkpoints.filter(one => one[key] > 0);
    return { x: there.map(one => one.start_ns / 1e9), y: there.map(one => one[key] / 1e3), name, mode: 'markers', marker: { size: 11, color: css(colour), symbol: key === 'write_ns' ? 'square' : 'diamond' }, text: there.map(one => `${name} ${duration(one[key] / 1e3)}, ${whole.format(one.pages)} pages`), ...hoverLatency('') };
  });
  const values = traces.flatMap(one => one.y);
  const end = Math.max(...checkpoints.map(one => (one.end_ns ?? one.start_ns) / 1e9), 1e-3);
  return {
    traces, values, legend: phases.map(([key, name, colour]) => legendItem(swatch({ colour: css(colour), dash: 'solid', symbol: key === 'write_ns' ? 'square' : 'diamond' }, 14), name)),
    layout: { hovermode: 'closest', dragmode: false, margin: { l: 70, r: 20, t: 10, b: 40 }, xaxis: axis({ ticksuffix: ' s', range: [-0.03 * end, end * 1.05], fixedrange: true, nticks: 6 }), yaxis: { ...latencyAxis(values), fixedrange: true } },
    numbers: () => [{ caption: 'Checkpoints', head: ['Begins (ns)', 'Ends (ns)', 'Writing (ns)', 'Syncing (ns)', 'Pages', 'Bytes', 'Because of', 'Dip (%)'], rows: checkpoints.map(one => ['start_ns', 'end_ns', 'write_ns', 'sync_ns', 'pages', 'bytes', 'trigger', 'dip_pct'].map(key => one[key] ?? null)) }],
  };
}

function drawPointTime(shown) {
  const drawn = shown?.time ? keptTimeline(shown) : shown?.checkpoints?.some(one => one.write_ns > 0 || one.sync_ns > 0) ? rowTimeline(shown) : null;
  const many = shown?.checkpoints?.length ?? 0;
  show('point-time', {
    title: shown?.time ? 'Latency and checkpoints over time' : 'Checkpoints', traces: drawn?.values.length ? drawn.traces : [], legend: drawn?.values.length ? drawn.legend : [], height: drawn ? 380 : 240,
    reading: shown?.time ? '' : drawn ? `${many === 1 ? 'One checkpoint' : `${many} checkpoints`}. How latency moves during them stands only in whole results: sweep with --keep.` : '',
    layout: drawn?.values.length ? layout(drawn.layout) : nothing(shown?.status === 'done' ? 'No checkpoint ended, and no whole result was kept.' : 'The point was not simulated.'),
    numbers: drawn?.numbers ?? (() => []),
  });
}

function drawQuery() {
  const query = QUERIES[queryPlace(chosen.of)];
  $('study-query').hidden = !query;
  if (!query) return;
  const left = query.left_out ? element('small', {}, `The first ${whole.format([...query.text].length)} characters; ${whole.format(query.left_out)} more are not in this page.`) : null;
  $('study-query').replaceChildren(...[element('h3', {}, 'The query'), element('small', { className: 'source' }, `id ${query.id}`), element('pre', { tabIndex: 0, dir: 'auto', ariaLabel: 'Text of the query' }, query.text ?? 'Its text was not recorded.'), left].filter(known));
}

function addPoint() {
  if (!sources().length) return;
  $('point-section').hidden = false;
  if (sources().length > 1) $('point-choice').append(labelled('Details of', selector('point-source', sources().map(one => [one, SOURCES[one]]), value => choose({ source: value }))));
  const points = [...sweeps, ...loads].flatMap(one => one.points).concat(sizes.flatMap(one => one.candidates.map(each => each.point)).filter(known));
  const hasParts = point => point.commits_us || Object.values(point.queries ?? {}).some(query => query.us);
  const hasTime = point => point.time || point.checkpoints?.some(one => one.write_ns > 0 || one.sync_ns > 0);
  [
    'point-latency', points.some(hasParts) ? 'point-spent' : null, 'point-stations', points.some(hasTime) ? 'point-time' : null,
  ].filter(known).forEach(id => addFigure(id, { into: 'point-figures' }));
}

function drawPoint() {
  if (!sources().length) return;
  const point = shownPoint();
  const shown = standsFor(point);
  $('point-title').textContent = capital(titleOfPoint());
  const said = shown?.status === 'done' ? factsOf(point) : [];
  $('point-facts').replaceChildren(...said.map(([what, text]) => element('div', {}, element('dt', {}, what), element('dd', {}, text))));
  $('point-note').textContent = pointNote(point);
  drawQuery();
  const drawn = { 'point-latency': drawPointLatency, 'point-spent': drawPointSpent, 'point-stations': drawPointStations, 'point-time': drawPointTime };
  Object.entries(drawn).filter(([id]) => figures[id]).forEach(([, draw]) => draw(shown));
}
