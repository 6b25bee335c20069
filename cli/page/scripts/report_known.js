// What is known of a scenario, and how: measured, inferred, synthesised, assumed.
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
const warning = text => [verdictIcon('behind', 'warning'), ' ', text];
/** Entries are `[text, source]`. */
const items = entries => element('ul', {}, entries.map(([text, source]) => element('li', {}, text, source ? element('small', { className: 'source' }, source) : null)));

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

/** Facts of a result that this page has no words for: key and value as they stand there. */
const inWords = key => key.replace(/_ns$/, '').replaceAll('_', ' ');
function generic(key, value) {
  if (typeof value === 'number' && key.endsWith('_ns')) return `${capital(inWords(key))}: ${duration(value / 1e3)}`;
  const text = value !== null && typeof value === 'object'
    ? Object.entries(value).sort(([a], [b]) => (a === 'basis') - (b === 'basis')).map(([inner, one]) => (inner === 'basis' ? `(${one})` : Array.isArray(value) ? generic(key, one).replace(/^[^:]*: /, '') : generic(key.endsWith('_ns') ? `${inner}_ns` : inner, one).toLowerCase())).join(', ').replace(', (', ' (')
    : typeof value === 'number' ? count(value) : String(value);
  return `${capital(inWords(key))}: ${text}`;
}

/** A list in a result whose entries are sentences or `{what, value, source}`. */
const entriesOf = (entries, source) => (entries ?? []).map(one => (typeof one === 'string' ? [one, source]
  : [[one.what, one.value].filter(known).join(': '), one.source ?? source]));

function knownLists(scenario) {
  const trace = traceOf(scenario);
  const recording = `trace ${trace.name}, ${trace.source_format}`;
  const measured = data.purposes.filter(purpose => purpose in trace.measured_latency_ns).map(plural);
  const joined = commandsOf(trace) === trace.requests ? '.' : `; some of them were joined, so that ${whole.format(commandsOf(trace))} commands reached the device.`;
  const made = [...entriesOf(trace.synthesised, recording), ...entriesOf(scenario.synthesised, 'the run')];
  const asRecorded = scenario.verdict.arrivals === 'recorded' ? [meaning(scenario, 'arrivals'), recording] : null;
  const { checkpoints } = scenario;
  return {
    Measured: [
      [`${whole.format(trace.requests)} requests in ${span(trace.span_ns / 1e9)}${joined}`, recording], asRecorded,
      [measured.length ? `Latency on the recorded hardware: ${list(measured)}.` : 'The trace holds no latency of the recorded hardware.', recording],
      ...(trace.warnings ?? []).map(text => [warning(text), 'what the import found']),
    ],
    Inferred: [
      ...(trace.inferred ?? []).map(text => [text, 'concluded on import, not recorded']),
      scenario.verdict.arrivals === 'inferred' ? [meaning(scenario, 'arrivals'), recording] : null,
      checkpoints ? [`${checkpoints.spans_s.length === 1 ? 'A checkpoint' : `${checkpoints.spans_s.length} checkpoints`}, shaded in the charts.`, list(checkpoints.basis) || 'basis not in the result'] : null,
    ],
    Synthesised: [
      scenario.verdict.arrivals === 'recorded' || scenario.verdict.arrivals === 'inferred' ? null : [meaning(scenario, 'arrivals'), 'the run'],
      ...made,
      [`Every latency, rate and utilisation of ${scenario.name} is simulated.`, `tiersim ${scenario.tool_version}, seed ${scenario.seed}`],
      [selfCheck(scenario), 'checked at the end of the run'],
    ],
    'Replay, and what it leaves out': [
      scenario.replay ? [Object.entries(scenario.replay).map(([key, value]) => generic(key, value)).join(' · '), 'the run'] : null,
      ...Object.entries(MEANINGS).filter(([what]) => what !== 'arrivals').map(([what]) => (scenario.verdict[what] === undefined ? null : [meaning(scenario, what), 'the run'])),
      ...Object.entries(scenario.verdict).filter(([what]) => what !== 'load' && !(what in MEANINGS)).map(([key, value]) => [generic(key, value), 'the run']),
      ...coarseness().map(text => [text, 'this page']),
    ],
  };
}

function drawKnown() {
  const scenario = selected();
  const trace = traceOf(scenario);
  const assumed = scenario.assumed ?? [];
  const lists = Object.entries(knownLists(scenario)).map(([title, entries]) => {
    const there = entries.filter(known);
    return element('div', {}, element('h3', {}, title), items(there.length ? there : [['Nothing.', null]]));
  });
  $('known').replaceChildren(...lists,
    element('div', { className: 'wide' }, element('h3', {}, `Assumed for ${scenario.name}`),
      assumed.length ? element('div', { className: 'scroll', tabIndex: 0 }, assumedTable(assumed)) : element('p', {}, 'Nothing beyond the scenario file.'),
      element('details', {}, element('summary', {}, 'Scenario file as it was run'), element('pre', { tabIndex: 0 }, scenario.toml))));
  $('footer').textContent = `tiersim ${scenario.tool_version} · seed ${scenario.seed} · trace ${trace.name} ${trace.hash.slice(0, 12)} · this page holds all its data and loads nothing`;
}
