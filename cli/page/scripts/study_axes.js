// Latency against each axis of the sweep, at what is chosen on the others.
/** Shows a chart whose marks can be clicked: what a mark stands for is its `customdata`. */
function showClickable(id, clicked, shown) {
  const { plot } = figures[id];
  if (!plot.clicked) listen(id, 'plotly_click', event => { const of = event.points[0].customdata; if (known(of)) plot.clicked([].concat(of)); });
  plot.clicked = clicked;
  show(id, shown);
}

const MOST_LINES = 6;
const AXIS_TICKS = { narrow: 5, wide: 9 };

/** The axis whose values are lines: a list, or else another axis of few numbers. */
function lineAxis(axis) {
  const others = ownAxes().filter(one => one !== axis && one.values.length > 1);
  return others.find(one => !one.numbers) ?? others.find(one => one.values.length <= MOST_LINES) ?? null;
}

/** Which values of it are drawn: all, or of too many the chosen one and its neighbours. */
function linesOf(axis) {
  if (!axis) return [null];
  const at = axis.order.indexOf(place(axis));
  const first = Math.max(0, Math.min(at - MOST_LINES / 2, axis.order.length - MOST_LINES));
  return axis.order.slice(first, first + MOST_LINES);
}

const axisPoints = (axis, lines, line) => axis.order.map(i => {
  const point = sweepPoint({ [axis.key]: i, ...(lines ? { [lines.key]: line } : {}) });
  return { i, point, x: axis.numbers ? axis.numbers[i] : axis.order.indexOf(i), ...latencyAt(point) };
});

/** Ends of an interval that can be drawn as whiskers. */
const whiskers = (points, colour) => ({
  type: 'data', symmetric: false, thickness: 1.25, width: 0, color: alpha(colour, 0.6),
  array: points.map(({ us, figure }) => (known(us) && known(figure.high) ? figure.high / 1e3 - us : 0)),
  arrayminus: points.map(({ us, figure }) => (known(us) && known(figure.low) ? us - figure.low / 1e3 : 0)),
});

/** Points with no single value: ranges that are not resolved, and crosses at the top where there is no steady latency. */
function openTraces(points, colour, name, top) {
  const ranges = points.filter(({ us, figure }) => !known(us) && known(figure?.low) && known(figure?.high));
  const full = points.filter(({ word }) => word === 'saturated' || word === 'failed');
  return [
    ranges.length ? {
      x: ranges.flatMap(({ x }) => [x, x, null]), y: ranges.flatMap(({ figure }) => [figure.low / 1e3, figure.high / 1e3, null]), name: 'range', mode: 'lines',
      line: { color: alpha(colour, 0.4), width: 7 }, text: ranges.flatMap(one => [textOf(one), textOf(one), '']), ...hoverLatency(name),
    } : null,
    full.length ? {
      x: full.map(({ x }) => x), y: full.map(() => top), name: 'without a steady latency', mode: 'markers', cliponaxis: false, marker: { symbol: 'x', size: 9, color: colour },
      text: full.map(one => textOf(one)), ...hoverLatency(name),
    } : null,
  ].filter(known);
}

const valuesOf = points => points.flatMap(({ us, figure }) => [us, ...[figure?.low, figure?.high].filter(known).map(ns => ns / 1e3)]).filter(value => value > 0);

function tickPlaces(axis) {
  const places = axis.order.map((i, at) => ({ i, x: axis.numbers ? axis.numbers[i] : at }));
  const most = narrow() ? AXIS_TICKS.narrow : AXIS_TICKS.wide;
  const every = axis.numbers ? Math.ceil(places.length / most) : 1;
  return places.filter((_, at) => at % every === 0);
}

/** A long name in lines of a few letters each. */
const folded = (text, most) => plain(text).split(/(?<=[-_ .])/).reduce((lines, word) => (lines.at(-1).length + word.length > most ? [...lines, word] : [...lines.slice(0, -1), lines.at(-1) + word]), ['']).filter(Boolean).slice(0, 4).join('<br>');

function valueAxis(axis, extra) {
  const ticks = tickPlaces(axis);
  const common = { tickvals: ticks.map(({ x }) => x), ticktext: ticks.map(({ i }) => (axis.numbers ? plain(valueText(axis, i)) : folded(valueText(axis, i), narrow() ? 9 : 14))), tickangle: 0, fixedrange: true, ...extra };
  if (!axis.numbers) return axisLook({ ...common, range: [-0.5, axis.order.length - 0.5], showgrid: false });
  const [low, high] = [axis.numbers[axis.order[0]], axis.numbers[axis.order.at(-1)]];
  if (low > 0 && high / low > 4) return axisLook({ ...common, type: 'log', range: [Math.log10(low) - 0.1, Math.log10(high) + 0.1] });
  const pad = (high - low) * 0.06 || 1;
  return axisLook({ ...common, range: [low - pad, high + pad] });
}
const axisLook = axis;
const chosenLine = (x, panels = ['y', 'y2']) => (known(x) ? panels.map(panel => ({ type: 'line', x0: x, x1: x, yref: `${panel} domain`, y0: 0, y1: 1, layer: 'below', line: { color: css('--soft'), width: 1.5, dash: 'dot' } })) : []);
/** A logarithmic axis of latencies from left to right: on a narrow screen with few ticks. */
function latencyAcross(values) {
  const { range, tickvals, ...look } = latencyAxis(values);
  const inside = tickvals.filter(value => value >= 10 ** range[0] && value <= 10 ** range[1]);
  const every = narrow() ? Math.ceil(inside.length / 4) : 1;
  const kept = inside.filter((_, i) => i % every === 0);
  return { ...look, range, tickvals: kept, ticktext: kept.map(shortDuration), tickangle: 0, fixedrange: true };
}
const sign = text => element('span', { ariaHidden: 'true' }, text);
const above = (text, y) => ({ text: plain(text), xref: 'paper', x: 0, xanchor: 'left', yref: 'paper', y, yanchor: 'bottom', showarrow: false, font: { size: 12, color: css('--soft') } });

/** What stands below the latency: the hit ratio where it moves with this axis, otherwise what is completed. */
function lowerPanel(axis, all) {
  const hits = all.map(({ point }) => hitAt(point)).filter(known);
  if (axis.key === POOL && hits.length) {
    const low = Math.max(0, Math.min(...hits) * 100 - 3);
    return { value: point => (known(hitAt(point)) ? hitAt(point) * 100 : null), text: value => `${value.toFixed(2)} %`, head: 'Pool hit ratio (%)', label: 'pool hit ratio', axis: { range: [low, 100.5], ticksuffix: ' %', nticks: 4 } };
  }
  const { kind } = all.map(({ point }) => rateAt(point)).find(one => one.kind) ?? {};
  const most = Math.max(...all.map(({ point }) => rateAt(point).value ?? 0), 1e-9);
  return { value: point => rateAt(point).value ?? null, text: value => `${count(value)}/s`, head: `${capital(kind ?? 'requests')}/s`, label: `${kind ?? 'requests'} a second`, axis: { range: [0, niceAbove(most) * 1.06], tickvals: [0, niceAbove(most)], ticktext: ['0', count(niceAbove(most))] } };
}

function axisReading(axis, points) {
  const known_ = points.filter(({ us }) => known(us));
  const where = ({ i }) => `at ${valueText(axis, i)}`;
  const what = `${STATISTICS[chosen.statistic]} of ${ofWord(chosen.of)}`;
  if (!known_.length) return `The ${what} is resolved nowhere on this line.`;
  const best = known_.reduce((a, b) => (b.us < a.us ? b : a));
  const now = points.find(({ i }) => i === place(axis));
  return [
    `The ${what} is ${known(now.us) ? duration(now.us) : now.range ? `${now.word} (${now.range})` : now.word} ${where(now)}`,
    best !== now ? `; the least is ${duration(best.us)} ${where(best)}` : known_.length > 1 ? ', the least of this line' : '',
    '.',
  ].join('');
}

function drawAxis(axis, i) {
  const lines = lineAxis(axis);
  const drawn = linesOf(lines).map(line => ({ line, points: axisPoints(axis, lines, line) }));
  const all = drawn.flatMap(({ points }) => points);
  const lower = lowerPanel(axis, all);
  const yaxis = latencyAxis(valuesOf(all));
  const top = 10 ** (yaxis.range[1] - 0.02);
  const isNow = line => line === null || line === place(lines);
  const nameOf = line => (line === null ? sweep().name : valueText(lines, line));
  const styleOf = line => style(line === null ? 0 : lines.order.indexOf(line));
  const traces = drawn.flatMap(({ line, points }) => {
    const { colour, dash, symbol } = styleOf(line);
    const bold = isNow(line);
    const common = { x: points.map(({ x }) => x), name: plain(nameOf(line)), customdata: points.map(one => [one.i, line]), mode: axis.numbers ? 'lines+markers' : 'markers', line: { color: colour, dash, width: bold ? 3 : 1.5 } };
    const size = bold ? 10 : 7;
    return [
      { ...common, y: points.map(({ us }) => us ?? null), error_y: whiskers(points, colour), marker: { color: colour, symbol: points.map(({ point }) => (standsFor(point)?.extrapolated ? `${symbol}-open` : symbol)), size, line: { width: 1.5, color: colour } }, text: points.map(one => plain(`${valueText(axis, one.i)}: ${textOf(one)}`)), ...hoverLatency(nameOf(line)) },
      ...openTraces(points, colour, nameOf(line), top),
      { ...common, y: points.map(({ point }) => lower.value(point)), yaxis: 'y2', marker: { color: colour, symbol, size: size - 3 }, line: { ...common.line, width: bold ? 2 : 1.25 }, text: points.map(({ point, i: at }) => (known(lower.value(point)) ? plain(`${valueText(axis, at)}: ${lower.text(lower.value(point))}`) : '')), ...hoverLatency(nameOf(line)) },
    ];
  });
  const now = drawn.find(({ line }) => isNow(line)) ?? drawn[0];
  const x = now.points.find(one => one.i === place(axis))?.x;
  const legend = lines ? drawn.map(({ line }) => legendItem(swatch(styleOf(line)), nameOf(line))) : [];
  const states = [
    traces.some(trace => trace.name === 'range') ? legendItem(stroke(alpha(css('--soft'), 0.4)), 'only a range') : null,
    traces.some(trace => trace.name === 'without a steady latency') ? legendItem(sign('×'), 'saturated or failed') : null,
    all.some(({ point }) => standsFor(point)?.extrapolated) ? legendItem(swatch({ colour: css('--soft'), dash: 'solid', symbol: 'circle-open' }), 'extrapolated') : null,
  ].filter(known);
  const bottom = axis.numbers ? 44 : 70;
  showClickable(`axis-${i}`, ([at, line]) => choose({ at: { [axis.key]: at, ...(lines && known(line) ? { [lines.key]: line } : {}) }, source: 'sweep' }), {
    title: `Latency of ${ofWord(chosen.of)} by ${axisName(axis).toLowerCase()}`, traces, legend: [...legend, ...states], height: (narrow() ? 390 : 430), reading: axisReading(axis, now.points),
    layout: all.length ? layout({
      hovermode: 'closest', dragmode: false, margin: { l: 70, r: 20, t: 22, b: bottom }, xaxis: valueAxis(axis, { anchor: 'y2' }),
      yaxis: { ...yaxis, domain: [0.36, 1], fixedrange: true }, yaxis2: axisLook({ domain: [0, 0.24], fixedrange: true, ...lower.axis }),
      annotations: [above(`${STATISTICS[chosen.statistic]} latency`, 1), above(lower.label, 0.24)], shapes: chosenLine(x),
    }) : nothing('No point of this line was simulated.'),
    numbers: () => [{
      caption: `${STATISTICS[chosen.statistic]} of ${ofWord(chosen.of)}`, head: [...(lines ? [axisName(lines)] : []), axisName(axis), 'Latency (ns)', 'Low (ns)', 'High (ns)', lower.head, 'Figure'],
      rows: drawn.flatMap(({ line, points }) => points.map(({ i: at, point, us, figure, word }) => [
        ...(lines ? [valueText(lines, line)] : []), axis.numbers ? axis.numbers[at] : axis.values[at], nsOrNull(us), figure?.low ?? null, figure?.high ?? null, lower.value(point), known(us) ? 'resolved' : word,
      ])),
    }],
  });
}

const shownAxes = () => ownAxes().map((axis, i) => [axis, i]).filter(([axis]) => axis.values.length > 1);

function buildAxisFigures() {
  $('axis-figures').replaceChildren();
  shownAxes().forEach(([, i], at, all) => addFigure(`axis-${i}`, { into: 'axis-figures', className: all.length % 2 && at === 0 ? 'wide' : '' }));
}

function drawAxes() {
  if (!sweeps.length) return;
  const { points, scenario, trace, replications, name } = sweep();
  const of = status => points.filter(point => point.status === status).length;
  const total = AXES.slice(0, sweep().axes.length).reduce((product, axis) => product * axis.values.length, 1);
  $('sweep-title').textContent = sweeps.length > 1 ? `Sweep ${name}` : 'The sweep';
  $('sweep-note').textContent = [
    `${whole.format(points.length)} of ${whole.format(total)} points of ${trace.name || 'a trace'} on ${scenario || 'one scenario'}: ${whole.format(of('done'))} simulated`,
    of('screened') ? `, ${whole.format(of('screened'))} screened: another point gives the same` : '', of('failed') ? `, ${whole.format(of('failed'))} failed` : '',
    replications > 1 ? `; ${replications} replications each, whose mean is shown with an interval that holds all of theirs` : '', '. Each chart shows one axis at what is chosen on the others; click on a mark to choose it.',
  ].join('');
  shownAxes().forEach(([axis, i]) => drawAxis(axis, i));
}
