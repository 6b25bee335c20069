// What every page has: its data, its state in the address, the theme, printing, one zoom for all charts over time.
const data = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement;
const $ = id => document.getElementById(id);

const THEMES = ['light', 'dark'];
const state = { window: null, theme: '' };

/** Reads what all pages keep in the address; a page adds its own. Nothing when the address names a place on the page. */
function readAddress() {
  if (location.hash && !location.hash.includes('=')) return null;
  const wanted = new URLSearchParams(location.hash.slice(1));
  const ends = (wanted.get('range') ?? '').split('~').map(Number);
  state.window = ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : null;
  state.theme = THEMES.includes(wanted.get('theme')) ? wanted.get('theme') : '';
  return wanted;
}

/** Seconds that charts over time show; the part that has such charts says how many. */
let spanShown = () => 1;

/** Parts of the page: each has `open()`, which builds it and shows all of it, `read()` of its state, `draw()`, and `address()`, what it keeps there. */
const parts = [];

function writeAddress() {
  const shown = Object.assign({}, ...parts.map(part => part.address()));
  if (state.window) shown.range = state.window.map(seconds => Number(seconds.toPrecision(7))).join('~');
  if (state.theme) shown.theme = state.theme;
  history.replaceState(null, '', '#' + new URLSearchParams(shown));
}

/** The theme that was chosen, or none: then the system's. Paper is always light. */
function applyTheme() {
  const theme = root.classList.contains('printing') ? 'light' : state.theme;
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  looks.clear();
}

function toggleTheme() {
  state.theme = getComputedStyle(root).colorScheme === 'dark' ? 'light' : 'dark';
  applyTheme();
}

/** Paper is white and narrow, and nobody can open anything on it: draw for it, and come back. */
function preparePrint(redraw) {
  let opened = [];
  const openAll = selector => {
    const closed = [...document.querySelectorAll(`${selector}:not([open])`)];
    closed.forEach(one => { one.open = true; });
    return closed;
  };
  addEventListener('beforeprint', () => {
    root.classList.add('printing');
    applyTheme();
    opened = openAll('details.numbers-of');
    redraw(); // fills the numbers, and makes the folds anew
    opened.push(...openAll('.fold'));
  });
  addEventListener('afterprint', () => {
    root.classList.remove('printing');
    applyTheme();
    opened.forEach(one => { one.open = false; });
    redraw();
  });
}

const printing = () => root.classList.contains('printing');

/** Charts over time zoom together: `draw` is called with `state.window` in seconds, or null for all of it. */
function linkTime(ids, draw) {
  const zoom = seconds => { state.window = seconds; draw(); };
  for (const id of ids) {
    listen(id, 'plotly_relayout', change => {
      const range = change['xaxis.range'] ?? [change['xaxis.range[0]'], change['xaxis.range[1]']];
      if (known(range[0]) && known(range[1])) zoom(range.map(value => value * timeUnit(spanShown())[1]));
    });
    listen(id, 'plotly_doubleclick', () => zoom(null));
  }
  $('whole-run').addEventListener('click', () => zoom(null));
}
