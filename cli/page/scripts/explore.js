// The exploration: what the server says of it, and what may be asked of it.
let version = -1; // of the last state
const shown = { opened: false, name: '' };

function statusOf(now) {
  if (now.stage === 'failed') return 'The scenario cannot be simulated; the figures are of the one before it.';
  if (now.fills_pool) return 'A buffer pool of this size is filled first, which may take seconds.';
  if (now.stage === 'sample') return now.picture ? 'Simulating a sample. The figures are of the scenario before.' : 'Simulating a sample.';
  if (now.stage === 'done') return 'Figures of the whole recording.';
  const done = now.percent < 100 ? `${now.percent}${NBSP}% of the whole recording simulated` : 'All that was recorded is simulated; the run goes on to its end';
  const share = `${done}${now.picture?.stale ? '; the figures are of the scenario before' : ''}`;
  return now.picture?.of === 'sample' ? `Figures of a sample (${percent(now.sample_share)} of the recording). ${share}.` : `${share}.`;
}

function showState(now) {
  version = now.version;
  $('status').textContent = statusOf(now);
  $('progress').hidden = now.stage !== 'whole' && !now.fills_pool;
  if (now.fills_pool || now.percent === 100) $('progress').removeAttribute('value'); // nobody knows how far it is
  else $('progress').value = now.percent;
  root.dataset.stage = now.stage;
  root.dataset.version = now.version;
  sayProblem(now.error);
  showControls(now.controls);
  showSearch(now.search);
  if ($('name').value === shown.name) $('name').value = shown.name = now.name; // unless somebody has typed one
  const isFull = now.pins.length >= now.most_pins;
  $('pin').disabled = now.stage !== 'done' || isFull;
  $('pin').textContent = isFull ? `${now.most_pins} are pinned: drop one to pin another` : 'Pin these figures';
  $('export').disabled = now.stage !== 'done';
  $('pins').replaceChildren(...now.pins.map(({ letter, description }) => element('li', {},
    element('span', {}, element('b', {}, letter), ` ${description}`),
    element('button', { type: 'button', className: 'copy', ariaLabel: `Go back to ${letter}`, onclick: () => tell('/back', { letter }) }, 'Go back'),
    element('button', { type: 'button', className: 'copy', ariaLabel: `Drop ${letter}`, onclick: () => tell('/unpin', { letter }) }, 'Drop'))));
}

async function tell(path, body) {
  const answer = await ask(path, body);
  sayProblem(answer.error);
  return answer;
}

/** Draws other figures; the report is opened with the first. */
function showPicture(picture) {
  Object.assign(data, picture);
  root.classList.remove('waiting-for-results');
  if (!shown.opened) {
    shown.opened = true;
    takeResults();
    Object.assign(state, { pool: usualPool(), statistic: usualStatistic });
    parts.push(report);
    $('cards').after($('why'));
    report.open();
    explainClicks();
  } else showResults();
  root.dataset.picture = picture.version;
}

function listenToServer() {
  const events = new EventSource('/events');
  events.addEventListener('state', event => showState(JSON.parse(event.data)));
  events.addEventListener('picture', event => showPicture(JSON.parse(event.data)));
  events.addEventListener('end', event => { events.close(); gone(JSON.parse(event.data)); });
  events.addEventListener('error', () => {
    if (events.readyState === EventSource.CLOSED) gone('The server has refused this page: open the address that tiersim explore prints anew.');
    else gone('The server does not answer. The figures stay; start tiersim explore again to go on.');
  });
  events.addEventListener('open', () => { root.classList.remove('gone'); sayProblem(''); });
}

function gone(text) {
  root.classList.add('gone');
  $('status').textContent = 'Not connected.';
  $('progress').hidden = true;
  sayProblem(text);
}

async function saving(path) {
  const { error, saved } = await ask(path, { name: $('name').value });
  $('saved').className = error ? 'problem' : 'hint';
  $('saved').textContent = error ?? `Saved ${saved}`;
}

function openExplore() {
  root.classList.add('waiting-for-results');
  $('devices').replaceChildren(...explored.devices.map(device => new Option(specification(device.id), device.id)));
  buildCatalogue();
  fillSelect('base', [['', 'choose a scenario'], ...explored.bases.map(name => [name, name])], name => { if (name) tell('/begin', { name }); $('base').value = ''; });
  $('settings').addEventListener('submit', event => event.preventDefault());
  $('target').value = explored.target;
  $('pin').addEventListener('click', () => tell('/pin'));
  $('search').addEventListener('click', startSearch);
  $('target').addEventListener('keydown', event => { if (event.key === 'Enter') $('search').click(); });
  $('save').addEventListener('click', () => saving('/save'));
  $('export').addEventListener('click', () => saving('/export'));
  listenToServer();
}

drawnWithIt.push(showWhy);
parts.push({ open: openExplore, draw: () => {}, read: () => {}, address: () => ({}) });
