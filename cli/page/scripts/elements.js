const SVG = 'http://www.w3.org/2000/svg';

function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.flat().filter(known));
  return node;
}

function drawing(width, height, shapes, label) {
  const node = document.createElementNS(SVG, 'svg');
  const attributes = { viewBox: `0 0 ${width} ${height}`, width, height };
  Object.entries(label ? { ...attributes, role: 'img', 'aria-label': label } : { ...attributes, 'aria-hidden': true })
    .forEach(([key, value]) => node.setAttribute(key, value));
  for (const [tag, properties] of shapes) {
    const shape = document.createElementNS(SVG, tag);
    Object.entries(properties).forEach(([key, value]) => shape.setAttribute(key, value));
    node.append(shape);
  }
  return node;
}

const MARK = { fill: 'none', stroke: 'var(--page)', 'stroke-width': 2, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' };
const ICONS = {
  steady: [['circle', { cx: 9, cy: 9, r: 9 }], ['path', { d: 'M5 9.4l2.8 2.8 5.2-5.8', ...MARK }]],
  behind: [['path', { d: 'M9 .5L18 17.5H0z' }], ['path', { d: 'M9 7v4.5M9 14.4v.1', ...MARK }]],
  saturated: [['path', { d: 'M5.3 0h7.4L18 5.3v7.4L12.7 18H5.3L0 12.7V5.3z' }], ['path', { d: 'M6 6l6 6M12 6l-6 6', ...MARK }]],
};
const verdictIcon = (load, label) => drawing(18, 18, ICONS[load] ?? ICONS.behind, label);

function table(head, rows, options = {}) {
  const cell = (tag, content, extra) => element(tag, extra, content);
  return element('table', { className: options.className ?? 'numbers' },
    element('thead', {}, element('tr', {}, head.map(text => cell('th', text, { scope: 'col' })))),
    element('tbody', {}, rows.map(row => element('tr', {},
      row.map((content, i) => cell(i ? 'td' : 'th', content ?? '–', i ? {} : { scope: 'row' }))))));
}


/** Each cell learns the head of its column: on a narrow screen rows become lists of labelled values. */
function labelCells(node) {
  const labels = [...node.tHead.rows[0].cells].map(cell => cell.textContent);
  [...node.tBodies[0].rows].forEach(row => [...row.cells].forEach((cell, i) => { cell.dataset.label = labels[i]; }));
}

const fillOptions = (id, options) => $(id).replaceChildren(...options.map(([value, text]) => new Option(text, value)));

function fillSelect(id, options, change) {
  fillOptions(id, options);
  $(id).addEventListener('change', event => change(event.target.value));
}
