// The report: its controls, and everything drawn together.
const TIME_CHARTS = { 'latency-time': drawLatencyTime, blame: drawBlame, requests: drawRequests, outstanding: drawOutstanding, stations: drawStations };

function syncControls() {
  $('scenario').value = state.scenario;
  $('purpose').value = state.purpose;
  $('statistic').value = state.statistic;
  $('measure').value = state.stations;
  syncPool();
  [...$('compare').options].forEach(option => {
    option.hidden = Number(option.value) === RECORDED && !isMeasured(selected());
    option.disabled = option.hidden || Number(option.value) === state.scenario;
  });
  $('compare').value = state.compare;
  $('whole-run').hidden = !state.window;
}

/** What else is drawn with the report. */
const drawnWithIt = [];

function draw() {
  syncControls();
  drawHead();
  drawCards();
  markSelection();
  drawComparison();
  drawKnown();
  drawPool();
  drawQueries();
  drawDatabase();
  drawTenants();
  drawPair();
  drawPercentiles();
  Object.entries(TIME_CHARTS).filter(([id]) => id !== 'blame').forEach(([, one]) => one());
  drawnWithIt.forEach(one => one());
}

/** Changes the state; a scenario that is chosen as both changes places with the one it was set against. */
function select(change) {
  const before = state.scenario;
  Object.assign(state, change);
  if (state.compare === state.scenario) state.compare = before === state.scenario ? usualComparison(state.scenario) : before;
  if (state.compare === RECORDED && !isMeasured(selected())) state.compare = usualComparison(state.scenario);
  writeAddress();
  draw();
}

function zoomed() {
  writeAddress();
  syncControls();
  Object.entries(TIME_CHARTS).forEach(([id, one]) => { if (id !== 'blame' || state.compare !== NOTHING) one(); });
}

const CHOICES = {
  scenario: [() => scenarios().map((scenario, i) => [i, scenario.name]), value => ({ scenario: Number(value) })],
  compare: [() => [[NOTHING, 'nothing'], [RECORDED, 'recorded hardware'], ...scenarios().map((scenario, i) => [i, scenario.name])], value => ({ compare: Number(value) })],
  purpose: [() => data.purposes.map(purpose => [purpose, capital(plural(purpose))]), value => ({ purpose: value })],
  statistic: [() => Object.entries(STATISTICS), value => ({ statistic: value })],
  measure: [() => Object.entries(MEASURES).map(([value, text]) => [value, capital(text)]), value => ({ stations: value })],
};

function open() {
  const measure = element('select', { id: 'measure', ariaLabel: 'Shown for stations' });
  addQueries();
  addDatabase();
  addPool();
  addTenants();
  addFigure('ratios', { into: 'pair-figures' });
  addFigure('blame', { into: 'pair-figures' });
  addFigure('percentiles');
  addFigure('latency-time');
  addFigure('requests');
  addFigure('outstanding');
  addFigure('stations', { className: 'wide', control: measure });
  for (const [id, [options, chosen]] of Object.entries(CHOICES)) fillSelect(id, options(), value => select(chosen(value)));
  state.purpose = data.purposes[0] ?? '';
  state.compare = usualComparison(0);
  readState();
  linkTime(Object.keys(TIME_CHARTS), zoomed);
  listen('percentiles', 'plotly_click', event => {
    const index = event.points[0].customdata;
    if (known(index)) select({ scenario: index });
  });
  listen('percentiles', 'plotly_doubleclick', () => drawPercentiles());
  listenToPool();
  draw();
}

/** Shows other results in place of those before. */
function showResults() {
  takeResults();
  for (const [id, [options]] of Object.entries(CHOICES)) fillOptions(id, options());
  if (state.scenario >= scenarios().length) state.scenario = 0;
  if (state.compare >= scenarios().length || state.compare === state.scenario) state.compare = usualComparison(state.scenario);
  if (!data.purposes.includes(state.purpose)) state.purpose = data.purposes[0] ?? '';
  if (state.query >= data.queries.length) state.query = ALL;
  draw();
}

const report = { open, draw, read: readState, address: stateInAddress };
if (data.scenarios) parts.push(report);
