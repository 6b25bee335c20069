// Latencies, verdicts and parts of time, as all reports word and colour them.
const STATISTIC_SYMBOLS = Object.fromEntries(Object.keys(STATISTICS).map((key, i) => [key, ['cross', 'circle', 'square', 'diamond', 'triangle-up', 'star'][i]]));
const isSaturated = scenario => scenario.verdict.load === 'saturated';

const PLURAL = {
  'log write': 'log writes', 'log sync': 'log syncs', 'log sync on device': 'log syncs on the device', 'log flush': 'log flushes', 'data read': 'data reads', 'data write': 'data writes', flush: 'flushes',
  'checkpoint write': 'checkpoint writes', temp: 'temp requests', backup: 'backup requests', discard: 'discards',
  unknown: 'requests of unknown purpose', transaction: 'transactions', commit: 'commits', statement: 'statements',
};
/** Kinds of requests in words; a flush that is none of the log is another one beside those. */
const plural = purpose => (purpose === 'flush' && data.purposes?.includes('log flush') ? 'other flushes' : PLURAL[purpose] ?? purpose);

const VERDICTS = {
  steady: { word: 'Carries the load', one: 'carries the recorded load', many: 'carry the recorded load' },
  behind: { word: 'Behind', one: 'falls behind the recorded load', many: 'fall behind the recorded load' },
  saturated: { word: 'Saturated', one: 'cannot carry the recorded load', many: 'cannot carry the recorded load' },
  undecided: { word: 'Not decided yet', one: 'is not decided by a sample', many: 'are not decided by a sample' },
};
const verdictWord = scenario => (VERDICTS[scenario.verdict.load]?.word ?? capital(scenario.verdict.load)) + (scenario.in_doubt ? ', in doubt' : '');
/** By what a verdict has its colour: one in doubt is not green. */
const verdictClass = scenario => scenario.verdict.load + (scenario.in_doubt ? ' in-doubt' : '');

/** Where an unresolved figure lies; one number where both ends show the same digits. */
function bounds(figure) {
  const [low, high] = [figure?.low, figure?.high].map(ns => (known(ns) ? ns / 1e3 : null));
  if (known(low) && known(high)) {
    const [from, to] = ends(low, high);
    return { range: to.startsWith(`${from}${NBSP}`) ? `about ${to}` : `${from}–${to}`, why: figure.why };
  }
  if (known(low)) return { range: `>${NBSP}${duration(low)}` };
  if (known(high)) return { range: `<${NBSP}${duration(high)}` };
  return {};
}

const ONLY_A_RANGE = 'only a range';
function figureAt(scenario, figures, statistic) {
  if (!figures) return { word: 'none' };
  if (isSaturated(scenario)) return { word: 'saturated' };
  const figure = figures[statistic];
  if (!figure || !figure.resolved || !known(figure.value)) {
    const found = bounds(figure);
    return { word: found.range ? ONLY_A_RANGE : 'not resolved', figure, ...found };
  }
  return { us: figure.value / 1e3, figure };
}

const PART_COLOURS = ['--series-0', '--series-5', '--series-1', '--series-3', '--series-2', '--series-4', '--soft', '--rule', '--faint'];
const partWord = part => data.wait_names[part];
