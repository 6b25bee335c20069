// Databases on arrays: a card for each array, in which a bar shows how much of it each of its databases takes.
const FILLED = { 'busiest part': 'Busiest part (each alone, added up)', room: 'Room', cores: 'Cores', memory: 'Memory' };
const arraysOf = ({ arrays }) => `${arrays.length} ${arrays.length === 1 ? 'array' : 'arrays'}`;
const costOf = ({ cost, currency, years }) => `${whole.format(cost)}${NBSP}${currency ?? ''}${known(years) ? ` over ${count(years)} years` : ''}`;
const colourOf = place => `var(--series-${place % COLOURS})`;

function packSaid(pack) {
  if (pack.homeless.length) return `${list(pack.homeless.map(one => one.tenant))} ${pack.homeless.length === 1 ? 'does' : 'do'} not fit on any candidate.`;
  if (!pack.arrays.length) return 'No candidate carries all databases.';
  const kinds = new Map();
  for (const one of pack.arrays) kinds.set(one.candidate, (kinds.get(one.candidate) ?? 0) + 1);
  const doubt = pack.arrays.some(one => one.doubts.length) ? ' In doubt (why, below the databases).' : '';
  return `On ${arraysOf(pack)} for ${costOf(pack)}: ${list([...kinds].map(([name, number]) => (number > 1 ? `${number} of ${name}` : name)))}.${doubt}`;
}

function fillBar(one, of) {
  const shares = one.tenants.map(name => one.filled[of][name] ?? 0);
  const used = shares.reduce((a, b) => a + b, 0);
  const said = `${FILLED[of] ?? of}: ${one.tenants.map((name, i) => `${name} ${percent(shares[i])}`).join(', ')}`;
  return [
    element('div', { className: 'row' }, element('dt', {}, FILLED[of] ?? of), element('dd', {}, percent(used))),
    element('div', { className: 'filled', role: 'img', ariaLabel: said, title: said }, shares.map((share, i) => {
      const part = element('span');
      part.style.width = `${100 * share / Math.max(used, 1)}%`;
      part.style.background = colourOf(i);
      part.style.opacity = strength(i);
      return part;
    })),
  ];
}

function tightestOf(one, name) {
  const found = (one.targets[name] ?? []).filter(({ used }) => known(used)).sort((a, b) => b.used - a.used)[0];
  return found ? `${found.text}${found.used ? `: at ${percent(found.used)}` : ''}` : '';
}

function markOf(place) {
  const mark = area(colourOf(place));
  mark.style.opacity = strength(place);
  return mark;
}

function arrayCard(one, currency) {
  return element('article', { className: 'card' },
    element('h3', {}, element('bdi', {}, one.candidate), element('small', {}, `${whole.format(one.cost)}${NBSP}${currency ?? ''}`)),
    element('dl', {}, Object.keys(one.filled).flatMap(of => fillBar(one, of))),
    element('ul', {}, one.tenants.map((name, i) => element('li', {}, markOf(i), element('span', {}, element('bdi', {}, name), element('small', {}, tightestOf(one, name)))))),
    element('div', { className: 'explanation' }, one.doubts.map(({ tenants, why }) => element('p', {}, `In doubt: ${tenants.join(', ')}: ${why}.`))));
}

function packFigure(pack) {
  const homeless = pack.homeless.flatMap(({ tenant, why }) => Object.entries(why).map(([candidate, text]) => [tenant, candidate, text]));
  const refused = pack.refused.map(one => [one.candidate, one.tenants.join(', '), one.why]);
  return [
    element('p', { className: 'note' }, pack.arrays.length
      ? `${pack.name}: ${arraysOf(pack)}, ${costOf(pack)}. A colour is what one database takes of an array; below its name, the target that is nearest to its limit.`
      : `${pack.name}: ${packSaid(pack)}`),
    pack.arrays.length ? element('div', { className: 'cards arrays' }, pack.arrays.map(one => arrayCard(one, pack.currency))) : null,
    homeless.length ? element('div', { className: 'scroll', tabIndex: 0 }, table(['Database', 'Candidate', 'Why it does not fit'], homeless, { className: 'numbers words' })) : null,
    refused.length ? element('details', {}, element('summary', {}, 'Placements that were simulated and failed'),
      element('div', { className: 'scroll', tabIndex: 0 }, table(['Array', 'Databases', 'Why they cannot share it'], refused, { className: 'numbers words' }))) : null,
  ];
}

function addPacks() {
  if (!packs.length) return;
  $('pack-section').hidden = false;
  $('pack-figures').replaceChildren(...packs.flatMap(packFigure).filter(known));
}
