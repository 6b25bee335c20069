// The database over time, its log and its checkpoints, where statements were simulated.
const fewCheckpoints = () => (narrow() ? 4 : 12);
const LEAST_DIP = 0.5; // percent; less is called none
let allCheckpoints = false;

/** Whether anything was changed: of reads alone neither the log nor checkpoints say anything. */
const isChanged = scenario => scenario.database && (scenario.log?.commits > 0 || scenario.checkpoints);
const databases = () => scenarios().filter(scenario => scenario.database);

/** What is drawn of a scenario, one below the other: values by interval, how they are written, and what stands above. */
function databaseRows(scenario) {
  const { time, database } = scenario;
  const middle = inUnit(middles(time));
  const commits = time.by_class.commit?.mean_us;
  const perS = value => `${count(value)}/s`;
  const pages = value => `${whole.format(value)} pages`;
  const rows = [
    { key: 'transactions', what: 'transactions a second', x: middle, values: rates(time, time.by_class.transaction?.completions ?? time.start_s.map(() => 0)), text: perS, least: 1 },
    commits ? { key: 'commits', what: 'mean latency of commits', x: middle, values: commits, text: duration, least: 1e-3 } : null,
    { key: 'dirty', what: 'dirty pages in the pool', x: inUnit(middles(database)), values: database.dirty_pages, text: pages, tick: whole.format, least: 1 },
    { key: 'log', what: 'log written a second', x: inUnit(middles(database)), values: database.log_bytes_per_s, text: value => `${bytes(value)}/s`, least: 1 },
  ];
  return rows.filter(known);
}

/** The highest of values, and what is a little above it that can be read. */
const highest = values => values.filter(known).reduce((a, b) => Math.max(a, b), 0);
function topOfRow(row, values) {
  const most = Math.max(highest(values), row.least);
  if (row.key === 'commits') { const [, factor] = unitOf(most); return niceAbove(most / factor) * factor; }
  if (row.key === 'log') { const factor = BYTE_UNITS.find(([, size]) => most >= size)?.[1] ?? 1; return niceAbove(most / factor) * factor; }
  return niceAbove(most);
}

function databaseLanes() {
  const other = compared()?.database ? databaseRows(compared()) : [];
  return databaseRows(selected()).map(row => {
    const also = other.find(one => one.key === row.key);
    const { colour } = style(state.scenario);
    const top = topOfRow(row, [...row.values, ...(also?.values ?? [])]);
    const trace = (one, scenario, look) => ({ ...line(one.x, one.values, scenario.name, look.line), mode: 'lines', ...look.area, text: one.values.map(value => (known(value) ? one.text(value) : '')), ...hoverLatency(`${one.what}, ${scenario.name}`) });
    const behind = also ? [trace(also, compared(), { line: { color: style(state.compare).colour, dash: style(state.compare).dash, width: 1.5 } })] : [];
    return {
      label: capital(row.what), prominent: true, top, ticks: ['0', (row.tick ?? row.text)(top)],
      traces: [trace(row, selected(), { line: { color: colour, width: 1.4 }, area: { fill: 'tozeroy', fillcolor: alpha(colour, 0.3) } }), ...behind],
    };
  });
}

/** How much of the time a write or flush of the log is under way, where they come one after the other. */
function busyWithLog({ database, log }) {
  const busy = database.flushes_per_s * log.sync_mean_ns / 1e9;
  return busy <= 1 ? ` (a flush is under way ${percent(busy)} of the time)` : '';
}
const meanOf = values => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);

function databaseReading() {
  const { name, log, checkpoints, database } = selected();
  const rows = checkpoints?.rows ?? [];
  const wrote = rows.filter(one => known(one.write_ns));
  const synced = rows.filter(one => known(one.sync_ns));
  const dips = rows.map(one => one.dip_pct).filter(known);
  const ran = rows.length === 1 ? 'one checkpoint runs' : `${whole.format(rows.length + (checkpoints?.left_out ?? 0))} checkpoints run`;
  const took = [
    wrote.length ? `writing takes ${span(meanOf(wrote.map(one => one.write_ns)) / 1e9)}` : null,
    synced.length ? `syncing ${duration(meanOf(synced.map(one => one.sync_ns)) / 1e3)}` : null,
  ].filter(known);
  return [
    rows.length ? `${capital(ran)} on ${name}.${took.length ? ` ${capital(took.join(', '))}${wrote.length > 1 ? ' on average' : ''}.` : ''}` : `No checkpoint runs on ${name} in this time.`,
    rows.length && !known(rows.at(-1).end_ns) ? `${rows.length > 1 ? 'The last' : 'It'} has not finished when the run ends.` : '',
    dips.length ? dipSentence(Math.max(...dips)) : '',
    log?.flushes ? `The WAL is written and flushed ${count(database.flushes_per_s)} times a second. A flush, with its write, takes ${duration(log.sync_mean_ns / 1e3)} on average${busyWithLog(selected())} and makes ${count(log.commits_per_flush)} commit${count(log.commits_per_flush) === '1' ? '' : 's'} durable. A commit that comes during a flush waits for the next one, so a commit takes longer than a flush.` : '',
    known(log?.bytes_per_transaction) ? `A transaction writes ${bytes(log.bytes_per_transaction)} of log.` : '',
  ].filter(Boolean).join(' ');
}

const dipSentence = dip => (dip < LEAST_DIP ? '' : `Worst 5${NBSP}s of a checkpoint: transactions/s ${percent(dip / 100)} below the mean of the run.`);

function databaseNumbers() {
  const { time, database, name } = selected();
  const commits = time.by_class.commit?.mean_us;
  const short = values => values.map(value => (known(value) ? Number(value.toPrecision(6)) : null));
  const rate = short(rates(time, time.by_class.transaction?.completions ?? []));
  return [{
    caption: `The database of ${name}`, overTime: true, head: ['From (s)', 'Transactions/s', 'Mean of commits (µs)', 'Dirty pages', 'Log (bytes/s)'],
    rows: time.start_s.map((start, i) => [start, rate[i] ?? null, commits?.[i] ?? null, database.dirty_pages[i] ?? null, database.log_bytes_per_s[i] ?? null]),
  }];
}

function drawDatabaseTime() {
  const { name, database } = selected();
  if (!database) return show('database-time', { title: `The database over time on ${name}`, legend: [], traces: [], layout: nothing('Its result says nothing of it.'), reading: '', numbers: () => [] });
  const lanes = databaseLanes();
  const legend = [
    legendItem(swatch({ ...style(state.scenario), dash: 'solid', symbol: null }), name),
    compared()?.database ? legendItem(swatch({ ...style(state.compare), symbol: null }), compared().name) : null,
    ...periodLegend(),
  ].filter(known);
  show('database-time', {
    title: `The database over time on ${name}`, legend, traces: lanes.flatMap(lane => lane.traces), height: 60 + 95 * lanes.length,
    layout: stackedRows(lanes, periodShapes()), reading: databaseReading(), numbers: databaseNumbers,
  });
}

// ------------------------------------------------------------------------------------------------------- tables
const cellOf = (value, small) => element('td', {}, value, small ? element('small', {}, small) : null);
const unknownCell = text => element('td', { className: 'word' }, text);
const scenarioHead = scenario => element('th', { scope: 'row' }, element('span', { className: 'who' }, swatch(style(scenarios().indexOf(scenario))), scenario.name));
const fillTable = (id, caption, head, rows) => {
  const texts = head.map((text, i) => element('th', { scope: 'col', className: i ? '' : 'text' }, text));
  $(id).replaceChildren(element('caption', { className: 'unseen' }, caption), element('thead', {}, element('tr', {}, texts)), element('tbody', {}, rows));
  labelCells($(id));
};

const IMPACT = [['transaction', 'mean'], ['transaction', 'p95'], ['commit', 'mean'], ['commit', 'p95']];

function stallsCell(stalls) {
  if (!known(stalls)) return unknownCell('not resolved');
  if (!stalls.count) return cellOf('0');
  const others = `in another run ${Number(stalls.low.toFixed(1))} to ${Number(stalls.high.toFixed(1))}`;
  return cellOf(whole.format(stalls.count), `longest ${span(stalls.longest_ns / 1e9)}, ${percent(stalls.depth_pct / 100)} below the mean; ${others}`);
}

function impactRow(scenario) {
  const impact = scenario.checkpoints?.impact;
  const head = scenarioHead(scenario);
  if (!impact) return element('tr', {}, head, unknownCell(isSaturated(scenario) ? 'saturated' : 'no checkpoint'), ...['', ...IMPACT].map(() => element('td', {}, '–')), stallsCell(scenario.checkpoints?.stalls));
  const { inside, outside } = impact;
  const share = inside.duration_ns / (inside.duration_ns + outside.duration_ns);
  const pair = (text, value) => {
    const [a, b] = [inside, outside].map(value);
    if (!known(a) && !known(b)) return unknownCell('not resolved');
    return cellOf(known(a) ? text(a) : '–', `outside ${known(b) ? text(b) : '–'}`);
  };
  return element('tr', { className: scenario === selected() ? 'selected' : '' }, head,
    cellOf(percent(share), `${whole.format(scenario.checkpoints.rows.length + scenario.checkpoints.left_out)} checkpoint${scenario.checkpoints.rows.length === 1 ? '' : 's'}`),
    pair(value => `${count(value)}/s`, side => side.transactions_per_s),
    ...IMPACT.map(([purpose, statistic]) => (isUnknown(scenario, statistic) ? unknownCell('unknown') : pair(ns => duration(ns / 1e3), side => side.latency_ns[purpose]?.[statistic]))), stallsCell(scenario.checkpoints.stalls));
}

function checkpointRow(scenario, one) {
  const took = ns => (ns >= 1e9 ? span(ns / 1e9) : duration(ns / 1e3));
  const time = (ns, from) => {
    if (known(ns)) return cellOf(took(ns));
    return known(from) ? element('td', { className: 'range' }, `>${NBSP}${took(scenario.replay.counted_ns.until - from)}`) : unknownCell('not begun');
  };
  const written = known(one.write_ns) ? one.start_ns + one.write_ns : null;
  const felt = purpose => {
    const mean = one.latency_ns[purpose]?.mean;
    return known(mean) ? cellOf(duration(mean / 1e3)) : unknownCell(isSaturated(scenario) ? 'saturated' : 'none');
  };
  return element('tr', { className: scenario === selected() ? 'selected' : '' }, scenarioHead(scenario),
    cellOf(moment(one.start_ns / 1e9)), element('td', { className: 'word' }, { time: 'time', log: 'log' }[one.trigger] ?? one.trigger),
    cellOf(whole.format(one.pages), known(one.write_ns) && one.pages > one.written_pages ? `${whole.format(one.pages - one.written_pages)} written by others` : null), cellOf(bytes(one.bytes), `${whole.format(one.written_pages)} pages`), time(one.write_ns, one.start_ns), time(one.sync_ns, written), cellOf(bytes(one.log_bytes)),
    known(one.dip_pct) ? cellOf(one.dip_pct >= LEAST_DIP ? `−${percent(one.dip_pct / 100)}` : 'not lower') : unknownCell(isSaturated(scenario) ? 'saturated' : 'too short'), felt('transaction'), felt('commit'));
}

function drawCheckpointTables() {
  const there = databases();
  const rows = there.flatMap(scenario => (scenario.checkpoints?.rows ?? []).map(one => [scenario, one]));
  const most = allCheckpoints || printing() || rows.length <= fewCheckpoints() + 2 ? rows.length : fewCheckpoints();
  $('checkpoints').hidden = !rows.length;
  if (!rows.length) return;
  fillTable('checkpoint-impact', 'Latency inside and outside of checkpoints', ['Scenario', 'Time in checkpoints', 'Transactions/s', ...IMPACT.map(([purpose, statistic]) => `${capital(plural(purpose))}, ${statistic}`), 'Stalls longer than 1 s'], there.map(impactRow));
  fillTable('checkpoint-table', 'Checkpoints', ['Scenario', 'Begins at', 'Trigger', 'Dirty pages', 'Writes', 'Writing', 'Syncing', 'WAL since last checkpoint', `Transactions/s, worst 5${NBSP}s`, 'Transaction, mean', 'Commit, mean'],
    rows.slice(0, most).map(([scenario, one]) => checkpointRow(scenario, one)));
  $('impact-note').textContent = 'Large figures: during checkpoints. Small figures: outside of them.'
    + (there.some(scenario => scenario.checkpoints?.stalls?.count) ? ' Stalls: how many this run has, and another one of this length may have (90 % interval).' : '');
  $('checkpoint-more').hidden = most >= rows.length;
  $('checkpoint-more').textContent = `Show the other ${whole.format(rows.length - most)}`;
  $('checkpoints-note').textContent = [
    'Trigger: the time since the last checkpoint, or the log written since then.',
    'Dirty pages: at the beginning of the checkpoint. Written by others: sessions or the background writer wrote these pages, to evict them, before the checkpoint reached them. Which of them wrote a page is not known.',
    'Writes: what the checkpoint wrote itself.',
    `Worst 5${NBSP}s: lowest transactions/s of any 5 seconds, against the mean of the run.`,
    'Transactions, Commits: mean latency during the checkpoint.',
    there.some(scenario => scenario.checkpoints?.left_out) ? 'Only the first of very many checkpoints are listed.' : '',
  ].filter(Boolean).join('\n');
}

function addDatabase() {
  if (!data.scenarios.some(isChanged)) return;
  $('database').hidden = false;
  addFigure('database-time', { into: 'database-figures', className: 'wide' });
  $('checkpoint-more').addEventListener('click', () => { allCheckpoints = true; drawCheckpointTables(); });
  TIME_CHARTS['database-time'] = drawDatabaseTime;
}

const drawDatabase = () => (figures['database-time'] ? drawCheckpointTables() : null);
