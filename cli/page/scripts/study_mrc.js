// Miss-ratio curves: their error, their knees, the recorded size, and what lies beyond what was recorded.
const KINDS = { all: '', relation: 'relation ', query: 'query ', operation: '' };
const nameOfCurve = ({ kind, name }) => (kind === 'all' ? name : `${KINDS[kind] ?? `${kind} `}${name}`);
const NAMES = [...new Set(mrcs.flatMap(mrc => mrc.curves.map(nameOfCurve)))];
const curveNames = () => NAMES;
const curveOf = mrc => mrc.curves.find(curve => nameOfCurve(curve) === NAMES[chosen.curve]);
const nameOfMrc = mrc => (mrcs.length > 1 || !mrc.policy ? mrc.name : mrc.policy);

/** The miss ratio at a size: that of the largest size of the curve that is not larger. */
function missAt(curve, size) {
  const last = curve.bytes.findLastIndex(one => one <= size * 1.000001);
  return last < 0 ? null : { bytes: curve.bytes[last], miss: curve.miss[last], error: curve.error[last] };
}

function mrcTraces(mrc, i) {
  const curve = curveOf(mrc);
  if (!curve) return [];
  const { colour, dash, symbol } = style(i);
  const name = nameOfMrc(mrc);
  const share = value => value * 100;
  const places = curve.bytes;
  const there = curve.error.some(error => error > 0);
  const text = curve.miss.map((miss, at) => `${bytes(curve.bytes[at])}: ${percent(miss)}${curve.error[at] ? ` ± ${(100 * curve.error[at]).toPrecision(2)}` : ''}`);
  const few = curve.bytes.length <= 40;
  const knees = curve.kind === 'all' ? mrc.knees : [];
  return [
    there ? band(curve.bytes, curve.miss.map((miss, at) => share(Math.max(miss - (curve.error[at] ?? 0), 0))), curve.miss.map((miss, at) => share(Math.min(miss + (curve.error[at] ?? 0), 1))), alpha(colour, 0.2)) : null,
    { x: curve.bytes, y: curve.miss.map(share), name: plain(name), mode: few ? 'lines+markers' : 'lines', line: { color: colour, dash, width: 2.5, shape: few ? 'linear' : 'hv' }, marker: { color: colour, symbol, size: 6 }, text, customdata: places, ...hoverLatency(name) },
    knees.length ? { x: knees.map(knee => knee.cache_bytes), y: knees.map(knee => share(knee.miss_ratio)), name: 'knees', mode: 'markers', marker: { symbol: 'star', size: 14, color: colour, line: { color: css('--page'), width: 1 } }, text: knees.map(knee => `knee at ${bytes(knee.cache_bytes)}: ${percent(knee.miss_ratio)}`), ...hoverLatency(name) } : null,
  ].filter(known);
}

/** What the points of the sweep missed, beside the curve. */
function sweptMisses() {
  const pool = ownAxes().find(axis => axis.key === POOL && axis.numbers);
  if (!pool || chosen.curve || mrcs.some(mrc => mrc.behind)) return null;
  const points = pool.order.map(i => ({ x: pool.numbers[i], miss: hitAt(sweepPoint({ [POOL]: i })) })).filter(({ miss }) => known(miss)).map(one => ({ ...one, miss: 100 * (1 - one.miss) }));
  if (!points.length) return null;
  return { x: points.map(({ x }) => x), y: points.map(({ miss }) => miss), name: 'points of the sweep', mode: 'markers', marker: { symbol: 'diamond-open', size: 10, color: css('--ink'), line: { width: 1.75 } }, text: points.map(({ x, miss }) => `${bytes(x)}: ${miss.toPrecision(3)} % missed in the sweep`), ...hoverLatency('the sweep') };
}

function mrcReading() {
  const said = mrcs.map(mrc => {
    const now = numberAt(sizeKey(mrc));
    const at = curveOf(mrc) && known(now) ? missAt(curveOf(mrc), now) : null;
    if (!at) return null;
    const near = Math.abs(at.bytes - now) / now > 0.01 ? ` (the curve’s size below is ${bytes(at.bytes)})` : '';
    return `${nameOfMrc(mrc)} misses ${percent(at.miss)}${at.error ? ` ± ${(100 * at.error).toPrecision(2)} points` : ''} of ${NAMES[chosen.curve]} at ${bytes(now)}${near}`;
  }).filter(known);
  const cold = mrcs.map(mrc => mrc.compulsory).filter(known);
  const beyond = [...new Set(mrcs.map(mrc => mrc.recorded.beyond).filter(Boolean))].map(text => ` ${capital(text)}.`).join('');
  return [said.length ? `${said.join('; ')}.` : '', cold.length && !chosen.curve ? ` ${percent(Math.max(...cold))} are compulsory: the first use of a page misses at every size.` : '', beyond].join('').trim();
}

function drawMrc() {
  if (!mrcs.length) return;
  const drawnSizes = union(mrcs.map(mrc => curveOf(mrc)?.bytes ?? []));
  const below = mrcs.some(mrc => mrc.behind);
  const recorded = Math.min(...mrcs.filter(mrc => !mrc.behind).map(mrc => mrc.recorded.cache_bytes).filter(known), Infinity);
  const swept = sweptMisses();
  const traces = [...mrcs.flatMap(mrcTraces), swept].filter(known);
  const all = [...drawnSizes, ...(Number.isFinite(recorded) ? [recorded] : []), ...(swept?.x ?? [])];
  const [low, high] = extent(all, 1, 10).map(Math.log10);
  const range = [low - 0.06, high + 0.06];
  const powers = Array.from({ length: 60 }, (_, i) => 2 ** i).filter(size => Math.log10(size) >= range[0] && Math.log10(size) <= range[1]);
  const every = Math.ceil(powers.length / (narrow() ? 5 : 11));
  const tickvals = powers.filter((_, i) => i % every === 0);
  const most = Math.max(...traces.flatMap(trace => trace.y).filter(known), 1);
  const shade = x0 => ({ type: 'rect', x0, x1: 10 ** range[1], yref: 'paper', y0: 0, y1: 1, layer: 'below', line: { width: 0 }, fillcolor: css('--shade') });
  const marks = below ? [shade(10 ** range[0])] : Number.isFinite(recorded) ? [
    shade(recorded),
    { type: 'line', x0: recorded, x1: recorded, yref: 'paper', y0: 0, y1: 1, layer: 'below', line: { width: 1.5, color: css('--warn') } },
  ] : [];
  showClickable('mrc', ([at]) => choose({ at: { [sizeKey(mrcs[0])]: nearest(axisOf(sizeKey(mrcs[0])).numbers, at) } }), {
    title: `Misses of ${NAMES[chosen.curve]}`, traces, reading: mrcReading(), height: narrow() ? 360 : 420,
    legend: [
      ...mrcs.map((mrc, i) => (curveOf(mrc) ? legendItem(swatch(style(i)), `${nameOfMrc(mrc)}${mrc.method ? `, ${mrc.method}` : ''}`) : null)).filter(known),
      mrcs.some(mrc => curveOf(mrc)?.error.some(error => error > 0)) ? legendItem(area(alpha(css('--series-0'), 0.25)), '80 % of estimates') : null,
      traces.some(trace => trace.name === 'knees') ? legendItem(sign('★'), 'knee') : null,
      swept ? legendItem(swatch({ colour: css('--ink'), dash: 'solid', symbol: 'diamond-open' }, 14), 'points of the sweep') : null,
      marks.length ? legendItem(area(css('--shade')), below ? 'beyond what was recorded: a cache added behind it' : 'larger than recorded') : null,
    ].filter(known),
    layout: layout({
      hovermode: 'closest', dragmode: false, margin: { l: 58, r: 20, t: 22, b: 40 }, xaxis: axis({ type: 'log', range, tickvals, ticktext: tickvals.map(bytes), tickangle: 0, fixedrange: true }),
      yaxis: axis({ range: [0, Math.min(most * 1.06, 104)], ticksuffix: ' %', fixedrange: true }), shapes: [...marks, ...chosenLine(numberAt(sizeKey(mrcs[0])), ['y'])],
      annotations: Number.isFinite(recorded) && !below ? [{ x: Math.log10(recorded), xanchor: Math.log10(recorded) > (range[0] + range[1]) / 2 ? 'right' : 'left', yref: 'paper', y: 1, yanchor: 'bottom', showarrow: false, text: `recorded, ${bytes(recorded)}`, font: { size: 12, color: css('--warn') } }] : [],
    }),
    numbers: () => mrcs.filter(curveOf).map(mrc => ({
      caption: `Misses of ${NAMES[chosen.curve]}, ${nameOfMrc(mrc)}`, head: ['Cache (bytes)', 'Miss ratio', 'Error (80 %, ±)'],
      rows: curveOf(mrc).bytes.map((size, at) => [size, curveOf(mrc).miss[at], curveOf(mrc).error[at]]),
    })),
  });
}

/** Each part of the references at the chosen size. */
const partsAtSize = () => mrcs.flatMap(mrc => mrc.curves.map(curve => ({ mrc, curve, at: missAt(curve, numberAt(sizeKey(mrc)) ?? Infinity) })));

function addMrc() {
  if (!mrcs.length) return;
  $('mrc-section').hidden = false;
  addFigure('mrc', { into: 'mrc-figures', className: 'wide' });
  if (NAMES.length < 2) return;
  addSortable('curves', 'mrc-table', {
    label: 'Misses of each part of the references at the chosen size',
    columns: [
      { head: 'References to', text: ({ curve }) => element('bdi', {}, nameOfCurve(curve)), value: ({ curve }) => nameOfCurve(curve), word: true },
      { head: 'Policy', text: ({ mrc }) => nameOfMrc(mrc), value: ({ mrc }) => nameOfMrc(mrc), word: true },
      { head: 'References', text: ({ curve }) => (known(curve.references) ? whole.format(curve.references) : '–'), value: ({ curve }) => curve.references },
      { head: 'Missed', text: ({ at }) => (at ? percent(at.miss) : '–'), value: ({ at }) => at?.miss },
      { head: '±', text: ({ at }) => (at?.error ? `${(100 * at.error).toPrecision(2)} points` : at?.error === 0 ? 'exact' : '–'), value: ({ at }) => at?.error },
    ],
    choose: ({ curve }) => choose({ curve: NAMES.indexOf(nameOfCurve(curve)) }), isChosen: ({ curve }) => nameOfCurve(curve) === NAMES[chosen.curve], searched: ({ curve }) => nameOfCurve(curve),
  });
}

function drawMrcs() {
  if (tables.curves) fillSortable('curves', partsAtSize());
  drawMrc();
}
