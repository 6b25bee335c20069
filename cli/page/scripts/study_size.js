// Candidates: price against latency with the front of those that nothing beats in both, and a table that says why.
const STATUSES = { chosen: ['★', 'chosen', '--good'], meets: ['✓', 'meets the targets', '--series-0'], fails: ['✗', 'fails', '--bad'], 'not simulated': ['–', 'not simulated', '--soft'] };
const STATUS_SYMBOLS = { chosen: 'star', meets: 'circle', fails: 'x', 'not simulated': 'circle-open' };
const statusOf = one => STATUSES[one.status] ?? ['', one.status, '--soft'];

/** Those that nothing beats: no other is as cheap and as fast, and cheaper or faster; by latency. */
const frontOf = points => points.filter(a => !points.some(b => b.us <= a.us && b.price <= a.price && (b.us < a.us || b.price < a.price))).sort((a, b) => a.us - b.us);

function drawPrice() {
  const { candidates } = size();
  const found = candidates.map((one, i) => ({ one, i, price: one.cost.price, ...latencyAt(one.point) }));
  const points = found.filter(({ us, price }) => known(us) && known(price)).map(point => ({ ...point, x: point.us }));
  const front = frontOf(points);
  const values = valuesOf(points);
  const [low, high] = extent(points.map(({ price }) => price).filter(price => price > 0), 1000, 10000).map(Math.log10);
  const pad = Math.max((high - low) * 0.08, 0.08);
  const range = [low - pad, high + pad * 1.6];
  const of = status => points.filter(({ one }) => one.status === status);
  const text = ({ one, us, figure }) => plain(`${one.name}: ${textOf({ us, figure })}, ${money(one.cost)}`);
  const traces = [
    front.length > 1 ? { x: front.map(({ us }) => us), y: front.map(({ price }) => price), name: 'Pareto front', mode: 'lines', line: { color: css('--faint'), width: 2, shape: 'hv' }, hoverinfo: 'skip' } : null,
    ...Object.keys(STATUSES).map(status => {
      const own = of(status);
      if (!own.length) return null;
      const colour = css(statusOf({ status })[2]);
      const { array, arrayminus } = whiskers(own, colour);
      return {
        x: own.map(({ us }) => us), y: own.map(({ price }) => price), name: status, mode: 'markers', marker: { symbol: STATUS_SYMBOLS[status], color: colour, size: own.map(({ i }) => (status === 'chosen' ? 17 : i === chosen.candidate ? 15 : 9)), line: { color: css('--page'), width: 1 } },
        error_x: { type: 'data', symmetric: false, array, arrayminus, thickness: 1, width: 0, color: alpha(colour, 0.5) }, text: own.map(text), ...hoverLatency(status), customdata: own.map(({ i }) => i),
      };
    }),
    ...[points.find(({ i }) => i === chosen.candidate)].filter(known).map(now => ({ x: [now.us], y: [now.price], name: 'shown', mode: 'markers', marker: { symbol: 'circle-open', size: 25, color: css('--ink'), line: { width: 1.75 } }, hoverinfo: 'skip' })),
  ].filter(known);
  const left = found.length - points.length;
  showClickable('price', ([i]) => choose({ candidate: i, source: 'size' }), {
    title: `${known(candidates[0].cost.total) ? 'Cost' : 'Price'} against the ${STATISTICS[chosen.statistic]} of ${ofWord(chosen.of)}`, traces, height: narrow() ? 380 : 440, reading: priceReading(left),
    legend: [...Object.keys(STATUSES).filter(status => of(status).length).map(status => legendItem(element('span', { ariaHidden: 'true', style: `color: var(${statusOf({ status })[2]})` }, statusOf({ status })[0]), statusOf({ status })[1])), front.length > 1 ? legendItem(swatch({ colour: css('--faint'), dash: 'solid' }), 'Pareto front: nothing is both cheaper and faster') : null, points.some(({ i }) => i === chosen.candidate) ? legendItem(sign('○'), 'shown in detail') : null].filter(known),
    layout: points.length ? layout({
      hovermode: 'closest', dragmode: false, margin: { l: 78, r: 20, t: 22, b: 40 }, xaxis: latencyAcross(values), annotations: [above(priceWord(candidates), 1)],
      yaxis: axis({ ...logTicks(range, whole.format), type: 'log', range, fixedrange: true }),
    }) : nothing('No candidate has both a price and this latency.'),
    numbers: () => [{
      caption: 'Candidates', head: ['Candidate', 'Status', 'Latency (ns)', 'Low (ns)', 'High (ns)', 'Cost', 'Currency', 'On the front'],
      rows: found.map(({ one, us, figure, price }) => [one.name, one.status, nsOrNull(us), figure?.low ?? null, figure?.high ?? null, price, one.cost.currency, front.some(each => each.one === one) ? 'yes' : 'no']),
    }],
  });
}

const priceWord = candidates => { const { currency, years, total } = candidates.find(one => known(one.cost.price))?.cost ?? {}; return `${known(total) && years ? `cost over ${count(years)} years` : 'price'}${currency ? ` (${currency})` : ''}`; };

function priceReading(left) {
  const { chosen: best, cheapest, candidates, targets, simulated } = size();
  const one = candidates.find(each => each.name === best);
  return [
    one ? `${one.name} ${cheapest ? 'is the cheapest that meets' : 'has most throughput for its cost of those that meet'} ${targets.length > 1 ? 'all targets' : 'the target'}: ${money(one.cost)}.${one.in_doubt ? ' In doubt (why, in the table).' : ''}` : 'No candidate meets the targets.',
    known(simulated) ? ` ${whole.format(simulated)} of ${whole.format(candidates.length)} candidates were simulated.` : '', left ? ` ${whole.format(left)} have no latency or no price and are in the table only.` : '',
  ].join('');
}

const endurance = ([value, low, high]) => (known(value) ? `${known(low) && count(low) !== count(value) ? `${count(low)}–` : ''}${count(value)} years` : known(low) ? `> ${count(low)} years` : known(high) ? `< ${count(high)} years` : 'not resolved');

function addSize() {
  if (!sizes.length) return;
  $('size-section').hidden = false;
  addFigure('price', { into: 'size-figures', className: 'wide' });
  const yes = value => (known(value) ? (value ? 'yes' : 'no') : '–');
  addSortable('candidates', 'size-table', {
    label: 'Candidates',
    columns: [
      { head: 'Candidate', text: ({ one }) => element('bdi', {}, one.name), value: ({ one }) => one.name, word: true },
      { head: 'Status', text: ({ one }) => statusOf(one).slice(0, 2).join(' '), value: ({ one }) => Object.keys(STATUSES).indexOf(one.status), word: true },
      { head: 'Cost', text: ({ one }) => money(one.cost), value: ({ one }) => one.cost.price },
      { head: 'At once', text: ({ one }) => (known(one.cost.capex) ? `${whole.format(one.cost.capex)} ${one.cost.currency}` : '–'), value: ({ one }) => one.cost.capex },
      { head: 'A month', text: ({ one }) => (known(one.cost.monthly) ? `${count(one.cost.monthly)} ${one.cost.currency}` : '–'), value: ({ one }) => one.cost.monthly },
      { head: 'Latency', text: ({ latency: found }) => textOf(found), value: ({ latency: found }) => nsOrNull(found.us) },
      { head: 'Capacity', text: ({ one }) => (known(one.capacity_bytes) ? bytes(one.capacity_bytes) : '–'), value: ({ one }) => one.capacity_bytes },
      { head: 'Power', text: ({ one }) => (known(one.power_w) ? `${count(one.power_w)} W` : '–'), value: ({ one }) => one.power_w },
      { head: 'Endurance', text: ({ one }) => (one.endurance_years ? endurance(one.endurance_years) : '–'), value: ({ one }) => one.endurance_years?.[1] ?? one.endurance_years?.[0] },
      { head: 'Survives a drive', text: ({ one }) => yes(one.survives), value: ({ one }) => yes(one.survives), word: true },
      { head: 'Why', text: ({ one }) => element('ul', { className: 'why' }, one.why.map(text => element('li', {}, text))), value: ({ one }) => one.why.join(' '), word: true },
    ],
    choose: ({ i }) => choose({ candidate: i, source: 'size' }), isChosen: ({ i }) => i === chosen.candidate, searched: ({ one }) => [one.name, one.status, ...one.why, ...Object.values(one.settings)].join('\n'),
  });
  tables.candidates.key = 2; // the cheapest first
}

/** The price of one, with the digits that it takes for a line of the bill to be what it is. */
const priceOfOne = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 });

function costTable() {
  const { cost } = candidate();
  if (!cost.parts.length) return null;
  return element('details', {}, element('summary', {}, `What ${candidate().name} costs${cost.price_date ? `, prices of ${cost.price_date}` : ''}`),
    element('div', { className: 'scroll', tabIndex: 0 }, table(['What', 'Count', `Each (${cost.currency})`, 'Paid', 'Source'], cost.parts.map(part => [part.what, known(part.count) ? count(part.count) : null, known(part.each) ? priceOfOne.format(part.each) : null, part.per === 'month' ? 'every month' : part.per, part.source]))));
}

function drawSizes() {
  if (!sizes.length) return;
  $('size-note').textContent = `${size().targets.length > 1 ? 'Targets' : 'Target'}: ${size().targets.join('; ') || 'none'}.`;
  fillSortable('candidates', size().candidates.map((one, i) => ({ one, i, latency: latencyAt(one.point) })));
  $('size-cost')?.remove();
  const costs = costTable();
  if (costs) { costs.id = 'size-cost'; $('size-table').append(costs); }
  drawPrice();
}
