// Controls of an exploration: made for the keys that the server names, and sent to it as they change.
const explored = data.explored;

/** Sends a question to the server; the answer, or `{error}` with a sentence. */
async function ask(path, body = {}) {
  try {
    const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    return await answer.json();
  } catch {
    return { error: 'The server does not answer.' };
  }
}

function sayProblem(text) {
  $('problem').textContent = text ?? '';
  $('problem').hidden = !text;
}

/** Changes that were not sent yet; one request is under way at most, so that what is dragged is sent as fast as it is answered. */
const changes = { waiting: null, busy: false, version: -1 };
async function sendChanges() {
  root.toggleAttribute('data-asking', changes.busy || Boolean(changes.waiting));
  if (changes.busy || !changes.waiting) return;
  const settings = changes.waiting;
  Object.assign(changes, { waiting: null, busy: true });
  const answer = await ask('/change', { settings });
  changes.busy = false;
  if (answer.error) {
    sayProblem(answer.error);
    controls.typed = document.activeElement.closest('[type=text], [type=number]'); // it stays, to be mended
  } else changes.version = answer.version;
  await sendChanges();
  if (!changes.busy) showControls(controls.list); // what came of the server meanwhile
}
function change(key, value) {
  changes.waiting = { ...changes.waiting, [key]: value };
  sendChanges();
}

// ---------------------------------------------------------------------------------------------------------- sliders
const SIZES = Array.from({ length: 29 }, (_, i) => 2 ** (24 + i / 2)); // 16 MiB to 256 GiB
const FACTORS = [0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8];
const COUNTS = { count: [1, 24], cores: [1, 64] };
const nearest = (values, wanted) => values.reduce((best, value, i) => (Math.abs(Math.log(value / wanted)) < Math.abs(Math.log(values[best] / wanted)) ? i : best), 0);
const asMib = size => `${Math.round(size / 2 ** 20)} MiB`;
const BYTES_OF = { ...Object.fromEntries(BYTE_UNITS), kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const RATES_OF = Object.fromEntries(Object.entries(BYTES_OF).map(([unit, size]) => [`${unit}/s`, size]));
function quantity(text, units) {
  const [, number, unit] = /^\s*([\d._]+)\s*(\S+)\s*$/.exec(text ?? '') ?? [];
  return units[unit] ? Number(number.replaceAll('_', '')) * units[unit] : null;
}

/** A slider with what it stands at; `text` says a place of it, `send` takes it. What is shown may lie between its places, or beyond them. */
function slider(id, most, text, send) {
  const output = element('output', { htmlFor: id });
  const input = element('input', { id, type: 'range', min: 0, max: most, step: 1 });
  const say = said => { output.textContent = said ?? text(Number(input.value)); input.ariaValueText = output.textContent; };
  input.addEventListener('input', () => { say(); send(Number(input.value)); });
  return { output, input, set(place, said) { input.value = place; say(said); } };
}

/** Caps and caches that can be dragged as well as typed: the places of a slider behind its first, which leaves them out. */
const doubled = (first, count) => Array.from({ length: count }, (_, i) => first * 2 ** i);
const DRAGGED = {
  iops: { values: doubled(500, 11), sent: rate => rate, read: Number },
  throughput: { values: doubled(25e6, 9), sent: rate => `${rate / 1e6} MB/s`, read: text => quantity(text, RATES_OF) },
  cache: { values: doubled(2 ** 25, 10), sent: asMib, read: text => quantity(text, BYTES_OF) },
};

/** A slider below a field, for the same key. */
function dragged(control, input) {
  const { values, sent, read } = DRAGGED[control.key.split('.').at(-1)];
  const value = place => (place ? sent(values[place - 1]) : null);
  const said = place => String(value(place) ?? control.default);
  const own = slider(`${control.key}-drag`, values.length, said, place => { input.value = value(place) ?? ''; change(control.key, value(place)); });
  own.input.ariaLabel = `${control.label}, to drag`;
  return { input: own.input, show: now => { const found = known(now) && read(now); own.set(found ? 1 + nearest(values, found) : 0, String(now ?? control.default)); } };
}

function field(control) {
  const number = control.kind === 'count';
  const input = element('input', { id: control.key, type: number ? 'number' : 'text', placeholder: control.default, spellcheck: false, ...(number ? { min: 1 } : {}) });
  input.addEventListener('input', () => { controls.typed = input; });
  input.addEventListener('blur', () => { controls.typed = null; });
  input.addEventListener('change', () => {
    controls.typed = null;
    const text = input.value.trim();
    change(control.key, text === '' ? null : number ? Number(text) : text);
  });
  return input;
}

function madeSlider(control) {
  const last = control.key.split('.').at(-1);
  if (control.kind === 'factor') {
    const own = slider(control.key, FACTORS.length - 1, place => `${FACTORS[place]} × recorded`, place => change(control.key, FACTORS[place]));
    return { ...own, show: value => own.set(nearest(FACTORS, value ?? 1), `${value ?? 1} × recorded`) };
  }
  if (control.kind === 'count' && COUNTS[last]) {
    const [low, high] = COUNTS[last];
    const own = slider(control.key, high - low, place => String(low + place), place => change(control.key, low + place));
    return { ...own, show: value => own.set((value ?? low) - low, String(value ?? control.default)) };
  }
  if (last === 'buffer_pool') {
    const own = slider(control.key, SIZES.length - 1, place => bytes(SIZES[place]), place => change(control.key, asMib(SIZES[place])));
    return { ...own, show: value => { const size = quantity(value, BYTES_OF); own.set(nearest(SIZES, size ?? 2 ** 27), size ? bytes(size) : value ?? control.default); } };
  }
  return null;
}

// The catalogue's token buckets are drives of cloud instances; how they are limited is no kind of drive.
const kindOf = one => ({ 'cloud-volume': 'cloud volume', 'token-bucket': 'local drive of an instance' }[one.kind] ?? one.kind);

function specification(name) {
  const one = explored.devices.find(device => device.id === name);
  if (!one) return '';
  return [
    kindOf(one), one.interface, known(one.capacity_bytes) ? bytes(one.capacity_bytes) : null,
    known(one.random_read_ns) ? `8 KiB read ${duration(one.random_read_ns / 1e3)}` : null,
    known(one.random_reads_per_s) ? `${whole.format(one.random_reads_per_s)} reads/s` : null,
    known(one.price) ? `${whole.format(one.price)} USD (${one.price_date})` : 'price unknown',
  ].filter(known).join(' · ');
}

function made(control) {
  const own = madeSlider(control);
  if (own) return { node: element('label', { htmlFor: control.key }, control.label, own.output, own.input), input: own.input, show: own.show };
  if (control.kind === 'choice') {
    const input = element('select', { id: control.key }, control.choices.map(one => new Option(one, one)));
    input.addEventListener('change', () => change(control.key, input.value));
    return { node: element('label', {}, control.label, input), input, show: value => { input.value = value; } };
  }
  const input = field(control);
  const details = control.kind === 'device' ? element('p', { className: 'specification' }) : null;
  if (details) input.setAttribute('list', 'devices');
  const drag = DRAGGED[control.key.split('.').at(-1)] ? dragged(control, input) : null;
  return {
    node: element('div', {}, element('label', {}, control.label, input), drag?.input, details, details ? element('button', { type: 'button', className: 'copy', onclick: () => openCatalogue(control.key) }, 'Choose from the catalogue') : null), input,
    show: value => { input.value = value ?? ''; drag?.show(value); },
    describe: value => { if (details) details.textContent = specification(value); },
  };
}

const controls = { keys: '', made: new Map(), list: [], typed: null };
/** Shows the controls of the draft; a field in which somebody types keeps what was not sent yet. */
function showControls(list) {
  const keys = list.map(({ key, kind }) => `${key}/${kind}`).join(' ');
  if (keys !== controls.keys) {
    const focused = document.activeElement?.id;
    controls.keys = keys;
    controls.made = new Map(list.map(control => [control.key, made(control)]));
    const groups = Object.groupBy(list, ({ group }) => group);
    $('settings').replaceChildren(...Object.entries(groups).map(([group, own]) => element('fieldset', {},
      element('legend', {}, group), own.map(({ key }) => controls.made.get(key).node))));
    if (controls.made.has(focused)) $(focused).focus();
  }
  controls.list = list;
  if (changes.busy || changes.waiting || version < changes.version) return; // what is on its way is newer
  for (const { key, value } of list) {
    const { input, show, describe } = controls.made.get(key);
    describe?.(value);
    if (controls.typed !== input) show(value);
  }
}
