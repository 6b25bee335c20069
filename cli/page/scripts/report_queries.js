// Queries: a table to be searched and sorted, and where the time of one of them, or of whole transactions, goes.
const FEW_QUERIES = 12;
/** Queries of a smaller share of the time, on every scenario, are shown when asked for. */
const LITTLE_SHARE = 0.001;
const isLittle = query => queryScenarios().every(scenario => (scenario.queries[query]?.share ?? 0) < LITTLE_SHARE);
const listing = { key: 'share', descending: true, wanted: '', all: false };

const queryScenarios = () => scenarios().filter(scenario => scenario.queries);
const transactionsPerS = scenario => scenario.throughput_per_s.transactions?.value;

/** One query, all of them, or commits, as a scenario ran it; undefined where it did not. */
function asRun(scenario, query) {
  if (query === COMMITS) return scenario.commits ?? undefined;
  if (query !== ALL) return scenario.queries[query];
  const rate = transactionsPerS(scenario);
  const reads = Object.values(scenario.queries).reduce((sum, one) => sum + (one.reads ?? 0) * (one.per_s ?? 0), 0);
  return { per_s: rate, reads: rate ? reads / rate : null, share: null, us: scenario.transaction_us };
}

const COLUMNS = {
  per_s: { head: 'Calls/s', text: found => (known(found.per_s) ? count(found.per_s) : '–'), value: found => found.per_s },
  share: { head: 'Time share without client', text: found => (known(found.share) ? percent(found.share) : '–'), value: found => found.share },
  ...Object.fromEntries(['mean', 'p95', 'p99'].map(key => [key, { head: key, statistic: key, value: (_, scenario, query) => { const { us, figure } = queryLatency(scenario, query, key); return us ?? (known(figure?.low) ? figure.low / 1e3 : null); } }])),
  reads: { head: 'Reads per call', text: found => (known(found.reads) ? count(found.reads) : '–'), value: found => found.reads },
};

function latencyLine(scenario, query, statistic) {
  const { us, figure, range, word, why } = queryLatency(scenario, query, statistic);
  const small = text => (text ? element('small', {}, text) : null);
  if (known(us)) return [duration(us), small(expectedLatency(scenario, figure, us, statistic, purposeOf(query)))];
  return range ? [element('span', { className: 'range' }, range), small(why ?? word)] : [element('span', { className: 'word' }, word)];
}

/** One line for each scenario. */
const lines = content => queryScenarios().map(scenario => element('div', { className: 'line' }, content(scenario)));

/** What is no query. */
const WHOLE = { [ALL]: 'Whole transactions', [COMMITS]: 'Commits' };

/** The recorded mean of a query, or of whole transactions; undefined where it was not recorded, or traces differ. */
function recordedUs(query) {
  if (data.traces.length !== 1) return undefined;
  const [{ measured_latency_ns: latencies, measured_queries_ns: queries }] = data.traces;
  const ns = query === ALL ? latencies.transaction?.mean : queries[data.queries[query]?.id];
  return known(ns) ? ns / 1e3 : undefined;
}

function queryRow(query) {
  const one = data.queries[query];
  const choose = element('button', { type: 'button', className: 'query', onclick: () => select({ query }) },
    WHOLE[query] ?? element('bdi', {}, one.label));
  choose.setAttribute('aria-pressed', query === state.query);
  const recorded = recordedUs(query);
  const before = (...content) => (known(recorded) ? [element('div', { className: 'line' }, content)] : []);
  const cell = column => element('td', {}, before(column.statistic === 'mean' ? duration(recorded) : '–'), lines(scenario => {
    const found = asRun(scenario, query);
    if (!found) return '–';
    return column.statistic ? latencyLine(scenario, query, column.statistic) : column.text(found);
  }));
  return element('tr', { className: query === state.query ? 'selected' : '' },
    element('th', { scope: 'row' }, choose),
    element('td', { className: 'text' }, before(element('span', { className: 'who' }, swatch(measuredStyle()), 'Recorded')), lines(scenario => element('span', { className: 'who' }, swatch(style(scenarios().indexOf(scenario))), scenario.name))),
    Object.values(COLUMNS).map(cell));
}

const searched = query => `${query.id}\n${query.label}\n${query.text ?? ''}`.toLowerCase();

/** Places of the queries that are looked for, in order: those that the chosen scenario says nothing of last. */
function orderedQueries() {
  const scenario = selected().queries ? selected() : queryScenarios()[0];
  const column = COLUMNS[listing.key];
  const key = query => {
    const found = asRun(scenario, query);
    return (found && column.value(found, scenario, query)) ?? null;
  };
  const found = data.queries.map((_, query) => ({ query, key: key(query) })).filter(({ query }) => searched(data.queries[query]).includes(listing.wanted.toLowerCase()));
  const sign = listing.descending ? -1 : 1;
  return found.sort((a, b) => (known(b.key) - known(a.key)) || sign * ((a.key ?? 0) - (b.key ?? 0)) || a.query - b.query).map(({ query }) => query);
}

function sortBy(key) {
  Object.assign(listing, { key, descending: key === listing.key ? !listing.descending : true });
  drawQueryTable();
  $('query-table').querySelector(`[data-key="${key}"]`).focus();
}

function columnHead([key, column]) {
  const chosen = key === listing.key;
  const button = element('button', { type: 'button', className: 'sort', onclick: () => sortBy(key) }, column.head, chosen ? (listing.descending ? ' ↓' : ' ↑') : '');
  button.dataset.key = key;
  const head = element('th', { scope: 'col' }, button);
  head.setAttribute('aria-sort', chosen ? (listing.descending ? 'descending' : 'ascending') : 'none');
  return head;
}

function drawQueryTable() {
  const found = orderedQueries();
  const most = listing.all || printing() || found.length <= FEW_QUERIES + 2 ? found.length : FEW_QUERIES;
  const worth = listing.all || listing.wanted || printing() || found.every(isLittle) ? found : found.filter(query => !isLittle(query));
  const shown = worth.slice(0, most);
  if (!(state.query in WHOLE) && found.includes(state.query) && !shown.includes(state.query)) shown.push(state.query);
  $('query-table').replaceChildren(
    element('caption', { className: 'unseen' }, 'Queries by scenario'),
    element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Query'), element('th', { scope: 'col', className: 'text' }, 'Scenario'), Object.entries(COLUMNS).map(columnHead))),
    element('tbody', {}, ...(listing.wanted ? [] : [queryRow(ALL), ...(ANY_COMMITS ? [queryRow(COMMITS)] : [])]), ...shown.map(queryRow),
      ...(found.length ? [] : [element('tr', {}, element('td', { className: 'text', colSpan: 2 + Object.keys(COLUMNS).length }, 'No query holds this text.'))])));
  labelCells($('query-table'));
  $('query-more').hidden = shown.length >= found.length;
  $('query-more').textContent = `Show the other ${whole.format(found.length - shown.length)}`;
}

function queriesNote() {
  const by = selected().queries ? selected().name : queryScenarios()[0].name;
  return [
    `Sorted by the figures of ${by}.`, 'Time share without client: share of the time in queries and commits.', 'Small figures: the expected range.', 'Reads per call: pages that missed the buffer pool.',
    ...wordsOfRanges($('query-table')),
    queryScenarios().some(scenario => scenario.extrapolated) ? 'With this size of the buffer pool all figures are extrapolated.' : '',
  ].filter(Boolean).join('\n');
}

// ------------------------------------------------------------------------------------------------------- where time goes
function spentSides() {
  return queryScenarios().map(scenario => ({ scenario, us: isSaturated(scenario) ? null : asRun(scenario, state.query)?.us ?? null }));
}

function spentReading(sides) {
  const told = sides.map(({ scenario, us }) => {
    if (isSaturated(scenario)) return `${scenario.name}: saturated, no steady parts.`;
    const sum = us?.reduce((a, b) => a + b, 0);
    if (!sum) return `${scenario.name}: not known.`;
    const most = us.indexOf(Math.max(...us));
    return `${scenario.name}: ${percent(us[most] / sum)} of ${duration(sum)} is ${partWord(data.parts[most])}.`;
  });
  const client = data.parts.indexOf('outside the queries');
  const outside = sides.some(({ us }) => us?.[client] > 0) ? ' Client, between queries: the time of the client itself, with its wait for a core if it runs on the server.' : '';
  return told.join(' ') + outside;
}

function drawSpent() {
  const sides = spentSides();
  const places = data.parts.map((_, i) => i).filter(i => sides.some(({ us }) => us?.[i] > 0));
  const most = Math.max(...sides.map(({ us }) => us?.reduce((a, b) => a + b, 0) ?? 0), 0);
  const [unit, factor] = unitOf(most);
  const names = sides.map(({ scenario }) => `${plain(shortened(scenario.name, narrow() ? 14 : 24))} `);
  const per = { [ALL]: 'a transaction', [COMMITS]: 'a commit' }[state.query] ?? 'a call';
  const traces = places.map(i => ({
    type: 'bar', orientation: 'h', name: partWord(data.parts[i]), y: sides.map((_, k) => k), x: sides.map(({ us }) => (us ? us[i] / factor : null)), customdata: sides.map(({ scenario }) => scenarios().indexOf(scenario)),
    marker: { color: css(PART_COLOURS[i]), line: { color: css('--page'), width: 1 } },
    text: sides.map(({ us }) => (us ? duration(us[i]) : '')), textposition: 'none', hovertemplate: `${plain(partWord(data.parts[i]))}: %{text}<extra></extra>`,
  }));
  show('spent', {
    title: `Where the time of ${per} goes`, traces, reading: spentReading(sides), height: Math.max(170, 44 * sides.length + 60),
    legend: places.map(i => legendItem(area(css(PART_COLOURS[i])), partWord(data.parts[i]))),
    layout: most ? layout({
      barmode: 'stack', bargap: 0.35, hovermode: 'closest', dragmode: false, margin: { l: 58, r: 20, t: 6, b: 36 },
      xaxis: axis({ range: [0, (most / factor) * 1.03], ticksuffix: ` ${unit}`, nticks: narrow() ? 5 : 7, fixedrange: true }),
      yaxis: axis({ tickvals: sides.map((_, k) => k), ticktext: names, range: [sides.length - 0.5, -0.5], automargin: true, showgrid: false, fixedrange: true }),
    }) : nothing('Nothing here has a steady mean.'),
    numbers: () => [{
      caption: `Time of ${per} of ${queryName(state.query)}`, head: ['Scenario', ...data.parts.map(part => `${partWord(part)} (µs)`)],
      rows: sides.map(({ scenario, us }) => [scenario.name, ...data.parts.map((_, i) => us?.[i] ?? null)]),
    }],
  });
}

/** The chosen query in full, as text. */
function drawQueryText() {
  const one = data.queries[state.query];
  const title = element('h3', {}, WHOLE[state.query] ?? 'The query');
  const back = element('button', { type: 'button', className: 'copy', onclick: () => select({ query: ALL }) }, 'Back to whole transactions');
  if (!one) {
    const said = state.query === ALL ? 'Choose a query in the table to see its text and where its own time goes.'
      : 'A commit waits until its part of the log is durable. Commits that come during a flush share the next flush.';
    return $('query-text').replaceChildren(element('div', { className: 'section-head' }, title, ...(state.query === ALL ? [] : [back])), element('p', { className: 'reading' }, said));
  }
  const facts = [`id ${one.id}`, one.executions ? `executions ${one.executions}` : null, one.cpu ? `CPU time: ${one.cpu}` : null].filter(known).join(' · ');
  const text = element('pre', { tabIndex: 0, dir: 'auto', ariaLabel: 'Text of the query' }, one.text ?? 'Its text was not recorded.');
  const cut = one.left_out ? element('small', {}, `The first ${whole.format([...one.text].length)} characters; ${whole.format(one.left_out)} more are not in this page.`) : null;
  return $('query-text').replaceChildren(element('div', { className: 'section-head' }, title, back), element('small', { className: 'source' }, facts), text, ...[cut].filter(known));
}

function addQueries() {
  if (!data.queries.length) return;
  $('queries').hidden = false;
  addFigure('spent', { into: 'query-figures' });
  $('query-search').addEventListener('input', event => { listing.wanted = event.target.value.trim(); drawQueryTable(); });
  $('query-more').addEventListener('click', () => { listing.all = true; drawQueryTable(); });
}

function drawQueries() {
  if (!data.queries.length) return;
  drawQueryTable();
  $('queries-note').textContent = queriesNote();
  drawQueryText();
  drawSpent();
}
