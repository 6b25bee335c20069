// 1. latency by percentile
const PERCENTILE_TICKS = [[1, '0'], [2, '50'], [10, '90'], [100, '99'], [1e3, '99.9'], [1e4, '99.99'], [1e5, '99.999'], [1e6, '99.9999']];
const percentileAt = rank => `${+(100 - 100 / rank).toPrecision(Math.max(3, Math.ceil(Math.log10(rank)) + 2))} %`;

/** A curve twice: faint and dotted where the sample does not resolve it (from the last point that it does), and at full strength. */
function curveTraces(scenario, index) {
  const curve = scenario.curves[state.purpose];
  if (!curve) return [];
  const { colour, dash, symbol } = style(index);
  const bold = index === state.scenario;
  const common = { x: curve.rank, name: plain(scenario.name), customdata: curve.rank.map(() => index) };
  const text = curve.us.map((us, i) => `${percentileAt(curve.rank[i])}: ${duration(us)}${curve.resolved[i] ? '' : ', not resolved'}`);
  return [
    { ...common, y: curve.us.map((us, i) => (curve.resolved[i] && (curve.resolved[i + 1] ?? 1) && (curve.resolved[i - 1] ?? 1) ? null : us)), text, ...hoverLatency(scenario.name), mode: 'lines', opacity: 0.55, line: { color: colour, dash: 'longdash', width: bold ? 2 : 1.25 } },
    {
      ...common, y: curve.us.map((us, i) => (curve.resolved[i] ? us : null)), text, ...hoverLatency(scenario.name), mode: 'lines+markers', opacity: bold || index === state.compare ? 1 : 0.85,
      line: { color: colour, dash, width: bold ? 3.5 : 1.75 }, marker: { color: colour, symbol, size: bold ? 9 : 7, maxdisplayed: 9 },
    },
  ];
}

/** The intervals of the percentiles of the selected scenario, as upright strokes across its curve. */
function intervalsTrace() {
  const figures = selected().latency_ns[state.purpose] ?? {};
  const there = Object.entries(RANKS).filter(([key]) => !isUnknown(selected(), key) && known(figures[key]?.low) && known(figures[key]?.high));
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
  if (!points.length) return null; // a mean alone stands at no percentile
  const { colour, dash, symbol } = measuredStyle();
  return {
    x: points.map(([rank]) => rank), y: points.map(([, ns]) => ns / 1e3), text: points.map(([rank, ns]) => `${percentileAt(rank)}: ${duration(ns / 1e3)}`),
    name: 'recorded hardware', ...hoverLatency('recorded hardware'), mode: 'lines+markers', line: { color: colour, dash, width: 1.5 }, marker: { color: colour, symbol, size: 10 },
  };
}

function percentileReading() {
  const what = plural(state.purpose);
  const scenario = selected();
  const { us, word, range } = latency(scenario, state.purpose, 'p99');
  if (isUnknown(scenario, 'p99')) return `P99 of ${what} is unknown. The curves are simulated.`;
  const words = { saturated: 'no steady latency (saturated)', 'not resolved': 'too few' };
  const said = [`${known(us) ? duration(us) : range ?? words[word] ?? word} on ${scenario.name}`];
  const others = scenarios().filter((_, i) => i !== state.scenario && (state.compare < 0 || i === state.compare))
    .map(other => ({ name: other.name, ...latency(other, state.purpose, 'p99') }));
  const fastest = others.filter(other => known(other.us)).sort((a, b) => a.us - b.us)[0];
  if (fastest) said.push(`${duration(fastest.us)} on ${fastest.name}`);
  else if (compared() && others[0]?.range) said.push(`${others[0].range} on ${others[0].name}`);
  const measured = measuredFor(scenario, state.purpose)?.p99;
  if (known(measured)) said.push(`${duration(measured / 1e3)} on the recorded hardware`);
  return `P99 of ${what}${tailsKnown() ? '' : ', error unknown'}: ${said.join(', ')}.`;
}

/** Percentiles at which the curves are read off for their table. */
const READ_OFF = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999];

function percentileNumbers() {
  const short = ns => (known(ns) ? Number((ns / 1e3).toPrecision(5)) : null);
  const figuresOf = scenario => Object.keys(STATISTICS).map(statistic => {
    const { us, word } = latency(scenario, state.purpose, statistic);
    const figure = isSaturated(scenario) || isUnknown(scenario, statistic) ? {} : scenario.latency_ns[state.purpose]?.[statistic] ?? {};
    return [scenario.name, STATISTICS[statistic], known(us) ? short(us * 1e3) : null, short(figure.low), short(figure.high), word ?? figure.basis ?? ''];
  });
  const measured = measuredFor(selected(), state.purpose) ?? {};
  const recorded = Object.keys(STATISTICS).filter(key => known(measured[key])).map(key => ['recorded hardware', STATISTICS[key], short(measured[key]), null, null, 'measured']);
  const drawn = scenarios().filter(scenario => scenario.curves[state.purpose]);
  const at = (curve, percentile) => {
    const i = curve.rank.findIndex(rank => 100 - 100 / rank >= percentile - 1e-9);
    return i < 0 ? [null, null] : [curve.us[i], curve.resolved[i] ? 'yes' : 'no'];
  };
  const far = Math.max(0, ...drawn.map(scenario => 100 - 100 / scenario.curves[state.purpose].rank.at(-1)));
  return [
    { caption: `Latency of ${plural(state.purpose)}`, head: ['Scenario', 'Statistic', 'Value (µs)', 'Low (µs)', 'High (µs)', 'Basis'], rows: [...recorded, ...scenarios().flatMap(figuresOf)] },
    {
      caption: 'The curves', head: ['Percentile (%)', ...drawn.flatMap(scenario => [`${scenario.name} (µs)`, 'resolved'])],
      rows: READ_OFF.filter(percentile => percentile <= far + 1e-9).map(percentile => [percentile, ...drawn.flatMap(scenario => at(scenario.curves[state.purpose], percentile))]),
    },
  ];
}

function drawPercentiles() {
  const traces = [measuredTrace(), intervalsTrace(), ...scenarios().flatMap(curveTraces)].filter(known);
  const doubtful = scenarios().some(scenario => scenario.curves[state.purpose]?.resolved.includes(0));
  const legend = scenarios().map((scenario, i) => legendItem(swatch(style(i)), `${scenario.name}${isSaturated(scenario) ? ' (saturated: no curve)' : ''}`));
  if (intervalsTrace()) legend.push(legendItem(stroke(alpha(style(state.scenario).colour, 0.4)), `scatter of the run (80 % interval)${ofStatements(selected()) && !isUnknown(selected(), 'p99') ? ', or the range of a p99' : ''}`));
  if (doubtful) legend.push(legendItem(swatch({ colour: css('--soft'), dash: 'longdash' }), 'not resolved: too few slow ones'));
  if (measuredTrace()) legend.unshift(legendItem(swatch(measuredStyle()), 'recorded hardware'));
  const far = Math.max(100, ...traces.flatMap(trace => trace.x.filter(known)));
  const ticks = PERCENTILE_TICKS.filter(([rank]) => rank <= far * 1.2 && !(narrow() && rank === 1));
  show('percentiles', {
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

const lengthOfInterval = ({ time }) => trimmed(Number((time.end_s[0] - time.start_s[0]).toPrecision(2))) + NBSP + 's';

/** In an interval of fewer requests the p99 is the slowest of them. */
const FEW_REQUESTS = 100;

function latencyTimeReading() {
  const scenario = selected();
  const what = plural(state.purpose);
  if (!scenario.time.by_class[state.purpose]) return `${scenario.name} saw no ${what}.`;
  if (isSaturated(scenario)) return `${scenario.name} is saturated: the mean latency of its ${what} follows the backlog and says how far behind it is, not how fast it is.`;
  const own = typicalAndWorst(scenario);
  if (!own) return `No ${what} arrived.`;
  const other = compared() && typicalAndWorst(compared());
  const of = own.requests < FEW_REQUESTS ? `the slowest of about ${own.requests} ${what}` : `p99 of ${what}`;
  const said = (one, name) => ` ${name}: usually about ${duration(one.typical)}, at most ${duration(one.worst)} (at ${moment(one.when)}).`;
  const p99 = one => latency(one, state.purpose, 'p99'); // where the whole has a range, single intervals are not told to three digits
  const range = (one, name) => ` ${name}: the p99 of the run is ${p99(one).range} (${p99(one).why ?? p99(one).word}); the line leaves out the error of the model.`;
  const sentence = (one, found) => (ofStatements(one) && p99(one).range ? range(one, one.name) : said(found, one.name));
  const host = state.purpose === 'log sync' && !ofStatements(scenario)
    ? 'A log sync includes the server’s own time, which is the same on all storage: a peak on all of them can come from it. Log syncs on the device leave it out. ' : '';
  const error = isUnknown(scenario, 'p99') ? ' (simulated, error unknown)' : ofStatements(scenario) || tailKnown(scenario) ? '' : ' (error unknown)';
  return `${host}Upper line${error}: ${of} in each interval of ${lengthOfInterval(scenario)}.${sentence(scenario, own)}`
    + (other ? sentence(compared(), other) : '') + checkpointSentence();
}

function latencyTimeNumbers() {
  const shown = [selected(), compared()].filter(scenario => scenario?.time.by_class[state.purpose]);
  const columns = shown.flatMap(scenario => {
    const series = scenario.time.by_class[state.purpose];
    return [['p50', series.p50_us], ['mean', series.mean_us], ['p99', series.p99_us]].filter(([, values]) => values).map(([name, values]) => [`${scenario.name}: ${name} (µs)`, values]);
  });
  return [{
    caption: `Latency of ${plural(state.purpose)} by interval`, overTime: true, head: ['From (s)', ...columns.map(([name]) => name)],
    rows: (shown[0]?.time.start_s ?? []).map((start, i) => [start, ...columns.map(([, values]) => values[i] ?? null)]),
  }];
}

/** Seconds at the beginning of the selected scenario's run that no figure counts. */
const warmUp = () => (selected().replay?.counted_ns?.from ?? 0) / 1e9;

// Warm-up and checkpoints of the selected scenario, shaded on every chart over time.
function periodShapes() {
  const factor = timeUnit(spanShown())[1];
  const shaded = (spans, colour) => (spans ?? []).map(([from, to]) => ({
    type: 'rect', layer: 'below', xref: 'x', yref: 'paper', x0: from / factor, x1: to / factor, y0: 0, y1: 1, fillcolor: css(colour), line: { width: 0 },
  }));
  return [...shaded(warmUp() ? [[0, warmUp()]] : [], '--warm-up'), ...shaded(selected().checkpoints?.spans_s, '--shade'), ...shaded(selected().checkpoints?.syncing_s, '--sync')];
}

const periodLegend = () => [...(warmUp() ? [legendItem(area(css('--warm-up')), 'warm-up, not counted')] : []), ...checkpointLegend()];

function checkpointLegend() {
  const found = selected().checkpoints;
  if (!found) return [];
  const basis = [...new Set(found.basis.map(text => text.split(':')[0]))]; // all of it stands in the list of what is known
  if (found.syncing_s) return [legendItem(area(css('--shade')), 'checkpoint: writing'), ...(found.syncing_s.length ? [legendItem(area(css('--sync')), 'syncing')] : [])];
  return [legendItem(area(css('--shade')), `checkpoint${basis.length ? ` (${shortened(list(basis), 60)})` : ''}`)];
}

/** What latency does inside and outside of checkpoints. */
function checkpointSentence() {
  const found = selected().checkpoints;
  if (!found) return '';
  const device = 'log sync on device'; // the server's own time does not depend on this storage
  const shown = state.purpose === 'log sync' && found.mean_us[device] ? device : state.purpose;
  const { inside, outside } = found.mean_us[shown] ?? {};
  const many = found.spans_s.length > 1 ? `the ${found.spans_s.length} checkpoints` : 'the checkpoint';
  if (!known(inside) || !known(outside)) return known(outside) ? ` None arrived during ${many}.` : '';
  const whose = shown === state.purpose ? 'Mean' : `${capital(plural(shown))} alone: mean`;
  return ` ${whose} on ${selected().name}: ${duration(inside)} during ${many}, ${duration(outside)} otherwise.`;
}

function drawLatencyTime() {
  const scenario = selected();
  const other = compared();
  const traces = [...(other ? latencyLines(other, state.compare, false) : []), ...latencyLines(scenario, state.scenario, true)];
  const text = one => `${one.name}: ${isSaturated(one) ? 'mean (saturated)' : typicalAndWorst(one)?.requests < FEW_REQUESTS ? 'p50 to the slowest' : 'p50 to p99'}`;
  const solid = { ...style(state.scenario), dash: 'solid', symbol: null };
  const legend = [legendItem(swatch(solid), text(scenario)), ...(other ? [legendItem(swatch({ ...style(state.compare), symbol: null }), text(other))] : []), ...periodLegend()];
  const values = traces.filter(trace => trace.hoverinfo !== 'skip').flatMap(trace => trace.y).filter(known);
  show('latency-time', {
    title: `Latency of ${plural(state.purpose)} over time`, legend, traces, reading: latencyTimeReading(), numbers: latencyTimeNumbers,
    layout: values.length ? layout({ xaxis: timeAxis(), shapes: periodShapes(), yaxis: { ...latencyAxis(values), fixedrange: true } }) : nothing(`No ${plural(state.purpose)} here.`),
  });
}
