// A figure: title, legend, chart, what is to be seen in it, and its numbers as a table.
const figures = {};

/** Adds an empty figure to the element `into`; `show` fills it, and its chart as soon as it is drawn. */
function addFigure(id, { into = 'figures', className = '', control = null } = {}) {
  const title = element('h3', { id: `${id}-title` });
  const reading = element('p', { id: `${id}-reading`, className: 'reading' });
  const legend = element('div', { className: 'legend' });
  const plot = element('div', { id, className: 'plot', role: 'group' });
  plot.setAttribute('aria-labelledby', `${id}-title`);
  plot.setAttribute('aria-describedby', `${id}-reading`);
  const numbers = numbersOf(id);
  $(into).append(element('figure', { className },
    element('figcaption', {}, element('div', { className: 'section-head' }, title, control), reading, legend), plot, numbers.details));
  figures[id] = { plot, title, legend, reading, numbers };
}

function show(id, { title, legend, traces, layout: how, reading, numbers, height }) {
  const figure = figures[id];
  figure.title.textContent = title;
  figure.legend.replaceChildren(...legend);
  figure.reading.textContent = reading;
  figure.plot.style.height = `${height ?? (narrow() ? 300 : 350)}px`;
  figure.numbers.set(numbers);
  drawSoon(id, traces, how);
}

const nothing = text => layout({
  xaxis: axis({ visible: false }), yaxis: axis({ visible: false }),
  annotations: [{ text: plain(text), xref: 'paper', yref: 'paper', x: 0.5, y: 0.5, showarrow: false, font: { size: 14, color: css('--soft') } }],
});

// ------------------------------------------------------------------------------------------------------------ numbers
// A table of numbers is `{caption, head, rows, overTime}`: rows of numbers, texts or null; units stand in the head.
const MOST_ROWS = 60;
const ON_PAPER = { rowsOverTime: 20, rows: 30, columns: 8 };

/** Every so many rows, and the rows in which a column is highest. */
function thinned(rows, most) {
  if (rows.length <= most) return { rows, every: 1 };
  const every = Math.ceil(rows.length / most);
  const kept = new Set(rows.map((_, i) => i).filter(i => i % every === 0));
  rows[0].forEach((_, column) => {
    if (!column) return;
    const values = rows.map(row => (typeof row[column] === 'number' ? row[column] : -Infinity));
    const highest = values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
    if (values[highest] > -Infinity) kept.add(highest);
  });
  return { rows: rows.filter((_, i) => kept.has(i)), every };
}

const ordinal = number => `${number}${{ 1: 'st', 2: 'nd', 3: 'rd' }[number % 100 > 10 && number % 100 < 14 ? 0 : number % 10] ?? 'th'}`;
const cellText = value => (known(value) ? String(value) : '');

function csv({ head, rows }) {
  const cell = value => {
    const text = cellText(value);
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // a name is no formula
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [head, ...rows].map(row => row.map(cell).join(',')).join('\n') + '\n';
}

async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no permission, or an old browser
    const area = element('textarea', { value: text, className: 'unseen' });
    button.after(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = label; }, 1500);
}

/** Saves a text as a file of this name, without leaving the page. */
function save(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = element('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const fileName = caption => `${caption.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60) || 'numbers'}.csv`;

/** Buttons that copy and save a table of numbers, made when it is asked for. */
function downloads(make) {
  const button = element('button', { type: 'button', className: 'copy', onclick: () => copy(csv(make()), button) }, 'Copy as CSV');
  button.setAttribute('aria-live', 'polite');
  const saving = element('button', { type: 'button', className: 'save', onclick: () => save(csv(make()), fileName(make().caption)) }, 'Download CSV');
  return [button, saving];
}

/** A part to be opened with tables in it, which are made when they are looked at. */
function numbersOf(id) {
  const box = element('div', {});
  const details = element('details', { className: 'numbers-of' }, element('summary', {}, 'Numbers'), box);
  details.setAttribute('aria-labelledby', `${id}-title`);
  let make = () => [];
  const fill = () => box.replaceChildren(...(details.open ? make().flatMap(one => tableOfNumbers(one)) : []));
  details.addEventListener('toggle', fill);
  return { details, set(numbers) { make = numbers; fill(); } };
}

function tableOfNumbers(one) {
  const paper = printing();
  const columns = paper && one.overTime ? ON_PAPER.columns : Infinity;
  const first = one.overTime ? one.rows.length : paper ? ON_PAPER.rows : Infinity;
  const { rows, every } = one.overTime ? thinned(one.rows, paper ? ON_PAPER.rowsOverTime : MOST_ROWS) : { rows: one.rows.slice(0, first), every: 1 };
  const left = [
    every > 1 ? `every ${ordinal(every)} of ${whole.format(one.rows.length)} rows, and the highest of each column` : null,
    one.rows.length > first ? `the first ${first} of ${whole.format(one.rows.length)} rows` : null,
    one.head.length > columns ? `the first ${columns} of ${one.head.length} columns` : null,
  ].filter(known).join('; ');
  const isText = i => rows.some(row => typeof row[i] === 'string');
  const head = element('tr', {}, one.head.slice(0, columns).map((text, i) => element('th', { scope: 'col', className: isText(i) ? 'text' : '' }, text)));
  const body = rows.map(row => element('tr', {}, row.slice(0, columns).map((value, i) => element(i ? 'td' : 'th',
    { ...(i ? {} : { scope: 'row' }), className: typeof value === 'string' && i ? 'text' : '' }, known(value) ? cellText(value) : '–'))));
  return [
    element('div', { className: 'numbers-head' }, element('p', {}, one.caption, left ? element('small', {}, `${left}; the copy has all`) : null), element('span', { className: 'choices' }, downloads(() => one))),
    element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: one.caption },
      element('table', { className: 'numbers' }, element('caption', { className: 'unseen' }, one.caption), element('thead', {}, head), element('tbody', {}, body))),
  ];
}
