// The page of a trace: its charts come ready from the description; here they get the look of the page.
spanShown = () => Math.max(data.span_s, 1e-6);
const warning = text => [verdictIcon('behind', 'warning'), ' ', text];

/** A trace of a chart in the colours of the theme. */
function themed(trace, overTime) {
  const { colour } = trace.meta ? style(trace.meta.series) : { colour: css('--soft') };
  const bar = trace.type === 'bar';
  const filled = trace.stackgroup || trace.fill;
  const look = {};
  if (trace.hovertemplate) look.hovertemplate = `${trace.hovertemplate}<extra>${trace.name}</extra>`;
  if (trace.line) look.line = { ...trace.line, color: colour };
  if (bar || trace.marker) look.marker = { ...trace.marker, color: colour };
  if (filled) look.fillcolor = alpha(colour, trace.stackgroup ? 0.75 : 0.3);
  return { ...trace, ...look, x: overTime ? inUnit(trace.x) : trace.x };
}

function legendOf(chart) {
  if (chart.data.length < 2) return [];
  return chart.data.map(trace => {
    const { colour } = trace.meta ? style(trace.meta.series) : { colour: css('--soft') };
    const mark = trace.type === 'bar' || trace.stackgroup ? area(trace.stackgroup ? alpha(colour, 0.75) : colour) : swatch({ colour, dash: trace.line?.dash ?? 'solid' });
    return legendItem(mark, unescaped(trace.name));
  });
}

/** A name that was made safe for Plotly, as text. */
const unescaped = name => name.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** Ticks of a logarithmic axis that has none of its own. */
function logAxis(given, values) {
  const [low, high] = extent(values.filter(value => value > 0), 1, 10).map(Math.log10);
  const padding = Math.max((high - low) * 0.05, 0.05);
  const range = [low - padding, high + padding];
  const latencies = given.title?.text?.includes('(µs)');
  return axis({ ...(given.tickvals ? {} : logTicks(range, latencies ? shortDuration : trimmed)), ...given, title: titleOf(latencies ? given.title.text.replace(' (µs)', '') : given.title?.text), range });
}

const titleOf = text => (text ? { text, font: { size: 12, color: css('--soft') }, standoff: 8 } : undefined);

function axisOf(given, values) {
  if (given.type === 'log') return logAxis(given, values);
  return axis({ ...given, title: titleOf(given.title?.text) });
}

function drawChart(chart) {
  const { xaxis = {}, yaxis = {}, ...rest } = chart.layout;
  const values = key => chart.data.flatMap(trace => trace[key]).filter(value => typeof value === 'number');
  const category = xaxis.type === 'category' ? { showgrid: false, tickangle: narrow() ? -60 : 'auto', automargin: true } : {};
  const how = layout({
    ...rest, margin: { l: 66, r: 20, t: 10, b: xaxis.title && !chart.over_time ? 56 : 40 },
    xaxis: chart.over_time ? timeAxis() : { ...axisOf(xaxis, values('x')), ...category, fixedrange: true },
    yaxis: { ...axisOf(yaxis, values('y')), fixedrange: true },
    dragmode: chart.over_time ? layout({}).dragmode : false,
  });
  show(chart.id, { title: chart.title, legend: legendOf(chart), traces: chart.data.map(trace => themed(trace, chart.over_time)), layout: how, reading: chart.reading, numbers: () => chart.numbers });
}

const FEW_GROUPS = 12; // what the style sheet shows of a short table

/** Classes, files, streams: formatted for the eye, and to be copied as plain numbers. */
function drawGroups() {
  $('groups').replaceChildren(...data.groups.map(group => {
    const node = table(group.head, group.rows, { className: 'comparison groups' });
    labelCells(node);
    const button = element('button', { type: 'button', className: 'copy', onclick: () => copy(csv(group.copy), button) }, 'Copy as CSV');
    const title = element('h2', { id: `group-${group.id}` }, group.caption);
    const others = group.rows.length - FEW_GROUPS;
    node.classList.toggle('short', others > 2);
    const more = others > 2 ? element('button', { type: 'button', className: 'copy more', onclick: () => { node.classList.remove('short'); more.remove(); } }, `Show the other ${others}`) : null;
    return element('section', {}, element('div', { className: 'section-head' }, title, button),
      element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: group.caption }, node), more);
  }));
}

function drawKnown() {
  const lists = [...data.known, ['Warnings', data.warnings.map(text => [warning(text), 'the import'])]];
  if (data.absent.length) lists.push(['Not in this description', data.absent.map(title => [title, 'tiersim describe'])]);
  $('known').replaceChildren(...lists.filter(([, entries]) => entries.length).map(([title, entries]) => element('div', {}, element('h3', {}, title),
    element('ul', {}, entries.map(([text, source]) => element('li', {}, text, element('small', { className: 'source' }, source)))))));
}

function drawCharts() {
  $('whole-run').hidden = !state.window;
  data.charts.forEach(drawChart);
}

function open() {
  $('facts').textContent = data.facts;
  $('lead').replaceChildren(...data.lead.map(([question, said]) => element('div', {}, element('dt', {}, question), element('dd', {}, said))));
  $('footer').textContent = 'Made by tiersim describe from the trace alone · this page contains all its data and loads nothing from a network';
  data.charts.forEach(chart => addFigure(chart.id));
  document.querySelector('#charts .hint').hidden = !data.charts.some(chart => chart.over_time);
  drawGroups();
  drawKnown();
  readAddress();
  linkTime(data.charts.filter(chart => chart.over_time).map(chart => chart.id), () => { writeAddress(); drawCharts(); });
  drawCharts();
}

parts.push({ open, draw: drawCharts, read: readAddress, address: () => ({}) });
