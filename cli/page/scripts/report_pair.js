// One scenario (X) against another one or the recorded hardware (Y): facts, ratios of latencies, what is busiest in each.
const otherName = () => (state.compare === RECORDED ? 'recorded hardware' : compared()?.name);
/** Why nothing of X and Y can be compared; empty where something can. */
function apart() {
  const [a, b] = [selected().index, compared()?.index];
  return data.no_ratios[`${b}:${a}`] ?? data.no_ratios[`${a}:${b}`] ?? '';
}
const otherLatency = () => (state.compare === RECORDED ? traceOf(selected()).measured_latency_ns : compared().latency_ns);

const THROUGHPUT = 'completed';
const completedPerS = purpose => [selected().completed_per_s[purpose], compared() ? compared().completed_per_s[purpose] : traceOf(selected()).recorded_per_s[purpose]];

const isUnknownOnASide = statistic => [selected(), compared()].filter(known).some(scenario => isUnknown(scenario, statistic));

/** X ÷ Y of one statistic: `{value, low, high}`, each of them perhaps null; null when nothing is known. */
function ratioOf(purpose, statistic) {
  if (statistic !== THROUGHPUT && isUnknownOnASide(statistic)) return null;
  const [a, b] = [selected().index, compared() ? compared().index : state.compare];
  const find = pair => (statistic === THROUGHPUT ? data.ratios[pair]?.throughput[purpose] : data.ratios[pair]?.latency[purpose]?.[statistic]) ?? null;
  if (b === RECORDED) return find(`r:${a}`);
  const direct = find(`${b}:${a}`);
  if (direct) return direct;
  const inverse = find(`${a}:${b}`);
  const one = value => (known(value) && value > 0 ? Number((1 / value).toPrecision(4)) : null);
  return inverse ? { value: one(inverse.value), low: one(inverse.high), high: one(inverse.low) } : null;
}

/** What rounds to 1.00 is no difference, however sure. */
const slower = found => known(found?.low) && found.low > 1 && (found.value ?? found.low) >= 1.005;
const faster = found => known(found?.high) && found.high < 1 && (found.value ?? found.high) < 0.995;
const undecided = found => !slower(found) && !faster(found);
const times = value => `${significant(value)}${NBSP}×`;
const timesRange = ({ low, high }) => (known(low) && known(high) ? (significant(low) === significant(high) ? '' : `${significant(low)}–${significant(high)}`)
  : known(low) ? `>${NBSP}${significant(low)}` : known(high) ? `<${NBSP}${significant(high)}` : '');
const pairedPurposes = () => data.purposes.filter(purpose => purpose in selected().latency_ns || purpose in otherLatency());

/** A figure of the other side in microseconds, or null. */
function otherUs(purpose, statistic) {
  if (compared()) return latency(compared(), purpose, statistic).us ?? null;
  const ns = otherLatency()[purpose]?.[statistic];
  return known(ns) ? ns / 1e3 : null;
}

function ratioCell(purpose, statistic) {
  const found = ratioOf(purpose, statistic);
  const [a, b] = [selected(), compared()].map(scenario => (scenario ? latency(scenario, purpose, statistic) : {}));
  const sides = [a.us, otherUs(purpose, statistic)].map(us => (known(us) ? duration(us) : '?'));
  if (!found) {
    if (isUnknownOnASide(statistic)) return element('td', { className: 'word' }, 'unknown');
    const both = [selected().latency_ns, otherLatency()].every(figures => purpose in figures);
    const why = apart() ? 'not comparable' : isSaturated(selected()) || (compared() && isSaturated(compared())) ? 'saturated' : both ? 'not resolved' : 'not on both';
    return element('td', { className: 'word' }, why);
  }
  const beside = text => element('small', {}, text);
  if (!known(found.value)) return element('td', { className: 'range' }, `${timesRange(found)}${NBSP}×`, beside(a.why ?? b.why ?? ONLY_A_RANGE));
  const open = undecided(found);
  return element('td', { className: open ? 'open' : '' }, times(found.value), beside(`${sides[0]} against ${sides[1]}`), open ? beside('no clear difference') : null, isMean(statistic) || tailsKnown() ? null : beside('error unknown'));
}

function throughputCell(purpose) {
  const found = ratioOf(purpose, THROUGHPUT);
  if (!found || !known(found.value)) return element('td', { className: 'word' }, apart() ? 'not comparable' : compared() ? 'not on both' : 'not recorded');
  const [a, b] = completedPerS(purpose);
  return element('td', {}, times(found.value), element('small', {}, `${count(a)}/s against ${count(b)}/s`));
}

function ratioTable() {
  const node = element('table', { className: 'comparison' },
    element('caption', { className: 'unseen' }, `Throughput and latency of ${selected().name} divided by those of ${otherName()}`),
    element('thead', {}, element('tr', {}, ['X ÷ Y', 'completed/s', ...Object.values(STATISTICS)].map((text, i) => element('th', { scope: 'col', className: i ? '' : 'text' }, text)))),
    element('tbody', {}, pairedPurposes().map(purpose => element('tr', {}, element('th', { scope: 'row' }, capital(plural(purpose))), throughputCell(purpose),
      Object.keys(STATISTICS).map(statistic => ratioCell(purpose, statistic))))));
  labelCells(node);
  return node;
}

/** What is said of each side beside its latencies. */
function factsOf(scenario) {
  const rate = rateOf(scenario);
  const { bottleneck } = scenario;
  return {
    what: scenario.description || '–',
    verdict: [verdictIcon(scenario.verdict.load), ` ${fullVerdict(scenario)}`],
    rate: rate && known(rate.value) ? `${count(rate.value)}/s` : '–',
    shortfall: known(scenario.throughput_shortfall_pct) ? percent(Math.max(scenario.throughput_shortfall_pct, 0) / 100) : '–',
    lag: hasLag(scenario) ? list(lag(scenario)) : noLag(scenario),
    busiest: bottleneck?.station ? `${bottleneck.part}: ${percent(bottleneck.utilisation)} busy` : '–',
    load: verdictColour(scenario),
  };
}

function recordedFacts() {
  const trace = traceOf(selected());
  const rate = trace.span_ns ? commandsOf(trace) / (trace.span_ns / 1e9) : null;
  return { what: 'as recorded', verdict: 'as recorded', rate: known(rate) ? `${count(rate)}/s arrived` : '–', shortfall: 'none, by definition', lag: 'none, by definition', busiest: 'not recorded', load: '' };
}

function factsTable() {
  const [a, b] = [factsOf(selected()), compared() ? factsOf(compared()) : recordedFacts()];
  const lags = [selected(), compared()].filter(known).some(hasLag);
  const rows = [['Scenario', 'what'], ['Verdict', 'verdict'], ['Completed', 'rate'], ...([selected(), compared()].filter(known).some(isShort) ? [['Less than recorded', 'shortfall']] : []), ...(lags ? [['Late start', 'lag']] : []), ['Busiest part', 'busiest']];
  const cell = (facts, key) => element('td', { className: `text ${key === 'verdict' ? `state ${facts.load}` : ''}` }, facts[key]);
  const head = (letter, mark, name) => element('th', { scope: 'col', className: 'text' }, element('span', { className: 'who' }, mark, `${letter}: ${name}`));
  return element('table', { className: 'facts-table' },
    element('thead', {}, element('tr', {}, element('td', {}), head('X', swatch(style(state.scenario)), selected().name),
      head('Y', swatch(compared() ? style(state.compare) : measuredStyle()), otherName()))),
    element('tbody', {}, rows.map(([label, key]) => element('tr', {}, element('th', { scope: 'row' }, label), cell(a, key), cell(b, key)))));
}

/** Completions and the headline latency of X against Y in a sentence or two. */
function pairReading() {
  const what = plural(state.purpose);
  const name = STATISTICS[state.statistic];
  const found = ratioOf(state.purpose, state.statistic);
  const all = pairedPurposes().flatMap(purpose => Object.keys(STATISTICS).filter(statistic => !isUnknownOnASide(statistic)).map(statistic => ratioOf(purpose, statistic)));
  const [above, below] = [all.filter(slower).length, all.filter(faster).length];
  const said = [];
  if (found && known(found.value)) said.push(`${capital(name)} of ${what}: ${times(found.value)} that of ${otherName()}${undecided(found) ? ', no clear difference' : ''}.`);
  else if (found) said.push(`${capital(name)} of ${what}: ${timesRange(found)}${NBSP}× that of ${otherName()} (not known well enough for one value).`);
  else said.push(`${capital(name)} of ${what}: ${apart() ? 'not comparable' : isSaturated(selected()) || (compared() && isSaturated(compared())) ? 'a saturated system has no steady latency' : isUnknownOnASide(state.statistic) ? 'unknown' : 'one side has none'}.`);
  if (all.length) said.push(`Of ${all.length} figures, ${selected().name} is slower in ${above} and faster in ${below}${above + below < all.length ? `; for ${all.length - above - below} it is not clear` : ''}.`);
  return [...said, medianReading()].filter(Boolean).join(' ');
}

/** Why the median can be shorter where the mean is longer: half of the transactions wait for no read, and find processors less busy. */
function medianReading() {
  if (state.purpose !== 'transaction' || !compared()) return '';
  const [median, mean] = ['p50', 'mean'].map(statistic => ratioOf('transaction', statistic));
  const [quick, other] = faster(median) && slower(mean) ? [selected(), compared()] : slower(median) && faster(mean) ? [compared(), selected()] : [];
  const reads = quick?.queries ? asRun(quick, ALL).reads : null;
  if (!known(reads) || reads >= 0.5) return '';
  const [low, high] = [quick, other].map(scenario => scenario.stations.rows.find(row => row.name === 'processors')?.utilisation);
  if (!known(low) || !known(high) || low >= high) return '';
  return `p50 is shorter on ${quick.name}, though the mean is longer: at least half of the transactions read nothing from storage, and its CPU is less busy (${percent(low)} against ${percent(high)}).`;
}

function ratioTraces(purposes) {
  const { colour } = style(state.scenario);
  const keys = Object.keys(STATISTICS).filter(statistic => !isUnknownOnASide(statistic));
  const found = keys.map((statistic, k) => purposes.map((purpose, i) => ({ purpose, statistic, y: i + (k - (keys.length - 1) / 2) * 0.15, ...ratioOf(purpose, statistic) })));
  const open = found.flat().filter(row => !known(row.value) && known(row.low) && known(row.high)); // only a range is known
  const ranges = {
    x: open.flatMap(row => [row.low, row.high, null]), y: open.flatMap(row => [row.y, row.y, null]), name: 'range', mode: 'lines', line: { color: alpha(colour, 0.45), width: 5 },
    text: open.flatMap(row => { const text = plain(`${STATISTICS[row.statistic]} of ${plural(row.purpose)}: ${timesRange(row)} ×, only a range`); return [text, text, '']; }), hovertemplate: '%{text}<extra></extra>',
  };
  const marks = keys.map((statistic, k) => {
    const rows = found[k].filter(row => known(row.value));
    return {
      x: rows.map(row => row.value), y: rows.map(row => row.y), name: STATISTICS[statistic], mode: 'markers',
      text: rows.map(row => plain(`${STATISTICS[statistic]} of ${plural(row.purpose)}: ${times(row.value)} ${timesRange(row)}`)), hovertemplate: '%{text}<extra></extra>',
      error_x: { type: 'data', symmetric: false, array: rows.map(row => (known(row.high) ? row.high - row.value : 0)), arrayminus: rows.map(row => (known(row.low) ? row.value - row.low : 0)), thickness: 1.5, width: 0, color: alpha(colour, 0.6) },
      marker: { symbol: STATISTIC_SYMBOLS[statistic], size: 9, color: colour, line: { color: css('--page'), width: 1 } },
    };
  });
  return open.length ? [ranges, ...marks] : marks;
}

function drawRatios() {
  const purposes = pairedPurposes();
  const traces = ratioTraces(purposes);
  const values = traces.flatMap(trace => trace.x.flatMap((x, i) => (trace.error_x ? [x, x + trace.error_x.array[i], x - trace.error_x.arrayminus[i]] : [x]))).filter(value => value > 0);
  const range = [Math.min(...values, 0.8), Math.max(...values, 1.25)].map(Math.log10);
  const shown = [range[0] - 0.08, range[1] + 0.08];
  const numbers = () => [{
    caption: `Latency of ${selected().name} ÷ ${otherName()}`, head: ['Purpose', 'Statistic', 'X (µs)', 'Y (µs)', 'X ÷ Y', 'low', 'high'],
    rows: purposes.flatMap(purpose => Object.keys(STATISTICS).map(statistic => {
      const found = ratioOf(purpose, statistic) ?? {};
      const short = us => (known(us) ? Number(us.toPrecision(5)) : null);
      return [plural(purpose), STATISTICS[statistic], short(latency(selected(), purpose, statistic).us), short(otherUs(purpose, statistic)), found.value ?? null, found.low ?? null, found.high ?? null];
    })),
  }];
  show('ratios', {
    title: `Latency of ${selected().name} ÷ latency of ${otherName()}`, traces, reading: pairReading(), numbers, height: Math.max(220, 46 * purposes.length + 70),
    legend: Object.entries(STATISTICS).filter(([key]) => !isUnknownOnASide(key)).map(([key, text]) => legendItem(swatch({ colour: style(state.scenario).colour, dash: 'solid', symbol: STATISTIC_SYMBOLS[key] }, 20), text)).concat(traces.some(trace => trace.name === 'range') ? [legendItem(stroke(alpha(style(state.scenario).colour, 0.45)), 'only a range')] : []),
    layout: values.length ? layout({
      hovermode: 'closest', dragmode: false, margin: { l: 58, r: 20, t: 10, b: 40 },
      xaxis: axis({ type: 'log', range: shown, ...logTicks(shown, value => `${trimmed(value)} ×`), fixedrange: true }),
      yaxis: axis({ tickvals: purposes.map((_, i) => i), ticktext: purposes.map(purpose => capital(plain(plural(purpose))) + ' '), range: [purposes.length - 0.5, -0.5], automargin: true, showgrid: false, fixedrange: true }),
      shapes: [{ type: 'line', x0: 1, x1: 1, yref: 'paper', y0: 0, y1: 1, line: { color: css('--soft'), width: 1.5, dash: 'dot' } }],
    }) : nothing(apart() ? 'These two cannot be compared.' : 'Nothing can be compared: no figure is resolved on both.'),
  });
}

/** The busiest part of a scenario over time, or undefined. */
const busiestRow = scenario => scenario.stations.rows.find(row => row.name === scenario.bottleneck?.station && row.resource === scenario.bottleneck?.resource)
  ?? scenario.stations.rows.toSorted((a, b) => (b.utilisation ?? 0) - (a.utilisation ?? 0))[0];

function drawBlame() {
  const sides = [[selected(), state.scenario], ...(compared() ? [[compared(), state.compare]] : [])].map(([scenario, index]) => ({ scenario, index, row: busiestRow(scenario) })).filter(side => side.row);
  const traces = sides.map(({ scenario, index, row }) => ({
    ...line(inUnit(stationMiddles(scenario.stations)), row.busy_pct, scenario.name, { color: style(index).colour, dash: index === state.scenario ? 'solid' : style(index).dash, width: index === state.scenario ? 2 : 1.5 }),
    hovertemplate: `%{y:.3~r} %<extra>${plain(scenario.name)}</extra>`,
  }));
  const top = Math.max(...traces.flatMap(trace => trace.y), 1);
  const said = sides.map(({ scenario, row }) => {
    const most = Math.max(...row.busy_pct, 0);
    const mean = known(row.utilisation) ? `busy ${percent(row.utilisation)} of the time, ` : 'busy ';
    return `${scenario.name}: ${row.part}, ${mean}at most ${percent(most / 100)} (at ${moment(stationMiddles(scenario.stations)[row.busy_pct.indexOf(most)])}).`;
  });
  show('blame', {
    title: 'Busiest part over time', traces,
    legend: [...sides.map(({ scenario, index, row }) => legendItem(swatch({ ...style(index), symbol: null, ...(index === state.scenario ? { dash: 'solid' } : {}) }), `${scenario.name}: ${row.part}`)), ...periodLegend()],
    reading: [...said, ...(compared() ? [] : ['What was busiest in the recorded hardware was not recorded.'])].join(' '),
    layout: traces.length ? layout({ xaxis: timeAxis(), shapes: periodShapes(), yaxis: axis({ range: [0, (top >= 40 ? 100 : niceAbove(top)) * 1.04], ticksuffix: ' %', fixedrange: true }) }) : nothing('No parts were recorded.'),
    numbers: () => [{
      caption: 'Utilisation of the busiest part', overTime: true, head: ['From (s)', ...sides.map(({ scenario, row }) => `${scenario.name}: ${row.part} (%)`)],
      rows: (sides[0]?.scenario.stations.start_s ?? []).map((start, i) => [start, ...sides.map(({ row }) => row.busy_pct[i] ?? null)]),
    }],
  });
}

function drawPair() {
  const there = state.compare !== NOTHING;
  $('pair').hidden = !there;
  if (!there) return;
  $('pair-title').textContent = `${selected().name} against ${otherName()}`;
  $('pair-facts').replaceChildren(factsTable());
  $('pair-ratios').replaceChildren(ratioTable());
  $('pair-note').textContent = [
    `X ÷ Y. Latency: above 1, X (${selected().name}) is slower. Completed/s: below 1, X does less. Small figures: X against Y.`,
    apart() ? `No ratios: ${apart()}.` : '',
    ...wordsOfRanges($('pair-ratios')),
  ].filter(Boolean).join('\n');
  drawRatios();
  drawBlame();
}
