// 3. requests over time by purpose
function rates(time, values) {
  return values.map((value, i) => value / Math.max(time.end_s[i] - time.start_s[i], 1e-9));
}

/** What a scenario is asked for by interval: transactions, or requests. */
function total(time, key) {
  if (time.of === 'transactions') return time.by_class.transaction[key];
  return time.start_s.map((_, i) => Object.entries(time.by_class).reduce((sum, [purpose, series]) => (data.derived.includes(purpose) ? sum : sum + series[key][i]), 0));
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
  const asked = !waitsForAnswers(selected());
  const text = completions.map((value, i) => `${count(value)}/s${asked ? `, arrived ${count(arrivals[i])}/s` : ''}`);
  const mean = asked ? series.completions.reduce((a, b) => a + b, 0) / Math.max(endOf(selected()) - time.start_s[0], 1e-9) : selected().completed_per_s[purpose];
  return {
    label: `${plural(purpose)}, ${count(mean)}/s`, prominent, top, ticks: ['0', `${count(top)}/s`],
    traces: [
      { ...line(x, completions, 'completions', { color: colour, width: 1.2 }), mode: 'lines', fill: 'tozeroy', fillcolor: alpha(colour, prominent ? 0.45 : 0.35), text, hovertemplate: `%{text}<extra>${plain(plural(purpose))}</extra>` },
      ...(asked ? [{ ...line(x, arrivals, 'arrivals', { color: css('--soft'), width: 1, dash: 'dot' }), mode: 'lines', hoverinfo: 'skip' }] : []),
    ],
  };
}

/** Clients of a closed loop ask again when they are answered: nothing arrives by the clock, and nothing piles up. */
const waitsForAnswers = scenario => scenario.replay?.keeps === 'clients';

function requestsReading() {
  const scenario = selected();
  const { time } = scenario;
  const arrivals = rates(time, total(time, 'arrivals'));
  const seconds = Math.max(endOf(scenario) - (time.start_s[0] ?? 0), 1e-9);
  const sum = key => total(time, key).reduce((a, b) => a + b, 0);
  const peak = arrivals.indexOf(Math.max(...arrivals));
  const left = Math.max(sum('arrivals') - sum('completions'), 0);
  const queues = isSaturated(scenario) || left > 0.05 * sum('arrivals');
  const ending = queues ? `completes only ${count(sum('completions') / seconds)}/s; the rest wait` : `${left ? `has ${whole.format(left)} ${left === 1 ? time.of.slice(0, -1) : time.of} open` : 'has completed all of them'} at the recording’s end (${span(traceOf(scenario).span_ns / 1e9)})`;
  const short = isShort(scenario) ? ` Throughput is ${percent(scenario.throughput_shortfall_pct / 100)} below the recording.` : '';
  const late = hasLag(scenario) ? ` Requests start later than recorded: ${lag(scenario).join(', ')}.` : '';
  const most = `at most ${count(arrivals[peak])}/s (at ${moment(middles(time)[peak])})`;
  if (waitsForAnswers(scenario)) return `Clients on ${scenario.name} complete ${count((time.of === 'transactions' ? transactionsPerS(scenario) : undefined) ?? sum('completions') / seconds)} ${time.of}/s on average, ${most}.${short}`;
  return `${count(sum('arrivals') / seconds)} ${time.of}/s arrive on average, ${most}. ${scenario.name} ${ending}.${short}${late}`;
}

function requestsNumbers() {
  const { time } = selected();
  const purposes = data.purposes.filter(purpose => purpose in time.by_class);
  const short = values => values.map(value => Number(value.toPrecision(6)));
  const columns = purposes.flatMap(purpose => [short(rates(time, time.by_class[purpose].arrivals)), short(rates(time, time.by_class[purpose].completions))]);
  return [{
    caption: `Requests of ${selected().name}`, overTime: true, head: ['From (s)', ...purposes.flatMap(purpose => [`${plural(purpose)}: arrivals/s`, `${plural(purpose)}: completions/s`])],
    rows: time.start_s.map((start, i) => [start, ...columns.map(values => values[i])]),
  }];
}

function drawRequests() {
  const { time } = selected();
  const rows = data.purposes.filter(purpose => purpose in time.by_class).map(requestRow);
  const legend = [
    legendItem(area(alpha(style(state.scenario).colour, 0.55)), 'completions'),
    ...(waitsForAnswers(selected()) ? [] : [legendItem(swatch({ colour: css('--soft'), dash: 'dot' }), 'arrivals')]),
    ...periodLegend(),
  ];
  show('requests', {
    title: `${time.of === 'transactions' ? 'Transactions and requests' : 'Requests'} over time on ${selected().name}`, legend, traces: rows.flatMap(row => row.traces), height: Math.max(narrow() ? 300 : 350, 62 * rows.length + 60),
    layout: rows.length ? stackedRows(rows, periodShapes()) : nothing('No requests.'), reading: rows.length ? requestsReading() : '', numbers: requestsNumbers,
  });
}

// 4. outstanding over time, all scenarios
const queuesUp = scenario => scenario.time.backlog;

function outstandingTrace(scenario, index) {
  const values = scenario.time.outstanding;
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
  const values = scenario.time.outstanding;
  if (!values.length) return '';
  const most = Math.max(...values);
  const when = moment(middles(scenario.time)[values.indexOf(most)]);
  if (isSaturated(scenario)) return `The backlog on ${scenario.name} grows to ${whole.format(most)} ${scenario.time.of} and does not come back.`;
  if (queuesUp(scenario)) return `The backlog on ${scenario.name} reaches ${whole.format(most)} ${scenario.time.of}, at ${when}.`;
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  if (waitsForAnswers(scenario)) return `${whole.format(scenario.replay.sessions)} clients on ${scenario.name} have ${count(mean)} ${scenario.time.of} outstanding on average. Each client waits for its answer, so nothing piles up.`;
  return `${scenario.name}: ${count(mean)} ${scenario.time.of} on average, ${count(most)} in the busiest ${lengthOfInterval(scenario)} (at ${when}). A line that keeps rising means that the storage does not keep up.`;
}

/** Where all clients wait for their answers it is their number at every moment: there is nothing to draw. */
function drawOutstanding() {
  const constant = scenarios().every(waitsForAnswers);
  $('outstanding').closest('figure').hidden = constant;
  $('requests').closest('figure').classList.toggle('wide', constant);
  if (constant) return;
  const order = scenarios().map((_, i) => i).sort((a, b) => (a === state.scenario) - (b === state.scenario));
  const traces = order.map(i => outstandingTrace(scenarios()[i], i));
  const most = Math.max(10, ...traces.flatMap(trace => trace.y));
  const range = [Math.log10(HARDLY_ANY) - 0.06, Math.log10(most) + 0.15];
  const powers = Array.from({ length: Math.floor(range[1]) - Math.log10(HARDLY_ANY) + 1 }, (_, i) => HARDLY_ANY * 10 ** i);
  const shown = [selected(), compared()].filter(known);
  const text = scenario => scenario.name + (queuesUp(scenario) ? ': backlog at the end of each interval' : '');
  show('outstanding', {
    title: `Outstanding ${selected().time.of} over time`, traces, reading: outstandingReading(),
    legend: [...scenarios().map((scenario, i) => legendItem(swatch({ ...style(i), symbol: null }), text(scenario))), ...periodLegend()],
    layout: layout({
      xaxis: timeAxis(), shapes: periodShapes(), yaxis: axis({ type: 'log', range, tickvals: powers, ticktext: powers.map((power, i) => (i ? trimmed(power) : `≤${NBSP}${HARDLY_ANY}`)), fixedrange: true }),
    }),
    numbers: () => [{
      caption: `Outstanding ${selected().time.of}`, overTime: true, head: ['From (s)', ...shown.map(scenario => scenario.name)],
      rows: selected().time.start_s.map((start, i) => [start, ...shown.map(scenario => scenario.time.outstanding[i] ?? null)]),
    }],
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
      label: row.part, prominent: true, top, ticks: ['0', utilisation ? `${trimmed(top)} %` : count(top)],
      traces: [{
        ...line(x, values, row.name, { color: colour, width: 1.2 }), mode: 'lines', fill: 'tozeroy', fillcolor: alpha(colour, 0.4),
        hovertemplate: `%{y:.3~r}${utilisation ? ' %' : ' outstanding'}<extra>${plain(row.part)}</extra>`,
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
    ygap: height / rows.length > 14 ? 2 : 0, text: rows.map(row => x.map(() => plain(row.part))),
    hovertemplate: `%{text}<br>%{z:.3~r}${utilisation ? ' %' : ' outstanding'}<extra></extra>`,
    colorbar: {
      orientation: 'h', x: 1, xanchor: 'right', y: 1, yanchor: 'bottom', ypad: 6, len: narrow() ? 0.7 : 0.28, thickness: 8, outlinewidth: 0,
      tickvals: [0, top / 2, top], ticktext: [utilisation ? 'idle' : '0', amount(top / 2), amount(top)],
      tickfont: { size: 12, color: css('--soft') }, ticklabelposition: 'outside top',
    },
  }];
  const yaxis = axis({
    tickvals: ticks, ticktext: ticks.map(i => plain(shortened(utilisation || rows[i].part === 'CPU' ? rows[i].part : rows[i].name, narrow() ? 14 : 32)) + ' '), range: [rows.length - 0.5, -0.5], automargin: true, showgrid: false, fixedrange: true,
  });
  return { traces, how: layout({ hovermode: 'closest', margin: { l: 58, r: 20, t: 44, b: 40 }, xaxis: timeAxis(), yaxis }) };
}

function stationsReading({ rows, left_out: leftOut }) {
  const hidden = leftOut ? ` (${leftOut} less busy parts are not drawn)` : '';
  if (state.stations === 'outstanding') {
    const peak = row => Math.max(...row.outstanding, 0);
    const fullest = rows.toSorted((a, b) => peak(b) - peak(a))[0];
    const mean = known(fullest.queue_mean) ? `; ${count(fullest.queue_mean)} on average over the whole run` : '';
    return `Most at the end of an interval: ${whole.format(peak(fullest))}, at ${fullest.name}${mean}${hidden}.`;
  }
  const mean = row => (known(row.utilisation) ? row.utilisation : row.busy_pct.reduce((a, b) => a + b, 0) / Math.max(row.busy_pct.length, 1) / 100);
  const busiest = rows.toSorted((a, b) => mean(b) - mean(a))[0];
  const peak = Math.max(...busiest.busy_pct, 0) / 100;
  const drive = rows.find(row => /\.0$/.test(row.name))?.name;
  const cache = rows.some(row => row.part.startsWith('write-back cache')) ? ' For a write-back cache the colour shows how full it is.' : '';
  const named = drive ? ` ${drive} is the first drive of volume ${drive.replace(/\.0$/, '')}.` : '';
  return `Busiest part: ${busiest.part}, ${percent(mean(busiest))} of the time, at most ${percent(peak)} in an interval${hidden}.${named}${cache}`;
}

function stationsNumbers({ rows, start_s: starts }) {
  const unit = state.stations === 'busy_pct' ? ' (%)' : '';
  const pct = share => (known(share) ? Number((share * 100).toPrecision(4)) : null);
  return [
    {
      caption: `Parts of ${selected().name}`, head: ['Part', 'Kind', 'Busiest resource', 'Mean utilisation (%)', 'Highest in an interval (%)', 'Mean queue', 'Requests'],
      rows: rows.map(row => [row.name, row.kind, row.resource, pct(row.utilisation), Math.max(...row.busy_pct, 0), known(row.queue_mean) ? Number(row.queue_mean.toPrecision(4)) : null, row.requests]),
    },
    {
      caption: `${capital(MEASURES[state.stations])} by interval`, overTime: true, head: ['From (s)', ...rows.map(row => `${row.part}${unit}`)],
      rows: starts.map((start, i) => [start, ...rows.map(row => row[state.stations][i])]),
    },
  ];
}

function drawStations() {
  const { stations, name } = selected();
  const { rows } = stations;
  const title = `Parts of ${name}: ${MEASURES[state.stations]}`;
  if (!rows.length) return show('stations', { title, legend: [], traces: [], layout: nothing('No parts were recorded.'), reading: '', numbers: () => [] });
  const x = inUnit(stationMiddles(stations));
  const few = rows.length <= FEW_STATIONS;
  const height = few ? 130 + rows.length * 80 : Math.min(620, 110 + rows.length * 20);
  const lanes = few ? stationRows(stations, x) : [];
  const { traces, how } = few ? { traces: lanes.flatMap(lane => lane.traces), how: stackedRows(lanes, periodShapes()) } : heatMap(stations, x, height);
  show('stations', { title, legend: [], traces, layout: how, height, reading: stationsReading(stations), numbers: () => stationsNumbers(stations) });
}
