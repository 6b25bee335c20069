// What is known of a scenario, and how: measured, inferred, synthesised, assumed.
const MEANINGS = {
  calibration: {
    none: 'Not calibrated: the recorded hardware is not described (--recorded-on).',
    uncalibrated: 'Calibration failed: the model of the recorded hardware does not give the recorded latencies.',
    calibrated: 'Calibration passed: the model of the recorded hardware gives the recorded latencies.',
  },
  cache: {
    'not modelled': 'The server’s caches are not simulated: the trace holds only the requests that missed them.',
    'not warmed': 'The buffer pool is not warm when the run begins: it may answer less than in the long run.', warm: 'The buffer pool starts warm.', cold: 'The buffer pool starts cold.',
    'as recorded': 'The buffer pool starts as full as in the recording.',
  },
  arrivals: {
    recorded: 'Arrivals are the recorded ones.', inferred: 'Sessions were inferred from the number of outstanding requests.', synthetic: 'The server counts totals, not single executions. Their order and overlap are simulated, so percentiles are less sure than means.',
  },
  reach: {
    'within the recording': 'The calibration covers this run: neither buffer pool nor CPU load is larger than recorded.',
    'beyond the recording': 'The calibration does not cover this run: buffer pool, CPU load or reads are larger than recorded.',
    'beyond the recording, with assumed costs': 'The calibration does not cover this run: buffer pool, CPU load or reads are larger than recorded, and CPU costs are assumed.',
  },
  storage: { 'of another kind': 'The drives are of another kind than recorded, on which nobody checked a calibration.' },
  locks: { modelled: 'Row locks are simulated.', 'not modelled': 'Row locks are not simulated.', none: 'No statement changes rows, so none waits for a row lock.' },
};
const meaning = (scenario, what) => MEANINGS[what][scenario.verdict[what]] ?? `${capital(what)}: ${scenario.verdict[what]}.`;
const warning = text => [verdictIcon('behind', 'warning'), ' ', text];
/** Entries are `[text, source]`. */
const items = entries => element('ul', {}, entries.map(([text, source]) => element('li', {}, text, source ? element('small', { className: 'source' }, source) : null)));

function selfCheck(scenario) {
  const { name, conservation: check } = scenario;
  const sums = `${whole.format(check.requests_in)} ${ofStatements(scenario) ? 'sessions' : 'requests'} started and ${whole.format(check.requests_out)} ended`;
  if (check.requests_in === check.requests_out && check.little && check.busy) return `Self-check of ${name} passed: ${sums}.`;
  const broken = [check.little ? null : 'Little’s law', check.busy ? null : 'busy time'].filter(known);
  return warning(`Self-check of ${name} failed: ${sums}${broken.length ? `; ${list(broken)} does not hold` : ''}.`);
}

/** To stay small, a page of many scenarios draws fewer points. */
function coarseness() {
  const merged = data.merged_intervals;
  return merged > 1 ? [`Each point of a chart over time covers ${merged} intervals of the run: the largest of their p99s, the mean of their other figures.`] : [];
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

/** Facts of a result that this page has no words for: key and value as they stand there. */
const inWords = key => key.replace(/_ns$/, '').replaceAll('_', ' ');
function generic(key, value) {
  if (typeof value === 'number' && key.endsWith('_ns')) return `${capital(inWords(key))}: ${duration(value / 1e3)}`;
  const text = value !== null && typeof value === 'object'
    ? Object.entries(value).sort(([a], [b]) => (a === 'basis') - (b === 'basis')).map(([inner, one]) => (inner === 'basis' ? `(${one})` : Array.isArray(value) ? generic(key, one).replace(/^[^:]*: /, '') : generic(key.endsWith('_ns') ? `${inner}_ns` : inner, one).toLowerCase())).join(', ').replace(', (', ' (')
    : typeof value === 'number' ? count(value) : String(value);
  return `${capital(inWords(key))}: ${text}`;
}

const MODES = {
  open: what => `Every ${what} starts at its recorded time.`,
  'partly-open': what => `A session waits for its own ${what}s: a ${what} that waited for an earlier one in the recording waits for it here, too, and for the recorded pause (think time) after it. After a pause longer than replay.dependency_window (100 ms unless set), the next one starts at its recorded time. The latency of a ${what} begins when it starts in this run. How late it starts is not part of it.`,
  closed: what => `A ${what} starts one think time after the previous ${what} of its session has ended.`,
};
const withPid = name => name.replace(/ (\d+)$/, ' (PID $1)');
/** What a replay says of itself, in sentences; keys without words stand as they are. */
function replayWords(replay, what) {
  const { mode, played, why, load, load_reached, commands, sessions, inferred_sessions, late_sessions, waits_for_issuer, waits_for_clock,
    waits_for_foreground, keeps, transactions_done, transactions: _, think_mean_ns, think_p50_ns, writers, writer_names, journals, journal_names, counted_ns, recorded_connections, ...others } = replay;
  const share = waiting => percent(waiting / commands);
  return [
    played ? `Played at the recorded times: ${why}.` : known(keeps) ? null : MODES[mode]?.(what) ?? (known(mode) ? `Mode: ${mode}.` : null),
    known(sessions) && (!keeps || late_sessions || inferred_sessions) ? `${whole.format(sessions)} session${sessions === 1 ? '' : 's'}${inferred_sessions ? `, ${whole.format(inferred_sessions)} of them inferred: the recording does not show which thread sent a request` : ''}${late_sessions ? `; ${whole.format(late_sessions)} ${late_sessions === 1 ? 'ends' : 'end'} late` : ''}.` : null,
    commands ? `${share(waits_for_issuer)} of the requests start after earlier work of their session, ${share(waits_for_clock)} at their recorded time. ${share(waits_for_foreground)} are background writes: they come earlier where sessions run faster, later where they run slower.` : null,
    keeps === 'clients' ? 'Closed loop: a client starts its next transaction when the last one has ended, after a recorded pause, if any.' : keeps === 'rate' ? 'Transactions start at the recorded rate, whether earlier ones have ended or not (open loop).' : null,
    known(transactions_done) ? `${whole.format(transactions_done)} transactions completed${counted_ns?.from ? ', with those of the warm-up' : ''}.` : null,
    known(think_mean_ns) ? `Think time of sessions: mean ${duration(think_mean_ns / 1e3)}, median ${duration(think_p50_ns / 1e3)}.` : null,
    writer_names?.length ? `Background writers (inferred: no session waits for them): ${list(writer_names.map(withPid))}.` : null,
    journal_names?.length ? `File system journals (inferred): ${list(journal_names.map(withPid))}.` : null,
    counted_ns?.from ? `The first ${span(counted_ns.from / 1e9)} are in no latency (replay.warmup): caches of controllers fill meanwhile.` : null,
    known(load) && load !== 1 ? `${count(load_reached ?? load)} times the recorded load, by cloning or leaving out sessions.` : null,
    known(recorded_connections) ? `The recording shows at most ${whole.format(recorded_connections)} sessions at a time.` : null,
    Object.entries(others).filter(([, value]) => known(value)).map(([key, value]) => generic(key, value)).join(' · ') || null,
  ].filter(known);
}

/** With a capital letter, unless it begins with a name such as public.orders. */
const asSentence = text => (/^[a-z]+[ ,;]/.test(text) ? capital(text) : text).replace(/([^.])$/, '$1.');

/** A list in a result whose entries are sentences or `{what, value, source}`. */
const entriesOf = (entries, source) => (entries ?? []).map(one => (typeof one === 'string' ? [one, source]
  : [[one.what, one.value].filter(known).join(': '), one.source ?? source]));

/** What a cache in front of disks did. */
function cacheWords(name, cache) {
  const { read_hit_ratio: reads, read_hit_ratio_since_full: since, write_hit_ratio: writes, filled_ns: full, used_bytes: used, dirty_bytes: dirty } = cache;
  const filled = known(full) ? `full after ${span(full / 1e9)}` : 'not full at the end';
  return [
    known(reads) ? `Cache ${name}: ${percent(reads)} of what is read comes from it${known(since) ? `, ${percent(since)} since it is full` : ''}.` : `Cache ${name}: nothing was read.`,
    known(writes) ? `${percent(writes)} of what is written meets a block that it holds.` : null,
    `It holds ${bytes(used)} (${filled}), ${bytes(dirty)} of it not yet on the disks.`,
  ].filter(known).join(' ');
}

/** What became of burst credits. */
function creditWords({ station, start, end, ran_out_ns: out, lasts_ns: lasts }) {
  const course = `Burst credits of ${station}: ${percent(start)} of a full balance at the start, ${percent(end)} at the end`;
  if (known(out)) return warning(`${course}; they run out after ${span(out / 1e9)}.`);
  return known(lasts) ? warning(`${course}; under this load they last ${span(lasts / 1e9)}.`) : `${course}.`;
}

function knownLists(scenario) {
  const trace = traceOf(scenario);
  const recording = `trace ${trace.name}, ${trace.source_format}`;
  const measured = data.purposes.filter(purpose => purpose in trace.measured_latency_ns).map(plural);
  const statements = `${whole.format(trace.statements)} executions in ${whole.format(trace.transactions)} transactions`;
  const counted = scenario.verdict.arrivals === 'synthetic' ? `Counters over ${span(trace.span_ns / 1e9)}: ${statements}.` : `${statements} in ${span(trace.span_ns / 1e9)}.`;
  const joined = commandsOf(trace) === trace.requests ? '.' : `; after merges by the kernel ${whole.format(commandsOf(trace))} reached the device.`;
  const made = [...entriesOf(trace.synthesised, recording), ...entriesOf(scenario.synthesised, null)];
  const waiting = scenario.replay && scenario.replay.mode !== 'open' && !scenario.replay.played;
  const asRecorded = scenario.verdict.arrivals === 'recorded' ? [waiting ? 'Sessions, order and think times are as recorded.' : meaning(scenario, 'arrivals'), recording] : null;
  const { checkpoints } = scenario;
  return {
    Measured: [
      [ofStatements(scenario) ? counted : `${whole.format(trace.requests)} requests in ${span(trace.span_ns / 1e9)}${joined}`, recording], asRecorded,
      [measured.length ? `${ofStatements(scenario) ? 'Mean latency' : 'Latency'} of ${list(measured)} on the recorded hardware.` : ofStatements(scenario) ? 'The latency of single block requests was not recorded.' : 'The trace holds no latency of the recorded hardware.', recording],
      scenario.recorded_on?.described ? [`Recorded hardware, as you described it (--recorded-on): ${scenario.recorded_on.described.replace(/\.?$/, '.')}`, `scenario ${scenario.recorded_on.baseline}`] : null,
      ...(trace.warnings ?? []).map(text => [warning(text), 'what the import found']),
    ],
    'Inferred from the recording': [
      ...(trace.inferred ?? []).map(text => [asSentence(text), null]),
      ...(scenario.inferred ?? []).map(text => [asSentence(text), null]),
      scenario.verdict.arrivals === 'inferred' ? [meaning(scenario, 'arrivals'), recording] : null,
      checkpoints && !checkpoints.rows ? [`${checkpoints.spans_s.length === 1 ? 'A checkpoint' : `${checkpoints.spans_s.length} checkpoints`}, shaded in the charts.`, list(checkpoints.basis) || 'basis not in the result'] : null,
    ],
    Simulated: [
      scenario.verdict.arrivals === 'recorded' || scenario.verdict.arrivals === 'inferred' ? null : [meaning(scenario, 'arrivals'), null],
      ...made,
      ...Object.entries(scenario.caches).map(([name, cache]) => [cacheWords(name, cache), null]),
      ...(scenario.credits ?? []).map(one => [creditWords(one), null]),
      [`Every latency, rate and utilisation of ${scenario.name} is simulated.`, `tiersim ${scenario.tool_version}, seed ${scenario.seed}`],
      [selfCheck(scenario), 'checked at the end of the run'],
    ],
    Replay: [
      ...replayWords(scenario.replay ?? {}, ofStatements(scenario) ? 'transaction' : 'request').map(text => [text, null]),
      ...Object.entries(MEANINGS).filter(([what]) => what !== 'arrivals').map(([what]) => (scenario.verdict[what] === undefined ? null : [meaning(scenario, what), null])),
      ...Object.entries(scenario.verdict).filter(([what]) => !['load', 'credits', 'recorded_storage'].includes(what) && !(what in MEANINGS)).map(([key, value]) => [generic(key, value), null]),
      ...(scenario.caveats ?? []).map(text => [warning(capital(text)), null]),
      ...coarseness().map(text => [text, 'this page']),
    ],
  };
}

/** Host and engine as they were simulated, and where each value is from. */
function settingsTable(scenario) {
  const rows = Object.entries(scenario.settings_from ?? {}).map(([setting, source]) => {
    const [part, key] = setting.split('.');
    const [size, ns] = ['bytes', 'ns'].map(unit => scenario[part]?.[`${key}_${unit}`]);
    const value = known(size) ? bytes(size) : Number.isFinite(ns) ? duration(ns / 1e3)
      : setting === 'host.costs' ? `${duration(scenario.host.costs_ns.read_ns / 1e3)} of CPU to read a page, on a busy host` : scenario[part]?.[key];
    return [`${capital(part)}: ${inWords(key)}`, known(value) ? String(value) : source.startsWith('default') ? 'default' : '–', source];
  });
  return table(['What', 'Value', 'Source'], rows, { className: 'numbers words' });
}

/** Opens at a click, and by itself where something in it is a warning; `key` names it in every scenario. */
function fold(key, title, count, opened, ...content) {
  const node = element('details', { className: 'fold' }, element('summary', {}, element('h3', {}, title), known(count) ? ` ${count}` : null), content);
  node.dataset.key = key;
  node.open = opened.has(key) || Boolean(node.querySelector('li > svg'));
  return node;
}

function drawKnown() {
  const opened = new Set([...document.querySelectorAll('#known .fold[open]')].map(one => one.dataset.key));
  const scenario = selected();
  const trace = traceOf(scenario);
  const assumed = scenario.assumed ?? [];
  const lists = Object.entries(knownLists(scenario)).map(([title, entries]) => {
    const there = entries.filter(known);
    return there.length ? fold(title, title, there.length, opened, items(there)) : null;
  });
  const settings = ofStatements(scenario) ? [fold('settings', `Host and engine of ${scenario.name}`, null, opened, element('div', { className: 'scroll', tabIndex: 0 }, settingsTable(scenario)))] : [];
  $('known').replaceChildren(...lists.filter(known), ...settings,
    assumed.length ? fold('assumed', `Assumed for ${scenario.name}`, assumed.length, opened,
      element('div', { className: 'scroll', tabIndex: 0 }, assumedTable(assumed)),
      element('p', {}, 'What each key means: docs/device-reference.md and docs/scenario-reference.md.')) : element('p', {}, `Nothing is assumed for ${scenario.name} beyond the scenario file.`),
    fold('toml', 'Scenario file as it was run', null, opened, element('pre', { tabIndex: 0 }, scenario.toml)));
  $('footer').textContent = `tiersim ${scenario.tool_version} · seed ${scenario.seed} · trace ${trace.name} ${trace.hash.slice(0, 12)} · this page contains all its data and loads nothing from a network`;
}
