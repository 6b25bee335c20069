// What is chosen of the studies: a value on every axis, whose latency, which statistic; and the points that this means.
const { sweeps, mrcs, loads, sizes, packs, queries: QUERIES, classes: CLASSES, parts: PARTS } = data.studies;
const [POOL, ADDED, LOAD] = ['engine.buffer_pool', 'added cache', 'replay.load'];
/** Which size a miss-ratio curve is of: the buffer pool's, or that of a cache added behind the one that requests were recorded below. */
const sizeKey = mrc => (mrc.behind ? ADDED : POOL);
const QUERY = 'query:';
const SOURCES = { sweep: 'the point of the sweep', load: 'the point of the load curve', size: 'the candidate' };

/** The class that people wait for, and the latency of it that is looked at first. */
const [, ...asked] = /^(\w+)\((.*)\)$/.exec(sizes[0]?.pareto_of ?? '') ?? [];
const USUAL = { of: CLASSES.includes(asked[1]) ? asked[1] : CLASSES[0] ?? '', statistic: asked[0] in STATISTICS ? asked[0] : 'p99' };
const firstOf = size => Math.max(size.candidates.findIndex(one => one.name === size.chosen), 0);
const chosen = { ...USUAL, sweep: 0, at: {}, size: 0, candidate: 0, curve: 0, source: '' };

const sweep = () => sweeps[chosen.sweep];
const size = () => sizes[chosen.size];

/** Positions of an axis's values in the order of a slider. */
const ordered = axis => axis.values.map((_, i) => i).sort((a, b) => (axis.numbers ? axis.numbers[a] - axis.numbers[b] : a - b));
const union = lists => [...new Set(lists.flat())].sort((a, b) => a - b);
/** Sizes on the slider of miss-ratio curves alone. */
const MOST_SIZES = 200;

function thinnedSizes(all) {
  const every = Math.ceil(all.length / MOST_SIZES);
  return all.filter((_, i) => i % every === 0 || i === all.length - 1);
}

function axesNow() {
  const own = sweep()?.axes ?? [];
  const lacks = key => !own.some(axis => axis.key === key);
  const curveSizes = key => {
    const numbers = thinnedSizes(union(mrcs.filter(mrc => sizeKey(mrc) === key).flatMap(mrc => mrc.curves.map(curve => curve.bytes))));
    return numbers.length && lacks(key) ? { key, values: numbers.map(String), numbers, unit: 'bytes' } : null;
  };
  const multiples = union(loads.map(load => load.loads));
  return [
    ...own,
    curveSizes(POOL), curveSizes(ADDED),
    loads.length && lacks(LOAD) ? { key: LOAD, values: multiples.map(String), numbers: multiples, unit: 'count' } : null,
  ].filter(known).map(axis => ({ ...axis, order: ordered(axis) }));
}
let AXES = axesNow();
const axisOf = key => AXES.find(axis => axis.key === key);
const ownAxes = () => AXES.slice(0, sweep()?.axes.length ?? 0);

/** Where a slider stands unless somebody moved it: in the middle, at the recorded load, at the first of a list. */
function usualPlace(axis) {
  if (!axis.numbers) return 0;
  const recorded = axis.key === LOAD ? axis.numbers.indexOf(1) : axis.key === POOL ? axis.numbers.indexOf(mrcs.find(mrc => !mrc.behind)?.recorded.cache_bytes) : -1;
  return recorded >= 0 ? recorded : axis.order[Math.floor((axis.order.length - 1) / 2)];
}
const place = axis => chosen.at[axis.key] ?? usualPlace(axis);
const numberAt = key => { const axis = axisOf(key); return axis?.numbers ? axis.numbers[place(axis)] : null; };

const times = load => `${typeof load === 'number' ? Number(load.toPrecision(4)) : load}${NBSP}×`;
const axisName = axis => ({ [POOL]: 'Buffer pool', [ADDED]: 'Cache behind the recorded one', [LOAD]: 'Load' }[axis.key] ?? capital(axis.key.split('.').slice(-2).map(word => word.replaceAll('_', ' ')).join(': ').replace(/^(engine|host|replay|scenario): /, '')));
function valueText(axis, i) {
  if (axis.unit === 'bytes' && axis.numbers) return bytes(axis.numbers[i]);
  if (axis.unit === 'ns' && axis.numbers) return duration(axis.numbers[i] / 1e3);
  return axis.key === LOAD ? times(axis.numbers?.[i] ?? axis.values[i]) : axis.values[i];
}

// ---------------------------------------------------------------------------------------------------------- points
const INDEX = new Map(sweeps.map(one => [one, new Map(one.points.map(point => [point.at.join(), point]))]));
const pointAt = at => INDEX.get(sweep())?.get(at.join());
const atNow = () => ownAxes().map(place);
/** The point whose figures are shown: of one that was screened, the one that gives the same. */
const standsFor = point => (point?.status === 'screened' && point.stands_for_it ? pointAt(point.stands_for_it) ?? point : point);
const sweepPoint = (changes = {}) => pointAt(ownAxes().map(axis => changes[axis.key] ?? place(axis)));

const nearest = (values, wanted) => values.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);
const loadPlace = load => nearest(load.loads, numberAt(LOAD) ?? 1);
const candidate = () => size()?.candidates[chosen.candidate];

const sources = () => [sweeps.length ? 'sweep' : null, loads.length ? 'load' : null, sizes.length ? 'size' : null].filter(known);
const source = () => (sources().includes(chosen.source) ? chosen.source : sources()[0]);
/** The point that is shown in detail. */
const shownPoint = () => ({ sweep: () => sweepPoint(), load: () => loads[0].points[loadPlace(loads[0])], size: () => candidate().point }[source()]?.());

function titleOfPoint() {
  if (source() === 'size') return candidate().name;
  if (source() === 'load') return `${loads[0].scenario || loads[0].name} at ${times(loads[0].loads[loadPlace(loads[0])])} the recorded load`;
  return ownAxes().map(axis => `${axisName(axis)} ${valueText(axis, place(axis))}`).join(', ') || sweep().name;
}

// --------------------------------------------------------------------------------------------------------- figures
const queryPlace = of => (of.startsWith(QUERY) ? QUERIES.findIndex(query => query.id === of.slice(QUERY.length)) : -1);
const ofWord = of => { const at = queryPlace(of); return at < 0 ? plural(of) : `“${cut(QUERIES[at].label, 60)}”`; };
const asFigures = ns => Object.fromEntries(Object.entries(ns).map(([key, [value, low, high]]) => [key, { value, low, high, resolved: known(value) }]));

/** A latency of a point: `{us, figure}`, or `{word}` and perhaps a range. */
function latencyAt(point, of = chosen.of, statistic = chosen.statistic) {
  const shown = standsFor(point);
  if (!shown) return { word: 'not simulated' };
  if (shown.status !== 'done') return { word: shown.status === 'failed' ? 'failed' : 'not simulated' };
  const at = queryPlace(of);
  const found = at < 0 ? shown.latency[of] : shown.queries[at];
  return figureAt(shown, found && asFigures(found.ns), statistic);
}

/** What is completed a second: transactions where there are any. */
const RATE_KINDS = ['transactions', 'statements', 'requests'];
function rateAt(point) {
  const shown = standsFor(point);
  const kind = RATE_KINDS.find(one => known(shown?.throughput?.[one]?.[0]));
  return kind ? { kind, value: shown.throughput[kind][0] } : {};
}
const hitAt = point => standsFor(point)?.hit ?? null;

const textOf = ({ us, figure, range, word }) => (known(us) ? [duration(us), spread(figure, us)].filter(Boolean).join(', ') : range ? `${range}, ${word}` : word);
/** The first characters of a text, none of them torn apart. */
const cut = (text, most) => { const letters = [...text]; return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : text; };
/** Text that may run from right to left, in a line that does not. */
const isolated = text => `\u2068${text}\u2069`;
const nsOrNull = us => (known(us) ? Number((us * 1e3).toPrecision(6)) : null);

// --------------------------------------------------------------------------------------------------------- address
function readChoice() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const named = (list, key) => Math.max(list.findIndex(one => one.name === wanted.get(key)), 0);
  chosen.sweep = named(sweeps, 'sweep');
  chosen.size = named(sizes, 'search');
  AXES = axesNow();
  chosen.at = {};
  AXES.forEach(axis => { const at = axis.values.indexOf(wanted.get(axis.key)); if (at >= 0) chosen.at[axis.key] = at; });
  const of = wanted.get('of') ?? '';
  chosen.of = CLASSES.includes(of) || queryPlace(of) >= 0 ? of : USUAL.of;
  chosen.statistic = wanted.get('figure') in STATISTICS ? wanted.get('figure') : USUAL.statistic;
  chosen.candidate = sizes.length ? size().candidates.findIndex(one => one.name === wanted.get('candidate')) : 0;
  if (chosen.candidate < 0) chosen.candidate = firstOf(size());
  chosen.curve = Math.max(curveNames().indexOf(wanted.get('curve')), 0);
  chosen.source = wanted.get('details') ?? '';
}

function choiceInAddress() {
  const shown = Object.fromEntries(AXES.filter(axis => known(chosen.at[axis.key])).map(axis => [axis.key, axis.values[place(axis)]]));
  if (sweeps.length > 1) shown.sweep = sweep().name;
  if (sizes.length > 1) shown.search = size().name;
  if (chosen.of !== USUAL.of) shown.of = chosen.of;
  if (chosen.statistic !== USUAL.statistic) shown.figure = chosen.statistic;
  if (sizes.length && chosen.candidate !== firstOf(size())) shown.candidate = candidate().name;
  if (chosen.curve) shown.curve = curveNames()[chosen.curve];
  if (chosen.source) shown.details = chosen.source;
  return shown;
}

function choose(change) {
  Object.assign(chosen, change, change.at ? { at: { ...chosen.at, ...change.at } } : {});
  writeAddress();
  drawStudies();
}
