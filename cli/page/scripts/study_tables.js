// Tables that are searched and sorted: `columns` are `{head, text(row), value(row), word}`; what has no value stands last.
const FEW_ROWS = 15;
const MORE_ROWS = 500; // a table of very many rows is shown in pieces of so many
const words = new Intl.Collator('en', { numeric: true });
const tables = {};

/** Adds an empty table to the element `into`; `fillSortable` says what is in it. */
function addSortable(id, into, { label, columns, choose: pick, isChosen, searched }) {
  const search = element('input', { type: 'search', autocomplete: 'off', spellcheck: false, className: 'find', id: `${id}-find` });
  const node = element('table', { id, className: 'comparison many sortable' });
  const more = element('button', { type: 'button', className: 'copy more' });
  const found = element('span', { className: 'hint', role: 'status' });
  const buttons = downloads(() => ({ caption: label, head: columns.map(column => column.head), rows: tables[id].rows.map(row => columns.map(column => column.value(row) ?? null)) }));
  $(into).append(
    element('div', { className: 'section-head table-head' }, element('label', { className: 'inline' }, 'Find ', search), found, element('span', { className: 'choices' }, buttons)),
    element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: label }, node), more);
  const own = tables[id] = { node, more, found, label, columns, pick, isChosen, searched, rows: [], key: 0, descending: false, wanted: '', most: FEW_ROWS };
  search.addEventListener('input', () => { own.wanted = search.value.trim().toLowerCase(); drawSortable(id); });
  more.addEventListener('click', () => { own.most += MORE_ROWS; drawSortable(id); });
}

function orderedRows({ rows, columns, key, descending, wanted, searched }) {
  const sign = descending ? -1 : 1;
  const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : words.compare(a, b));
  return rows.map((row, i) => ({ row, i, value: columns[key].value(row) ?? null })).filter(({ row }) => !wanted || searched(row).toLowerCase().includes(wanted))
    .sort((a, b) => known(b.value) - known(a.value) || (known(a.value) ? sign * compare(a.value, b.value) : 0) || a.i - b.i).map(({ row }) => row);
}

function sortTable(id, key) {
  const own = tables[id];
  Object.assign(own, { key, descending: key === own.key ? !own.descending : false });
  drawSortable(id);
  own.node.querySelectorAll('.sort')[key].focus();
}

function drawSortable(id) {
  const own = tables[id];
  const rows = orderedRows(own);
  const shown = printing() || rows.length <= own.most + 2 ? rows.slice() : rows.slice(0, own.most);
  const also = rows.find(own.isChosen);
  if (also && !shown.includes(also)) shown.push(also);
  const head = own.columns.map((column, i) => {
    const chosenNow = i === own.key;
    const cell = element('th', { scope: 'col', className: column.word || !i ? 'text' : '' },
      element('button', { type: 'button', className: 'sort', onclick: () => sortTable(id, i) }, column.head, chosenNow ? (own.descending ? ' ↓' : ' ↑') : ''));
    cell.setAttribute('aria-sort', chosenNow ? (own.descending ? 'descending' : 'ascending') : 'none');
    return cell;
  });
  const body = shown.map(row => element('tr', { className: own.isChosen(row) ? 'selected' : '' }, own.columns.map((column, i) => {
    if (i) return element('td', { className: column.word ? 'text' : '' }, column.text(row));
    const button = element('button', { type: 'button', className: 'sort pick', onclick: () => own.pick(row) }, column.text(row));
    button.setAttribute('aria-pressed', own.isChosen(row));
    return element('th', { scope: 'row' }, button);
  })));
  own.node.replaceChildren(element('caption', { className: 'unseen' }, own.label), element('thead', {}, element('tr', {}, head)),
    element('tbody', {}, body.length ? body : [element('tr', {}, element('td', { className: 'text', colSpan: own.columns.length }, 'Nothing holds this text.'))]));
  labelCells(own.node);
  const all = own.all ?? own.rows.length;
  own.found.textContent = rows.length < all || own.wanted ? `${whole.format(rows.length)} of ${whole.format(all)}` : '';
  own.more.hidden = shown.length >= rows.length;
  own.more.textContent = rows.length - shown.length > MORE_ROWS ? `Show ${MORE_ROWS} more of ${whole.format(rows.length)}` : `Show the other ${whole.format(rows.length - shown.length)}`;
}

function fillSortable(id, rows) {
  tables[id].rows = rows;
  drawSortable(id);
}
