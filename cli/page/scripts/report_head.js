// The first screen: four answers, a card for each scenario, the table of all of them.
/** A part that is busy for this share of the time limits a closed loop by itself. */
const ALWAYS_BUSY = 0.95;
/** A part whose busiest interval is so many times as busy as all of the run is said to have one. */
const PEAK = 1.2;
/** A sentence names so many scenarios, of more the first and the last. */
const MOST_NAMED = 4;
/** Beside a load that is carried, requests are named that take more than so many times as long as recorded. */
const MUCH_SLOWER = 2;

function sentenceOfVerdicts() {
  const total = scenarios().length;
  const parts = Object.entries(VERDICTS).map(([load, { one, many }]) => {
    const found = scenarios().filter(scenario => scenario.verdict.load === load);
    const names = found.map(scenario => scenario.name);
    const doubtful = found.filter(scenario => scenario.in_doubt).map(scenario => scenario.name);
    const doubt = !doubtful.length ? '' : doubtful.length < names.length ? `, in doubt for ${list(doubtful)}` : names.length === 1 ? ', in doubt' : names.length === 2 ? ', both in doubt' : ', all in doubt';
    if (!names.length) return null;
    if (load === 'steady' && total > 1 && names.length === total) return `All ${total} scenarios ${many}${doubt}`;
    return `${list(names)} ${names.length > 1 ? many : one}${doubt}`;
  });
  return parts.filter(known).map(part => `${part}.`).join(' ');
}

/** The multiple of the recorded load that ran; within half a percent it is called as it was asked for. */
const loadOf = ({ replay }) => {
  const [asked, ran] = [replay?.load ?? 1, replay?.load_reached ?? replay?.load ?? 1];
  return Math.abs(ran - asked) <= 0.005 * asked ? asked : ran;
};
const sentenceOfLoads = () => scenarios().filter(one => loadOf(one) !== 1).map(one => `${one.name} has ${count(loadOf(one))}${NBSP}× the recorded load.`).join(' ');

const lateWord = ({ replay }) => (replay?.late_sessions ? `, ${whole.format(replay.late_sessions)} session${replay.late_sessions === 1 ? ' ends' : 's end'} late` : '');
function sentenceOfLateSessions() {
  const late = scenarios().filter(one => one.replay?.late_sessions);
  if (late.length > MOST_NAMED) return `On ${late.length} scenarios some sessions end late (cards below).`;
  return late.map(({ name, replay: { late_sessions: count_, sessions } }) => `On ${name}, ${whole.format(count_)} of ${whole.format(sessions)} sessions ${count_ === 1 ? 'ends' : 'end'} late.`).join(' ');
}

/** How many fewer complete than recorded; of many scenarios the least and the most. */
function sentencesOfShortfall() {
  const short = scenarios().filter(isShort).sort((a, b) => a.throughput_shortfall_pct - b.throughput_shortfall_pct);
  if (short.length <= MOST_NAMED) return short.map(one => `${one.name} completes ${percent(one.throughput_shortfall_pct / 100)} fewer ${countedWhat(one)}/s than recorded.`);
  const [least, most] = [short[0], short.at(-1)].map(one => percent(one.throughput_shortfall_pct / 100));
  return [`${short.length} scenarios complete ${least} to ${most} fewer ${countedWhat(short[0])}/s than recorded.`];
}

/** What the verdict leaves out: a load can be carried with every request many times as slow as recorded. The slowest kind of request; undefined where none is much slower. */
function slowestOf(scenario) {
  if (scenario.verdict.load !== 'steady') return undefined;
  return Object.entries(traceOf(scenario).measured_latency_ns).map(([purpose, { mean }]) => ({ name: scenario.name, purpose, times: latency(scenario, purpose, 'mean').us * 1e3 / mean }))
    .filter(({ times }) => Number.isFinite(times) && times > MUCH_SLOWER).sort((a, b) => b.times - a.times)[0];
}
const timesAsLong = ({ purpose, times }) => `${plural(purpose)} take ${significant(times)}${NBSP}× the recorded time`;
const slowestOfAll = () => scenarios().map(slowestOf).filter(known).sort((a, b) => b.times - a.times)[0];
function sentenceOfSlowness() {
  const slow = slowestOfAll();
  return slow ? `Latency is not part of this verdict: on ${slow.name}, ${timesAsLong(slow)}.` : '';
}
const verdictColour = scenario => verdictClass(scenario) + (slowestOf(scenario) && !scenario.in_doubt ? ' in-doubt' : '');
const slowWord = scenario => { const slow = slowestOf(scenario); return slow ? `; ${timesAsLong(slow)}` : ''; };
const fullVerdict = scenario => verdictWord(scenario) + lateWord(scenario) + slowWord(scenario);

/** A figure of each scenario, of many the fastest and the slowest, and the recorded one. */
function sentenceOfLatency([purpose, statistic]) {
  const said = scenarios().map(scenario => ({ name: scenario.name, ...latency(scenario, purpose, statistic) }));
  const numbers = said.filter(one => known(one.us)).sort((a, b) => a.us - b.us);
  const ranges = said.filter(one => one.range);
  if (!numbers.length && !ranges.length) return '';
  const few = numbers.length <= MOST_NAMED ? numbers : [numbers[0], numbers.at(-1)];
  const measured = data.traces.length === 1 ? data.traces[0].measured_latency_ns[purpose]?.[statistic] : null;
  const word = i => (few === numbers ? '' : [' (fastest)', ' (slowest)'][i]);
  const doubt = isMean(statistic) || tailsKnown() ? '' : ', error unknown';
  return `${capital(statistic)} of ${plural(purpose)}${doubt}: ${[
    ...few.map((one, i) => `${duration(one.us)} on ${one.name}${word(i)}`), ...ranges.map(one => `${one.range} on ${one.name}`),
    ...(known(measured) ? [`${duration(measured / 1e3)} on the recorded hardware`] : []),
  ].join(', ')}.`;
}

/** The purpose that people wait for most comes first: a commit waits for a log sync, or for a log write and then for a flush. A read or a sync that takes much longer than recorded comes before it. */
function headlinePurposes() {
  const there = purpose => data.purposes.includes(purpose);
  const first = ['log sync', 'log write', 'log flush', 'flush', 'data write', 'checkpoint write'].find(there);
  const usual = [first, { 'log sync': 'log write', 'log write': 'log flush' }[first], 'data read'];
  const slow = slowestOfAll()?.purpose;
  const chosen = [...new Set(usual.includes(slow) ? [slow, ...usual.reverse()] : usual)].filter(purpose => known(purpose) && there(purpose));
  return chosen.length ? chosen : data.purposes.slice(0, 1);
}

/** What the first screen tells of a scenario: `[purpose, statistic]`, the most telling first. */
function headlines(scenario) {
  if (!ofStatements(scenario)) return headlinePurposes().map(purpose => [purpose, tailKnown(scenario) ? 'p99' : 'mean']);
  const tail = ['transaction', usualTail()];
  const means = [['transaction', 'mean'], ...(scenario.latency_ns.commit ? [['commit', 'mean']] : [])];
  return tailKnown(scenario) ? [tail, ...means] : means;
}

/** Transactions a second beside the recorded ones, where clients go on as fast as they are answered. */
function sentenceOfRates() {
  const asked = scenarios().filter(one => known(transactionsPerS(one)) && !isSaturated(one));
  const [recorded] = data.traces;
  if (data.traces.length > 1 || !recorded.transactions || !asked.length) return '';
  const perS = recorded.transactions / (recorded.span_ns / 1e9);
  const pool = asked[0].engine?.recorded_buffer_pool_bytes;
  const other = POOLS.length && known(pool) && POOLS[state.pool] !== pool ? ` (buffer pool ${bytes(pool)})` : '';
  return `Transactions/s: ${[`${count(perS)} recorded${other}`, ...asked.map(one => `${count(transactionsPerS(one))} on ${one.name}`)].join(', ')}.`;
}

/** What a transaction spends most of its time on within the database, and its share; undefined where that is not known. */
function largestWait({ transaction_us: us }) {
  const sum = us?.reduce((a, b) => a + b, 0);
  if (!sum) return undefined;
  const inside = us.slice(0, -1);  // the last part is outside the queries
  const most = inside.indexOf(Math.max(...inside));
  return `${partWord(data.parts[most])} takes ${percent(inside[most] / sum)} of the time of a transaction`;
}

/** What keeps the CPU busy, where clients are among it. */
const usersOfCores = ({ host, bottleneck }) => (bottleneck.resource === 'cores' && host?.clients_on_cores ? ' with queries, IO, and the clients, which run on the same cores' : '');

/** What would shorten the mean of transactions most, and next. */
function sentenceOfHelp({ helps }) {
  const [first, next] = helps;
  if (!first) return '';
  const saved = ({ change, at_most_share: share, then_full: full }, unit = '') => `${percent(share)}${unit} by ${change}${full ? ' (after that, the CPU is the limit)' : ''}`;
  return `. Each change alone saves at best: ${saved(first, ' of the mean')}${next ? `; ${saved(next)}` : ''}`;
}

/** Whether the CPU limits a scenario that reads pages. */
const isShortOfCpu = ({ bottleneck, hit_ratio: ratio }) => bottleneck?.resource === 'cores' && known(ratio?.pool) && ratio.pool < 1;

/** What the largest buffer pool makes of the mean of transactions: it saves CPU, too, so that it may help where no read is waited for. */
function sentenceOfLargestPool() {
  const short = scenarios().filter(isShortOfCpu).map(({ name }) => name);
  if (POOLS.length < 2) return short.length ? `A larger buffer pool saves CPU of reads, too; how much that would help ${list(short)} is not computed here.` : null;
  if (state.pool === POOLS.length - 1) return null;
  const told = TIERS.map(withPool).map(tier => {
    const [now, then] = [POOLS[state.pool], POOLS.at(-1)].map(size => tier.find(one => poolOf(one) === size)).map(one => (one && !isSaturated(one) ? latency(one, 'transaction', 'mean').us : null));
    return known(now) && known(then) ? `from ${duration(now)} to ${duration(then)} on ${tier[0].name}` : null;
  }).filter(known);
  return told.length ? `A buffer pool of ${bytes(POOLS.at(-1))} changes the mean of transactions ${list(told)}.` : null;
}

/** The part of each scenario that is busiest, and what transactions wait for; those that nearly idle are told in one breath. */
function sentencesOfBlame() {
  const parts = scenarios().map(scenario => {
    const { bottleneck, load } = scenario;
    if (!bottleneck?.station) return { text: `${scenario.name}: no part was recorded` };
    if (isSaturated(scenario) && load.station) return { text: `${scenario.name}: ${load.part} cannot keep up` };
    const row = scenario.stations.rows.find(one => one.name === bottleneck.station && one.resource === bottleneck.resource);
    const peak = row ? Math.max(...row.busy_pct, 0) / 100 : null;
    if ((peak ?? bottleneck.utilisation) < 0.2) return { idle: scenario.name, peak: peak ?? bottleneck.utilisation };
    const worst = !waitsForAnswers(scenario) && known(peak) && peak > PEAK * bottleneck.utilisation ? ` (${percent(peak)} in its busiest ${lengthOfInterval(scenario)})` : '';
    const wait = bottleneck.utilisation < ALWAYS_BUSY ? largestWait(scenario) : undefined;
    const always = bottleneck.utilisation >= ALWAYS_BUSY;
    const busy = `${always ? '' : `${known(wait) ? 'No' : 'no'} part is full: the busiest, `}${bottleneck.part}${always ? '' : ','} is busy ${percent(bottleneck.utilisation)} of the time${usersOfCores(scenario)}${worst}`;
    const waits = wait && (scenario.verdict.load === 'behind' || waitsForAnswers(scenario)) ? '. Clients wait for answers, so latency limits the throughput' : '';
    return { text: `${scenario.name}: ${[wait, busy].filter(known).join('. ')}${waits}${sentenceOfHelp(scenario)}` };
  });
  const idle = parts.filter(part => part.idle);
  const told = parts.map(({ text }, i) => ({ text, isBehind: scenarios()[i].verdict.load !== 'steady' })).filter(part => part.text);
  const first = told.length > MOST_NAMED ? told.sort((a, b) => b.isBehind - a.isBehind).slice(0, MOST_NAMED) : told;
  const most = Math.max(...idle.map(part => part.peak));
  return [
    ...first.map(part => `${part.text}.`),
    first.length < told.length ? `${told.length - first.length} more scenarios: cards below.` : null,
    sentenceOfLargestPool(),
    idle.length ? `${list(idle.map(part => part.idle))}: no part is near its limit; none is busier than ${percent(most)} in any ${lengthOfInterval(scenarios()[0])}.` : null,
  ].filter(known).map(text => element('span', { className: 'doubt' }, text));
}

/** What is assumed of transactions beyond their arrivals, and what the recording leaves open. */
function doubtsOfStatements() {
  const extrapolated = scenarios().filter(one => one.extrapolated).map(one => one.name);
  const locks = scenarios().filter(one => ofStatements(one) && one.verdict.locks === 'not modelled').map(one => meaning(one, 'locks'));
  return [
    extrapolated.length ? `Extrapolated: the buffer pool${POOLS.length ? '' : ` of ${list(extrapolated)}`} is more than four times as large or small as the recorded one.` : null,
    ...new Set(locks),
    ...scenarios().filter(one => one.undetermined).map(one => `${one.name}: ${one.undetermined}.`),
  ].filter(known);
}

/** A figure stays on one line: no break before % or ×, nor inside a range. */
const unbroken = text => text.replace(/ (?=[%×])/g, NBSP).split(/([\d.]+–[\d.]+)/).map((part, i) => (i % 2 ? element('span', { className: 'whole' }, part) : part));

function sentencesOfDoubt([purpose, statistic]) {
  const uncalibrated = [...new Set(scenarios().filter(one => one.verdict.calibration !== 'calibrated').map(one => meaning(one, 'calibration')))];
  const counted = scenarios().filter(one => !isSaturated(one) && !isUnknown(one, statistic) && one.latency_ns[purpose]);
  const resolved = counted.filter(one => known(latency(one, purpose, statistic).us));
  const errors = [...new Set(scenarios().map(one => one.model_error).filter(known))];
  const whose = text => (errors.length > 1 ? text.replace('Expected error', `Expected error of ${list(scenarios().filter(one => one.model_error === text).map(one => one.name))}`) : text);
  const guesses = scenarios().map(one => one.assumed?.length ?? 0);
  const arrivals = [...new Set(scenarios().filter(one => one.verdict.arrivals !== 'recorded').map(one => meaning(one, 'arrivals')))];
  return [
    uncalibrated.length ? uncalibrated.map(text => element('span', { className: 'doubt' }, warning(text))) : [element('span', { className: 'doubt' }, meaning(scenarios()[0], 'calibration'))],
    [...arrivals, ...doubtsOfStatements()].map(text => element('span', { className: 'doubt' }, warning(text))),
    [
      ...errors.map(whose), errors.length ? data.meaning_of_error : null,
      resolved.length < counted.length ? `On ${counted.length - resolved.length} of ${counted.length} scenarios the ${statistic} of ${plural(purpose)} is not one value: the slow ones came in too few bursts.` : null,
      Math.max(...guesses) ? `${Math.min(...guesses) === Math.max(...guesses) ? guesses[0] : `${Math.min(...guesses)} to ${Math.max(...guesses)}`} parameters of each scenario are assumed or fitted (listed at the end).` : null,
    ].filter(known).map(text => element('span', { className: 'doubt' }, unbroken(text))),
  ].flat();
}

/** How many sessions run on how many cores, where one recording has all scenarios the same; what comes by the clock has none of its own. */
function sessionsOnCores() {
  const sessions = ({ keeps, sessions: many }, host) => (keeps === 'rate' ? '' : ` ${whole.format(many)} sessions${host.clients_on_cores ? ' and their clients' : ''}`);
  const found = new Set(scenarios().map(({ replay, host }) => (host && replay?.sessions ? `,${sessions(replay, host)} on ${host.cores} cores` : '')));
  return data.traces.length === 1 && found.size === 1 ? [...found][0] : '';
}

function drawHead() {
  const told = headlines(scenarios().find(ofStatements) ?? scenarios()[0]);
  const main = told[0];
  const shortOnes = sentencesOfShortfall();
  const answer = (question, ...said) => (said.flat().filter(Boolean).length ? element('div', {}, element('dt', {}, question), element('dd', {}, ...said.flat())) : null);
  const rates = sentenceOfRates();
  const answers = [
    answer('Which carries the load?', [POOLS.length ? `With a buffer pool of ${bytes(POOLS[state.pool])}:` : '', sentenceOfVerdicts(), sentenceOfLoads(), sentenceOfLateSessions(), sentenceOfSlowness(), ...(rates ? [rates] : shortOnes)].filter(Boolean).join(' '), verdictsBySize()),
    main ? answer('How slow is it?', [...new Set(scenarios().length < MOST_NAMED ? [main, told.at(-1)] : [main])].map(sentenceOfLatency).join(' ')) : null,
    answer('What limits it?', sentencesOfBlame()),
    answer('How sure is that?', sentencesOfDoubt(main ?? [])),
  ];
  $('lead').replaceChildren(...answers.filter(known));
  const what = trace => (trace.transactions ? `${whole.format(trace.transactions)} transactions (${whole.format(trace.statements)} statements)` : `${whole.format(trace.requests)} requests`);
  const pool = data.traces.length === 1 ? scenarios()[0].engine?.recorded_buffer_pool_bytes : null;
  const warmup_ns = Math.max(...scenarios().map(one => one.replay?.counted_ns?.from ?? 0));
  const warmup = warmup_ns ? ` (after ${span(warmup_ns / 1e9)} of warm-up that are left out)` : '';
  const about = trace => `${trace.name}: ${what(trace)} in ${span(trace.span_ns / 1e9)}${warmup}${known(pool) ? `, buffer pool ${bytes(pool)}` : ''}${sessionsOnCores()}; format: ${trace.source_format}`;
  $('facts').textContent = data.traces.map(about).join(' · ');
}

const isMean = statistic => statistic === 'mean';

/** The error of a kind of figure. That of the mean of transactions holds what the recording leaves open, too, where the result says it. */
const errorOf = ({ expected }, statistic, purpose) => (isMean(statistic) && purpose === 'transaction' && expected.transaction) || expected[isMean(statistic) ? 'mean' : 'tail'];

/** A figure whose ends hold the error of the model, and the scatter of the simulation; it has none where nobody knows that error. */
function expectedFigure(scenario, figure, us, statistic, purpose) {
  if (!scenario.expected || !known(us)) return figure;
  const error = errorOf(scenario, statistic, purpose);
  return { ...figure, low: error ? (figure.low ?? us * 1e3) * error[0] : null, high: error ? (figure.high ?? us * 1e3) * error[1] : null };
}

/** The limits between which a measured latency is expected, or a word where nobody knows the error of the model. */
function expectedLatency(scenario, figure, us, statistic, purpose, before = '') {
  if (!scenario.expected) return spread(figure, us);
  if (!errorOf(scenario, statistic)) return 'error unknown';
  return before + spread(expectedFigure(scenario, figure, us, statistic, purpose), us);
}

/** The same of transactions, or requests, a second. */
function expectedRate({ expected, undetermined, replay }, { value }) {
  if (!expected?.throughput || replay?.keeps === 'rate') return '';
  const [low, high] = expected.throughput;
  return ` expected ${count(value * low)}–${count(value * high)}${undetermined ? ', underdetermined' : ''}`;
}

const beside = text => (text ? element('span', { className: 'interval' }, text) : null);

function headlineFigure(scenario, [purpose, statistic], big) {
  const { us, figure, range, word, why } = latency(scenario, purpose, statistic);
  const value = (text, className) => element('span', { className: `value ${className}`.trim() }, text);
  const shown = known(us) ? [value(duration(us), ''), beside(` ${expectedLatency(scenario, figure, us, statistic, purpose, 'expected ')}`)]
    : range ? [value(range, 'range'), beside(why ?? word)] : [value(word, 'word')];
  return element('div', { className: big ? 'big' : 'row' }, element('dt', {}, `${statistic} of ${plural(purpose)}`), element('dd', {}, shown));
}

/** What is completed, a second: transactions, or requests. */
const rateOf = scenario => scenario.throughput_per_s[countedWhat(scenario)];
const hitRatio = share => (known(share) ? `${(100 * share).toFixed(share >= 0.9 ? 2 : 1)}${NBSP}%` : '–');
const isCached = scenario => known(scenario.hit_ratio?.pool);

/** How many checkpoints ran, and how far throughput fell in them. */
function checkpointsOf({ checkpoints }) {
  if (!checkpoints?.rows) return ['none'];
  const dip = Math.max(...checkpoints.rows.map(one => one.dip_pct ?? 0), 0);
  return [whole.format(checkpoints.rows.length + checkpoints.left_out), dip >= LEAST_DIP ? '; ' : '', dip >= LEAST_DIP ? element('span', { className: 'interval wraps' }, `transactions/s fall by ${percent(dip / 100)} at most`) : null];
}

function card(scenario, index) {
  const { bottleneck, load } = scenario;
  const rate = rateOf(scenario);
  const [first, ...others] = headlines(scenario);
  const row = (label, ...value) => element('div', { className: 'row' }, element('dt', {}, label), element('dd', {}, value.flat().filter(known)));
  const busiest = bottleneck?.station ? `${bottleneck.part}: ${percent(bottleneck.utilisation)} busy` : null;
  const choose = element('button', { type: 'button', className: 'choose', onclick: () => select({ scenario: index }) },
    element('span', { className: 'name' }, scenario.name), swatch(style(index)));
  return element('article', { className: `card ${verdictColour(scenario)}`, 'aria-label': scenario.name },
    element('div', { className: 'card-head' },
      element('h2', {}, choose),
      element('p', { className: 'description' }, scenario.description ?? '')),
    element('p', { className: 'verdict' }, verdictIcon(scenario.verdict.load), element('strong', {}, fullVerdict(scenario))),
    element('dl', { className: 'headline' }, first ? headlineFigure(scenario, first, true) : null),
    element('dl', {},
      others.map(one => headlineFigure(scenario, one, false)),
      row(countedWhat(scenario) === 'transactions' ? 'Transactions' : 'Requests', [rate && known(rate.value) && rate.resolved ? `${count(rate.value)}/s` : 'not resolved',
        isShort(scenario) ? beside(shortfall(scenario)) : null,
        countedWhat(scenario) === 'transactions' && rate && known(rate.value) && rate.resolved ? beside(expectedRate(scenario, rate)) : null]),
      scenarios().some(hasLag) ? row('Late start', hasLag(scenario) ? lag(scenario)[0] : noLag(scenario)) : null,
      isCached(scenario) ? row('Pool hit ratio', hitRatio(scenario.hit_ratio.pool)) : null,
      poolOf(scenario) ? row('Buffer pool', bytes(poolOf(scenario)), ' ', scenario.extrapolated ? element('span', { className: 'interval' }, 'extrapolated') : null) : null,
      isChanged(scenario) && !isSaturated(scenario) ? row('Checkpoints', checkpointsOf(scenario)) : null,
      busiest ? row('Busiest part', busiest) : null),
    element('p', { className: 'explanation' }, load.explanation));
}

function drawCards() {
  $('cards').replaceChildren(...scenarios().map(card));
}

function markSelection() {
  root.style.setProperty('--accent', `var(--series-${state.scenario % COLOURS})`);
  [...$('cards').children].forEach((node, i) => {
    node.classList.toggle('selected', i === state.scenario);
    node.querySelector('.choose').setAttribute('aria-pressed', i === state.scenario);
  });
}

// -------------------------------------------------------------------------------------------------- comparison
const anyCached = () => data.scenarios.some(isCached);
const rateHead = () => (ALL_STATEMENTS ? 'Transactions/s' : data.scenarios.some(one => countedWhat(one) === 'transactions') ? 'Completed/s' : 'Requests/s');

function comparisonCell(scenario, purpose) {
  const { us, figure, range, word, why } = latency(scenario, purpose, state.statistic);
  if (known(us)) return element('td', {}, duration(us), element('small', {}, expectedLatency(scenario, figure, us, state.statistic, purpose)));
  if (range) return element('td', { className: 'range' }, range, element('small', {}, why ?? word));
  return element('td', { className: 'word' }, word);
}

/** Requests as the device saw them, some of them joined: what the scenarios count. */
const commandsOf = trace => trace.transactions ?? trace.commands ?? trace.requests;

function recordedRow(trace) {
  const cells = data.purposes.map(purpose => {
    const value = trace.measured_latency_ns[purpose]?.[state.statistic];
    return known(value) ? element('td', {}, duration(value / 1e3), element('small', {}, 'measured')) : element('td', { className: 'word' }, value === null ? 'too few' : 'not measured', known(trace.measured_latency_ns[purpose]?.mean) ? element('small', {}, `mean ${duration(trace.measured_latency_ns[purpose].mean / 1e3)}`) : null);
  });
  const rate = trace.span_ns ? commandsOf(trace) / (trace.span_ns / 1e9) : null;
  return element('tr', { className: 'recorded' },
    element('th', { scope: 'row' }, element('span', { className: 'who' }, swatch(measuredStyle()), 'Recorded hardware'), element('small', {}, trace.name)),
    element('td', {}, known(rate) ? count(rate) : '–', element('small', {}, trace.transactions ? 'recorded' : 'arrivals')), anyCached() ? element('td', {}, '–') : null, cells, element('td', { className: 'text' }, '–'));
}

function scenarioRow(scenario) {
  const index = scenarios().indexOf(scenario);
  const rate = rateOf(scenario);
  const { bottleneck } = scenario;
  return element('tr', { className: index === state.scenario ? 'selected' : '' },
    element('th', { scope: 'row' }, element('span', { className: 'who' }, swatch(style(index)), scenario.name),
      element('small', { className: `state ${verdictColour(scenario)}` }, verdictIcon(scenario.verdict.load), fullVerdict(scenario))),
    element('td', {}, rate && known(rate.value) ? count(rate.value) : '–',
      isShort(scenario) ? element('small', {}, shortfall(scenario)) : null,
      hasLag(scenario) ? element('small', {}, `late start ${lag(scenario)[0]}`) : null),
    anyCached() ? element('td', {}, isCached(scenario) ? hitRatio(scenario.hit_ratio.pool) : '–') : null,
    data.purposes.map(purpose => comparisonCell(scenario, purpose)),
    element('td', { className: 'text' }, bottleneck?.part ?? '–', bottleneck?.part
      ? element('small', {}, `${percent(bottleneck.utilisation)} busy`) : null));
}

/** What a log sync is, where block requests were replayed: both kinds are made of requests that have columns of their own. */
const HOST_OF_SYNCS = 'It includes the server’s own time between write and flush, as recorded.';
function logSyncs() {
  const there = data.derived.filter(purpose => purpose.startsWith('log sync'));
  if (ALL_STATEMENTS || !there.length) return [];
  return [
    `Log sync: the server’s wait until its log is durable. ${HOST_OF_SYNCS}`,
    there.includes('log sync on device') ? 'Log sync on the device: only its log writes and its log flush.' : null,
  ].filter(known);
}

/** What the ranges that a table shows in place of one value mean. */
function wordsOfRanges(node) {
  const shown = new Set([...node.querySelectorAll('.word, small')].map(one => one.textContent));
  const meansKnown = scenarios().every(one => !one.expected || errorOf(one, 'mean'));
  return [
    shown.has(ONLY_A_RANGE) ? 'Only a range: latencies near this percentile scatter too much to give one value. The error of the model is not in it.' : '',
    shown.has('not resolved') ? 'Not resolved: the run has too few slow requests for a value or a range.' : '',
    shown.has('error of the model') ? 'Error of the model: one value may be wrong by more than a factor of 2; 80 % of measured p99s lay within such ranges.' : '',
    shown.has('unknown') ? `Unknown: ${WHY_UNKNOWN}` : '',
    shown.has('error unknown') ? `Error unknown: ${meansKnown ? `a guide only; ${WHY_UNKNOWN}` : '“How sure is that?” above says why.'}` : '',
  ];
}
const SMALL_FIGURES = 'Small figures: the expected range, from the error of the model and the scatter of the run. “How sure is that?” above says where it comes from.';

function drawComparison() {
  const head = (text, className) => element('th', { scope: 'col', className }, text);
  const purposes = data.purposes.map(purpose => head(capital(plural(purpose)), purpose === state.purpose ? 'chosen' : ''));
  const rows = data.traces.flatMap(trace => [
    ...(Object.keys(trace.measured_latency_ns).length ? [recordedRow(trace)] : []),
    ...scenarios().filter(scenario => scenario.trace === trace.hash).map(scenarioRow),
  ]);
  $('comparison').replaceChildren(
    element('caption', { className: 'unseen' }, `${STATISTICS[state.statistic]} latency by purpose for each scenario`),
    element('thead', {}, element('tr', {}, head('Scenario', 'text'), head(rateHead(), ''), anyCached() ? head('Pool hit ratio', '') : null, purposes, head('Busiest part', 'text'))), element('tbody', {}, rows));
  $('comparison').classList.toggle('many', data.purposes.length > 6);
  labelCells($('comparison'));
  $('comparison-note').textContent = [
    SMALL_FIGURES,
    ...wordsOfRanges($('comparison')),
    scenarios().some(isSaturated) ? 'Saturated: the backlog grows, so no steady latency exists.' : '',
    ...logSyncs(),
    scenarios().some(hasLag) ? 'Late start: how much later than recorded a request starts.' : '',
    POOLS.length ? `Buffer pool: ${bytes(POOLS[state.pool])}${scenarios().some(scenario => poolOf(scenario) !== POOLS[state.pool]) ? ', or the nearest size that has a result' : ''}.` : '',
    rateHead() === 'Completed/s' ? 'Completed: transactions where statements were simulated, else requests.' : '',
    data.traces.length > 1 ? 'These scenarios replayed different traces; compare within one trace only.' : '',
  ].filter(Boolean).join('\n');
}
