// The state of a report, and what may be said of its figures.
const MEASURES = { busy_pct: 'utilisation', outstanding: 'outstanding requests' };
const NOTHING = -1;
const ALL = -1; // queries: whole transactions
const COMMITS = -3; // queries: commits
const RECORDED = -2; // what the trace measured on the hardware that it was recorded on

// A tier is one storage, with a result at one or at several sizes of the buffer pool: `state.scenario` and `state.compare` are tiers,
// `state.pool` a place in POOLS.
const poolOf = scenario => scenario.engine?.buffer_pool_bytes;
let TIERS, POOLS, RECORDED_POOL, ALL_STATEMENTS, ANY_COMMITS, usualStatistic;
/** The result of a tier at the chosen size of the pool, or at the nearest that it has. */
const atPool = (tier, size) => (tier.length > 1 ? tier.toSorted((a, b) => Math.abs(Math.log(poolOf(a) / size)) - Math.abs(Math.log(poolOf(b) / size)))[0] : tier[0]);
const scenarios = () => TIERS.map(tier => atPool(tier, POOLS[state.pool]));
/** The recorded size, so that like is compared with like; without a result for it the first at which nothing is extrapolated. */
const usualPool = () => Math.max(POOLS.includes(RECORDED_POOL) ? POOLS.indexOf(RECORDED_POOL) : POOLS.findIndex(size => TIERS.every(tier => !atPool(tier, size).extrapolated)), 0);
const ofStatements = scenario => scenario.level === 'statements';
/** What the load is judged by: transactions of statements, also where only their requests are shown. */
const countedWhat = scenario => (scenario.throughput_per_s.transactions ? 'transactions' : 'requests');

/** Whether somebody checked percentiles of results like these; where not, their error is unknown and means come first. Old results do not say. */
const tailKnown = scenario => !scenario.expected || 'tail' in scenario.expected;
const tailsKnown = () => data.scenarios.every(tailKnown);
const usualTail = () => (data.queries.length ? 'p95' : 'p99');

/** Takes up what `data` has of results: at first, and each time that it has others. */
function takeResults() {
  TIERS = data.tiers.map(({ name, members }) => members.map(index => ({ ...data.scenarios[index], name, index })));
  POOLS = [...new Set(TIERS.filter(tier => tier.length > 1).flatMap(tier => tier.map(poolOf)))].sort((a, b) => a - b);
  RECORDED_POOL = data.scenarios[0].engine?.recorded_buffer_pool_bytes;
  ALL_STATEMENTS = data.scenarios.every(ofStatements);
  ANY_COMMITS = data.scenarios.some(scenario => scenario.commits);
  usualStatistic = tailsKnown() ? usualTail() : 'mean';
}

if (data.scenarios) {
  takeResults();
  Object.assign(state, { pool: usualPool(), statistic: usualStatistic });
}
Object.assign(state, { scenario: 0, purpose: '', compare: NOTHING, stations: 'busy_pct', query: ALL });

const selected = () => scenarios()[state.scenario];
const compared = () => scenarios()[state.compare];
const traceOf = scenario => data.traces.find(trace => trace.hash === scenario.trace);
const measuredFor = (scenario, purpose) => traceOf(scenario).measured_latency_ns[purpose];
const isMeasured = scenario => Object.keys(traceOf(scenario).measured_latency_ns).length > 0;
const endOf = scenario => scenario.time.end_s.at(-1) ?? 0;

/** Seconds that the charts over time show. */
spanShown = () => Math.max(endOf(selected()), compared() ? endOf(compared()) : 0, 1e-6);

/** What a scenario is set against unless somebody chose: the next one, or what was recorded. */
function usualComparison(scenario) {
  if (scenarios().length > 1) return scenario ? 0 : 1;
  return isMeasured(scenarios()[scenario]) ? RECORDED : NOTHING;
}

function readState() {
  const wanted = readAddress();
  if (!wanted) return;
  const index = name => scenarios().findIndex(scenario => scenario.name === wanted.get(name));
  const pool = POOLS.indexOf(Number(wanted.get('pool')));
  state.pool = pool < 0 ? usualPool() : pool;
  state.query = wanted.get('query') === 'commits' && ANY_COMMITS ? COMMITS : data.queries.findIndex(query => query.id === wanted.get('query'));
  state.scenario = Math.max(index('scenario'), 0);
  const special = { nothing: NOTHING, recorded: isMeasured(selected()) ? RECORDED : NOTHING }[wanted.get('against')];
  const other = index('compare');
  state.compare = special ?? (other >= 0 && other !== state.scenario ? other : usualComparison(state.scenario));
  state.purpose = data.purposes.includes(wanted.get('purpose')) ? wanted.get('purpose') : data.purposes[0] ?? '';
  state.statistic = wanted.get('latency') in STATISTICS ? wanted.get('latency') : usualStatistic;
  state.stations = wanted.get('stations') in MEASURES ? wanted.get('stations') : 'busy_pct';
}

/** What of the state stands in the address. */
function stateInAddress() {
  const shown = { scenario: selected().name, purpose: state.purpose };
  if (compared()) shown.compare = compared().name;
  else shown.against = state.compare === RECORDED ? 'recorded' : 'nothing';
  if (state.statistic !== usualStatistic) shown.latency = state.statistic;
  if (POOLS.length) shown.pool = POOLS[state.pool];
  if (state.query !== ALL) shown.query = state.query === COMMITS ? 'commits' : data.queries[state.query].id;
  if (state.stations !== 'busy_pct') shown.stations = state.stations;
  return shown;
}

const isShort = scenario => scenario.throughput_shortfall_pct >= 0.5;
/** Late starts are shown where the load is not carried. Where it is, a few late sessions make the mean, and the verdict names them. */
const hasLag = scenario => (scenario.lag_ns?.max ?? 0) > 0 && scenario.verdict.load !== 'steady';
const lag = scenario => ['mean', 'max'].filter(key => known(scenario.lag_ns?.[key]))
  .map(key => `${duration(Math.abs(scenario.lag_ns[key]) / 1e3)} ${scenario.lag_ns[key] < 0 ? 'early ' : ''}${{ mean: 'on average', max: 'at most' }[key]}`);
/** What stands where a result has no lag: in an open replay every command starts when it was recorded. */
const noLag = scenario => (scenario.lag_ns || scenario.replay?.mode === 'open' ? 'none' : 'not in the result');
const shortfall = scenario => `${whole.format(scenario.throughput_shortfall_pct)}${NBSP}% fewer`;

/** A percentile of statements that nobody compared with measurements is unknown, as on the terminal. */
const isUnknown = (scenario, statistic) => ofStatements(scenario) && !tailKnown(scenario) && !isMean(statistic) && !isSaturated(scenario);
const WHY_UNKNOWN = 'for replays like this (another kind of storage, or not calibrated), no percentile was ever compared with a measurement.';

/** What may be said of one figure of a scenario: `{us, figure}` or, where there is no single number, `{word}` and perhaps a range. */
const latency = (scenario, purpose, statistic) => checkedFigure(scenario, scenario.latency_ns[purpose], statistic);
const checkedFigure = (scenario, figures, statistic) => (figures && isUnknown(scenario, statistic) ? { word: 'unknown' } : figureAt(scenario, figures, statistic));

/** What latencies are of that are no query's; undefined of a query. */
const purposeOf = query => ({ [ALL]: 'transaction', [COMMITS]: 'commit' }[query]);

/** The same of a query, of transactions, or of commits. */
function queryLatency(scenario, query, statistic) {
  if (purposeOf(query)) return latency(scenario, purposeOf(query), statistic);
  const found = scenario.queries?.[query]?.ns;
  const figures = found && Object.fromEntries(Object.entries(found).map(([key, [value, low, high, why]]) => [key, { value, low, high, why, resolved: known(value) }]));
  return checkedFigure(scenario, figures ?? (scenario.queries?.[query] && {}), statistic);
}
