// Recordings that shared hardware: who slows whom, their worst minutes, and what all did over time, one upon the other.
const sharedRun = () => data.sharing.find(run => run.tenants.some(one => data.scenarios[one.index].name === selected()?.name)) ?? data.sharing[0];
const tenantStyle = place => style(place);
const tenantArea = place => area(alpha(tenantStyle(place).colour, strength(place)));
const SLOWS = 0.02; // less than that is nothing that anybody notices

/** How much longer a tenant's mean latency is with another than without it, as a share; null where that was not run, or one is saturated. */
const harm = (tenant, other) => (tenant.without_us[other] && known(tenant.together_us) ? tenant.together_us / tenant.without_us[other] - 1 : null);
/** A mean latency; a saturated tenant has none. */
const meanText = us => (known(us) ? duration(us) : 'saturated');
const signed = share => `${share < 0 ? '−' : '+'}${percent(Math.abs(share))}`;

function harmCell(tenant, other) {
  if (other === tenant.name) return element('td', { className: 'word' }, '–');
  const share = harm(tenant, other);
  if (!known(share)) return element('td', { className: 'word' }, other in tenant.without_us ? `${meanText(tenant.without_us[other])} without it` : 'not run');
  const behind = tenant.behind[other];
  const cell = element('td', { className: 'harm' }, signed(share), element('small', {}, `${duration(tenant.without_us[other])} without it`),
    behind ? element('small', {}, `waits ${duration(behind.us)} behind it, most at ${behind.at}`) : null);
  cell.style.setProperty('--harm', `${Math.round(60 * Math.sqrt(Math.min(Math.max(share, 0), 2) / 2))}%`);
  return cell;
}

function harmTable(run) {
  const who = (one, i) => element('span', { className: 'who' }, tenantArea(i), element('span', {}, one.name));
  const right = ({ share }) => (share ? `share ${share.share}${share.minimum ? `, at least ${whole.format(share.minimum)}/s` : ''}` : null);
  const node = element('table', { className: 'comparison' },
    element('caption', { className: 'unseen' }, 'Mean latency of each tenant, and how much longer each other makes it'),
    element('thead', {}, element('tr', {}, ['Tenant', 'Alone', 'Together', ...run.tenants.map(one => `By ${one.name}`)].map((text, i) => element('th', { scope: 'col', className: i ? '' : 'text' }, text)))),
    element('tbody', {}, run.tenants.map((one, i) => element('tr', {},
      element('th', { scope: 'row' }, who(one, i), right(one) ? element('small', {}, right(one)) : null),
      element('td', {}, meanText(one.alone_us)),
      element('td', {}, meanText(one.together_us), element('small', {}, one.alone_us && known(one.together_us) ? `${signed(one.together_us / one.alone_us - 1)} against alone` : '')),
      run.tenants.map(other => harmCell(one, other.name))))));
  labelCells(node);
  return node;
}

const noteOfParts = run => (run.tenants.some(one => Object.values(one.behind).some(({ at }) => at.endsWith('.*'))) ? ' Parts of a request wait at several drives at a time, and each counts: together they may wait longer than the request takes.' : '');

function harmReading(run) {
  const pairs = run.tenants.flatMap(one => one.with.map(other => ({ one, other, share: harm(one, other) }))).filter(({ share }) => known(share) && share >= SLOWS);
  const full = run.tenants.filter(one => !known(one.together_us));
  const saturated = full.map(one => {
    const by = one.with.filter(other => known(one.without_us[other]));
    return `${one.name} is saturated, so it has no steady latency${by.length ? `; without ${list(by)} it is not` : ''}. `;
  }).join('');
  if (!pairs.length) return full.length ? saturated : 'No tenant makes another noticeably slower.';
  const most = pairs.reduce((a, b) => (b.share > a.share ? b : a));
  return `${saturated}${most.other} slows ${most.one.name} most: with it, the mean latency of all requests is ${percent(most.share)} longer. A column says what a tenant does to the others, a row what is done to it.`;
}

function minuteTable(run) {
  const found = run.tenants.filter(one => one.worst_minute);
  const shifts = minute => Object.entries(minute.shifts_s).map(([name, s]) => `${name} ${span(Math.abs(s))} ${s > 0 ? 'later' : 'sooner'}`).join(', ');
  const node = element('table', { className: 'comparison' },
    element('caption', { className: 'unseen' }, 'Mean latency in the worst minute of each tenant'),
    element('thead', {}, element('tr', {}, ['Tenant', 'Alone', 'As aligned', 'Worst', 'In its time from', 'If they begin', 'Demands add up at'].map((text, i) => element('th', { scope: 'col', className: i && i < 5 ? '' : 'text' }, text)))),
    element('tbody', {}, found.map(({ name, worst_minute: minute }) => element('tr', {}, element('th', { scope: 'row' }, name),
      ...[minute.alone_us, minute.aligned_us, minute.worst_us].map(us => element('td', {}, duration(us))), element('td', {}, span(minute.from_s)),
      element('td', { className: 'text' }, shifts(minute) || 'as aligned'), element('td', { className: 'text' }, minute.place ?? '–')))));
  labelCells(node);
  return node;
}

/** A tenant's result and when its intervals are in the time of the run: these are the run's. */
function inRun(tenant) {
  const { time } = data.scenarios[tenant.index];
  const width = time.end_s.length ? time.end_s[0] - time.start_s[0] : 1;
  const from = Math.floor(tenant.start_s / width + 1e-6) * width;
  return { time, at: middles(time).map(value => value + from), end: from + (time.end_s.at(-1) ?? 0) };
}

function stackOf(run, id, title, valuesOf, unit) {
  const played = run.tenants.map(inRun);
  const end = Math.max(...played.map(one => one.end));
  const [word, factor] = timeUnit(end);
  const series = played.map(({ time }) => valuesOf(time));
  const mean = values => values.reduce((a, b) => a + b, 0) / Math.max(values.length, 1);
  const most = series.map((values, i) => ({ name: run.tenants[i].name, mean: mean(values) })).sort((a, b) => b.mean - a.mean)[0];
  show(id, {
    title: `${title} on ${run.scenario}`,
    reading: `${most.name} has most: ${count(most.mean)}${unit} on average.`,
    legend: run.tenants.map((one, i) => legendItem(tenantArea(i), one.name)),
    traces: series.map((values, i) => ({
      x: played[i].at.map(value => value / factor), y: values, name: plain(run.tenants[i].name), mode: 'lines', stackgroup: 'tenants', line: { width: 0.5, color: tenantStyle(i).colour },
      fillcolor: alpha(tenantStyle(i).colour, 0.75 * strength(i)), text: values.map(value => `${count(value)}${unit}`), hovertemplate: `%{text}<extra>${plain(run.tenants[i].name)}</extra>`,
    })),
    layout: layout({
      dragmode: false, xaxis: axis({ range: [0, end / factor], ticksuffix: ` ${word}`, showgrid: false, ticks: 'outside', ticklen: 4, fixedrange: true, hoverformat: '.4~g' }),
      yaxis: axis({ rangemode: 'tozero', fixedrange: true, nticks: 6 }),
    }),
    numbers: () => run.tenants.map((one, i) => ({
      caption: `${title} of ${one.name}`, overTime: true, head: ['From (s)', title], rows: played[i].at.map((at, j) => [Number(at.toPrecision(6)), Number(series[i][j].toPrecision(5))]),
    })),
  });
}

function addTenants() {
  if (!data.sharing.length) return;
  $('tenants').hidden = false;
  addFigure('tenants-requests', { into: 'tenants-figures' });
  addFigure('tenants-outstanding', { into: 'tenants-figures' });
}

function drawTenants() {
  if (!data.sharing.length) return;
  const run = sharedRun();
  $('tenants-title').textContent = `Who slows whom on ${run.scenario}`;
  $('harm').replaceChildren(harmTable(run));
  $('harm-note').textContent = harmReading(run) + noteOfParts(run);
  const minute = run.tenants.find(one => one.worst_minute)?.worst_minute;
  $('minutes').hidden = !minute;
  if (minute) {
    $('minute-table').replaceChildren(minuteTable(run));
    $('minute-note').textContent = `Mean latency in the worst ${span(minute.minute_s)} of each. Each may begin up to ${span(minute.within_s)} sooner or later. Simulated: the ways to begin at which most is asked for (${minute.simulated}). A worse one may exist.`;
  }
  stackOf(run, 'tenants-requests', 'Requests/s', time => rates(time, total(time, 'completions')), '/s');
  stackOf(run, 'tenants-outstanding', 'Requests outstanding', time => time.outstanding, '');
}
