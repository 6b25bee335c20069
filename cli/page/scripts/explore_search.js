// The cheapest hardware that meets a target, and why a latency is what it is.
const MOST_CANDIDATES = 8;
const money = cost => (cost && known(cost.total) ? `${whole.format(cost.total)} ${cost.currency}${cost.price_date ? ` (${cost.price_date})` : ''}` : 'unknown');

function candidateRow(one) {
  const use = one.status === 'chosen' || one.status === 'meets'
    ? element('button', { type: 'button', className: 'copy', ariaLabel: `Use ${one.name}`, onclick: () => useCandidate(one.settings) }, 'Use it') : one.why.join('; ');
  return element('tr', {}, element('th', { scope: 'row' }, one.name), element('td', {}, money(one.cost)), element('td', {}, use));
}

async function useCandidate(settings) {
  const typed = Object.entries(settings).map(([key, text]) => [key, /^\d+$/.test(text) ? Number(text) : text]);
  const { error } = await ask('/change', { settings: Object.fromEntries(typed) });
  sayProblem(error);
}

/** Says what a search has found, or how far it is. */
function showSearch(search) {
  if (!search) return;
  if (search.error) return $('found').replaceChildren(element('p', { className: 'problem' }, search.error));
  const found = search.document;
  if (!found) return $('found').replaceChildren(element('p', { className: 'hint' }, search.done ? `${search.done} of ${search.total} candidates tried.` : 'The search waits for the whole recording.'));
  const good = found.candidates.filter(one => one.status === 'chosen' || one.status === 'meets');
  const failed = found.candidates.filter(one => one.status === 'fails' && one.row);
  const notes = [
    search.stale ? 'The scenario was changed since: search again for the one that it is now.' : null,
    search.on_sample ? 'They were judged on the sample: use one to see the whole recording on it.' : null,
    search.kept.length ? `In front of each stays, without its price: ${list(search.kept)}.` : null,
    'The others fail for sure, or cost more than one that meets it.',
    failed.length > MOST_CANDIDATES ? `Of ${failed.length} that failed, the last ${MOST_CANDIDATES} are listed.` : null,
  ].filter(known);
  const doubts = found.candidates.find(one => one.name === found.chosen)?.doubts ?? [];
  const said = found.chosen ? `${found.chosen} is the cheapest that meets ${search.target}; ${found.simulated} of ${found.candidates.length} candidates were simulated.${doubts.length ? ` In doubt: ${doubts.join('; ')}.` : ''}`
    : `No candidate meets ${search.target}; ${found.simulated} of ${found.candidates.length} were simulated.`;
  $('found').replaceChildren(
    element('p', { className: 'hint' }, [said, ...notes].join(' ')),
    element('table', { className: 'found' }, element('thead', {}, element('tr', {}, ['Candidate', 'Price', 'Outcome'].map(text => element('th', { scope: 'col' }, text)))),
      element('tbody', {}, [...good, ...failed.slice(-MOST_CANDIDATES)].map(candidateRow))));
}

async function startSearch() {
  const { error } = await ask('/search', { target: $('target').value });
  if (error) $('found').replaceChildren(element('p', { className: 'problem' }, error));
}

const scrolled = (label, node) => element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: label }, node);

/** Says of the selected scenario where its time goes, what bounds it, and what would shorten it. */
function showWhy() {
  const found = data.why?.[selected().index];
  $('why').hidden = !found;
  if (!found) return;
  $('why-title').textContent = `Why: ${plural(found.of)} on ${selected().name}`;
  const parts = found.parts.map(one => [partWord(one.part), duration(one.ns / 1e3), percent(one.share)]);
  const busy = found.stations.map(one => [one.part, percent(one.utilisation), known(one.time_there_ns) ? duration(one.time_there_ns / 1e3) : '–', known(one.waiting_share) ? percent(one.waiting_share) : '–']);
  $('why-text').replaceChildren(...[
    element('p', { className: 'reading' }, found.bound),
    parts.length ? scrolled('Parts of the mean', table(['Part of the mean', 'Time', 'Share'], parts)) : null,
    busy.length ? scrolled('Busiest parts', table(['Busiest parts', 'Busy', 'Time there', 'Of it waiting'], busy)) : null,
    ...found.changes.map(text => element('p', { className: 'reading' }, text)),
  ].filter(known));
}

/** A bar or a cell that was clicked leads to the reasons; a bar of another scenario selects that one. */
function explainClicks() {
  for (const id of ['spent', 'blame', 'stations', 'ratios']) {
    if (!figures[id]) continue;
    listen(id, 'plotly_click', ({ points: [{ customdata: index }] }) => {
      if (known(index) && index !== state.scenario) select({ scenario: index });
      $('why').scrollIntoView({ block: 'start' });
      $('why').focus({ preventScroll: true });
    });
  }
}
