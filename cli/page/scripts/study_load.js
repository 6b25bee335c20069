// Load curves: latency and throughput by load, the knee, the largest load that is sustained.
const loadPoints = load => load.loads.map((x, i) => ({ x, i, point: load.points[i], ...latencyAt(load.points[i]) }));

/** That a load is sustained only as long as burst credits last, if it is. */
const onCredits = ({ spent }) => (spent ? ` (${spent})` : '');

function loadReading() {
  return loads.map(load => {
    const [value, low, high] = load.largest ?? [];
    const now = loadPoints(load)[loadPlace(load)];
    return [
      `${loads.length > 1 ? `${load.name}: ` : ''}${loads.length > 1 ? 'at' : 'At'} ${times(now.x)} the recorded load the ${STATISTICS[chosen.statistic]} of ${ofWord(chosen.of)} is ${textOf(now)}.`,
      load.knee ? ` Latency begins to climb at ${times(load.knee.load)}${load.knee.basis ? ` (${load.knee.basis})` : ''}.` : ' No knee was found.',
      known(value) ? ` The largest load that is sustained is ${significant(value)}${NBSP}×${known(low) && known(high) && low !== high ? ` (${significant(low)} to ${significant(high)})` : ''}${onCredits(load)}${load.limited_by ? `, limited by ${load.limited_by}` : ''}.` : known(low) ? ` More than ${significant(low)}${NBSP}× is sustained${onCredits(load)}.` : known(high) ? ` Already ${significant(high)}${NBSP}× is too much.` : '',
    ].join('');
  }).join(' ');
}

function drawLoad() {
  if (!loads.length) return;
  const drawn = loads.map((load, i) => ({ load, i, points: loadPoints(load) }));
  const all = drawn.flatMap(({ points }) => points);
  const yaxis = latencyAxis(valuesOf(all));
  const top = 10 ** (yaxis.range[1] - 0.02);
  const most = niceAbove(Math.max(...all.map(({ point }) => rateAt(point).value ?? 0), 1e-9));
  const { kind } = all.map(({ point }) => rateAt(point)).find(one => one.kind) ?? {};
  const traces = drawn.flatMap(({ load, i, points }) => {
    const { colour, dash, symbol } = style(i);
    const common = { x: points.map(({ x }) => x), name: plain(load.name), mode: 'lines+markers', line: { color: colour, dash, width: 2.5 }, marker: { color: colour, symbol, size: 9 }, customdata: points.map(({ x }) => x) };
    const at = load.knee && points.reduce((a, b) => (Math.abs(b.x - load.knee.load) < Math.abs(a.x - load.knee.load) ? b : a));
    return [
      { ...common, y: points.map(({ us }) => us ?? null), error_y: whiskers(points, colour), text: points.map(one => plain(`${times(one.x)}: ${textOf(one)}`)), ...hoverLatency(load.name) },
      ...openTraces(points, colour, load.name, top),
      at && known(at.us) ? { x: [load.knee.load], y: [at.us], name: 'knee', mode: 'markers', marker: { symbol: 'star', size: 17, color: colour, line: { color: css('--page'), width: 1.5 } }, text: [`knee at ${times(load.knee.load)}`], ...hoverLatency(load.name) } : null,
      { ...common, y: points.map(({ point }) => rateAt(point).value ?? null), yaxis: 'y2', marker: { color: colour, symbol, size: 6 }, text: points.map(({ point }) => (known(rateAt(point).value) ? `${count(rateAt(point).value)}/s` : '')), ...hoverLatency(load.name) },
    ].filter(known);
  });
  const limits = loads.flatMap((load, i) => {
    const [value, low, high] = load.largest ?? [];
    const { colour } = style(i);
    return [
      known(low) && known(high) ? { type: 'rect', x0: low, x1: high, yref: 'paper', y0: 0, y1: 1, layer: 'below', line: { width: 0 }, fillcolor: alpha(colour, 0.14) } : null,
      known(value) ? { type: 'line', x0: value, x1: value, yref: 'paper', y0: 0, y1: 1, layer: 'below', line: { color: colour, width: 1.5 } } : null,
    ].filter(known);
  });
  const multiples = union(loads.map(load => load.loads));
  const [low, high] = [multiples[0], multiples.at(-1)];
  const logged = low > 0 && high / low > 4;
  const range = logged ? [Math.log10(low) - 0.05, Math.log10(high) + 0.05] : [low - (high - low || 1) * 0.06, high + (high - low || 1) * 0.06];
  const every = Math.ceil(multiples.length / (narrow() ? 5 : 10));
  const tickvals = multiples.filter((_, i) => i % every === 0);
  const now = loads[0].loads[loadPlace(loads[0])];
  const pick = ([x]) => { const own = axisOf(LOAD); return choose({ at: { [LOAD]: nearest(own.numbers, x) }, source: 'load' }); };
  showClickable('load', pick, {
    title: `Latency of ${ofWord(chosen.of)} by load`, traces, reading: loadReading(), height: narrow() ? 400 : 450,
    legend: [
      ...loads.map((load, i) => legendItem(swatch(style(i)), load.name)), traces.some(trace => trace.name === 'knee') ? legendItem(sign('★'), 'knee') : null,
      limits.length ? legendItem(stroke(alpha(css('--series-0'), 0.5)), 'largest load that is sustained') : null,
      traces.some(trace => trace.name === 'without a steady latency') ? legendItem(sign('×'), 'saturated or failed') : null,
      traces.some(trace => trace.name === 'range') ? legendItem(stroke(alpha(css('--soft'), 0.4)), 'only a range') : null,
    ].filter(known),
    layout: layout({
      hovermode: 'closest', dragmode: false, margin: { l: 70, r: 20, t: 22, b: 40 }, xaxis: axis({ type: logged ? 'log' : 'linear', range, tickvals, ticktext: tickvals.map(times), tickangle: 0, fixedrange: true, anchor: 'y2' }),
      yaxis: { ...yaxis, domain: [0.36, 1], fixedrange: true }, yaxis2: axis({ domain: [0, 0.24], range: [0, most * 1.06], tickvals: [0, most], ticktext: ['0', count(most)], fixedrange: true }),
      annotations: [above(`${STATISTICS[chosen.statistic]} latency`, 1), above(`${kind ?? 'requests'} a second`, 0.24)], shapes: [...limits, ...chosenLine(now)],
    }),
    numbers: () => drawn.map(({ load, points }) => ({
      caption: `Latency by load, ${load.name}`, head: ['Load', 'Latency (ns)', 'Low (ns)', 'High (ns)', `${capital(kind ?? 'requests')}/s`, 'Verdict'],
      rows: points.map(({ x, us, figure, point, word }) => [x, nsOrNull(us), figure?.low ?? null, figure?.high ?? null, rateAt(point).value ?? null, standsFor(point).verdict ? verdictWord(standsFor(point)).toLowerCase() : word]),
    })),
  });
}

function addLoad() {
  if (!loads.length) return;
  $('load-section').hidden = false;
  addFigure('load', { into: 'load-figures', className: 'wide' });
}
