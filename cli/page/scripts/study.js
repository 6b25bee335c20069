// Everything of the studies drawn together: what is chosen moves all of it.
function addPoints() {
  if (!sweeps.length) return;
  $('sweep-section').hidden = false;
  $('points-section').hidden = false;
}

/** The table of a sweep's points has a column for each of its axes. */
function buildPointsTable() {
  if (!sweeps.length) return;
  $('points-table').replaceChildren();
  const state_ = point => (point.status === 'done' ? verdictWord(point).toLowerCase() : point.status);
  addSortable('points', 'points-table', {
    label: 'Points of the sweep',
    columns: [
      { head: 'Point', text: point => String(point.number), value: point => point.number },
      ...ownAxes().map((one, i) => ({ head: axisName(one), text: point => valueText(one, point.at[i]), value: point => (one.numbers ? one.numbers[point.at[i]] : one.values[point.at[i]]), word: !one.numbers })),
      { head: 'State', text: state_, value: state_, word: true },
      { head: 'Latency', text: point => textOf(latencyAt(point)), value: point => nsOrNull(latencyAt(point).us) },
      { head: 'Throughput', text: point => { const { kind, value } = rateAt(point); return kind ? `${count(value)} ${kind}` : '–'; }, value: point => rateAt(point).value },
      { head: 'Pool hit ratio', text: point => (known(hitAt(point)) ? `${(100 * hitAt(point)).toFixed(2)} %` : '–'), value: hitAt },
      { head: 'Busiest part', text: point => { const busiest = standsFor(point).bottleneck; return busiest?.station ? `${busiest.station}: ${percent(busiest.utilisation ?? 0)} busy` : (point.error ?? '–'); }, value: point => standsFor(point).bottleneck?.utilisation },
    ],
    choose: point => choose({ at: Object.fromEntries(ownAxes().map((one, i) => [one.key, point.at[i]])), source: 'sweep' }),
    isChosen: point => point === sweepPoint(),
    searched: point => [point.number, ...ownAxes().map((one, i) => `${one.values[point.at[i]]} ${valueText(one, point.at[i])}`), state_(point), point.error, standsFor(point).bottleneck?.station].join('\n'),
  });
}

const CHARTS = [drawAxes, drawPoint, drawMrcs, drawLoad, drawSizes];

function drawTexts() {
  syncControls();
  drawStudyHead();
  if (sweeps.length) fillSortable('points', sweep().points);
}

function drawStudies() {
  drawTexts();
  CHARTS.forEach(draw => draw());
}

function openStudies() {
  readChoice();
  buildControls();
  buildAxisFigures();
  addPoints();
  buildPointsTable();
  addPoint();
  addMrc();
  addLoad();
  addSize();
  addPacks();
  drawStudyKnown();
  drawStudies();
}

parts.push({ open: openStudies, draw: drawStudies, read: readChoice, address: choiceInAddress });
