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
  drawPair();
  drawPercentiles();
  Object.entries(TIME_CHARTS).filter(([id]) => id !== 'blame').forEach(([, one]) => one());
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

function open() {
  const names = scenarios().map((scenario, i) => [i, scenario.name]);
  const measure = element('select', { id: 'measure', ariaLabel: 'Shown for stations' });
  addQueries();
  addDatabase();
  addPool();
  addFigure('ratios', { into: 'pair-figures' });
  addFigure('blame', { into: 'pair-figures' });
  addFigure('percentiles');
  addFigure('latency-time');
  addFigure('requests');
  addFigure('outstanding');
  addFigure('stations', { className: 'wide', control: measure });
  fillSelect('scenario', names, value => select({ scenario: Number(value) }));
  fillSelect('compare', [[NOTHING, 'nothing'], [RECORDED, 'recorded hardware'], ...names], value => select({ compare: Number(value) }));
  fillSelect('purpose', data.purposes.map(purpose => [purpose, capital(plural(purpose))]), value => select({ purpose: value }));
  fillSelect('statistic', Object.entries(STATISTICS), value => select({ statistic: value }));
  fillSelect('measure', Object.entries(MEASURES).map(([value, text]) => [value, capital(text)]), value => select({ stations: value }));
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

parts.push({ open, draw, read: readState, address: stateInAddress });
