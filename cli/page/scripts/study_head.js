// What the studies answer, in sentences, and what they are of.
/** That models have been off by more than the chosen candidate has to spare, and the cheapest of which that is not so. */
function doubtOf(one) {
  if (!one.in_doubt) return '';
  const sure = size().candidates.find(each => ['chosen', 'meets'].includes(each.status) && !each.in_doubt);
  return ` In doubt (why, in the table). ${sure ? `The cheapest simulated candidate without a doubt: ${sure.name}.` : 'No simulated candidate is without a doubt.'}`;
}

function leadOfStudies() {
  const answers = [];
  if (sizes.length) {
    const { chosen: best, candidates, targets } = size();
    const one = candidates.find(each => each.name === best);
    const others = candidates.filter(each => each.status === 'meets').length;
    answers.push(['What should be bought?', one ? `${one.name}, ${money(one.cost)}: ${size().cheapest ? `the cheapest of ${candidates.length} candidates that meets` : `most throughput for its cost of those of ${candidates.length} candidates that meet`} ${targets.join(' and ')}. ${others ? `${others === 1 ? 'One other meets' : `${others} others meet`} it too.` : 'No other that was simulated meets it.'}${doubtOf(one)}` : `None of ${candidates.length} candidates meets ${targets.join(' and ')}.`]);
  }
  for (const pack of packs) answers.push(['Where does each database go?', packSaid(pack)]);
  if (loads.length) {
    const said = loads.map(load => {
      const name = load.scenario || load.name;
      if (!load.largest) return `${name}: its clients wait for answers, so no load is too much`;
      const [value, low, high] = load.largest;
      const limit = known(value) ? `${significant(value)}${NBSP}×` : known(low) ? `more than ${significant(low)}${NBSP}×` : `less than ${significant(high)}${NBSP}×`;
      return `${name} sustains ${limit} the recorded load${onCredits(load)}${load.limited_by ? `; ${load.limited_by} is its limit` : ''}`;
    });
    answers.push(['How much more can it carry?', `${said.join('; ')}.`]);
  }
  if (sweeps.length) answers.push(['What would change it?', sweepAnswer()]);
  if (mrcs.length) {
    const knees = mrcs[0].knees.map(knee => `${bytes(knee.cache_bytes)} (${percent(knee.miss_ratio)} missed)`);
    answers.push(['How large should the cache be?', knees.length ? `The curve of ${nameOfMrc(mrcs[0])} bends at ${list(knees)}; beyond its last knee more memory buys little.` : `The curve of ${nameOfMrc(mrcs[0])} has no knee: ${mrcReading()}`]);
  }
  return answers;
}

/** By how much each axis moves the latency that is looked at, at what is chosen on the others. */
function sweepAnswer() {
  const said = shownAxes().map(([one]) => {
    const points = axisPoints(one, null, null).filter(({ us }) => known(us));
    if (points.length < 2) return null;
    const [best, worst] = [points.reduce((a, b) => (b.us < a.us ? b : a)), points.reduce((a, b) => (b.us > a.us ? b : a))];
    return { text: `${axisName(one).toLowerCase()} moves it between ${duration(best.us)} (${valueText(one, best.i)}) and ${duration(worst.us)} (${valueText(one, worst.i)})`, factor: worst.us / best.us };
  }).filter(known).sort((a, b) => b.factor - a.factor);
  return said.length ? `From the chosen point on, the ${STATISTICS[chosen.statistic]} of ${ofWord(chosen.of)}: ${said.map(one => one.text).join('; ')}.` : `The ${STATISTICS[chosen.statistic]} of ${ofWord(chosen.of)} is resolved at too few points around the chosen one.`;
}

function drawStudyHead() {
  const lead = data.scenarios ? $('study-lead') : $('lead');
  $('study-lead').hidden = !data.scenarios;
  lead.replaceChildren(...leadOfStudies().map(([question, said]) => element('div', {}, element('dt', {}, question), element('dd', {}, said))));
  if (data.scenarios) return;
  const traces = [...new Set([...sweeps, ...mrcs, ...loads, ...sizes].map(one => one.trace.name).filter(Boolean))];
  $('facts').textContent = traces.length ? `Trace ${list(traces)}` : '';
  $('footer').textContent = 'Made by tiersim report · this page contains all its data and loads nothing from a network';
}

function drawStudyKnown() {
  const of = one => (one.trace.name ? `trace ${one.trace.name}${one.trace.hash ? ` ${one.trace.hash.slice(0, 12)}` : ''}` : 'trace not named');
  const entries = [
    ...sweeps.map(one => [`Sweep ${one.name}: ${one.axes.map(axis => `${axis.values.length} × ${axis.key}`).join(', ') || 'one point'}${one.replications > 1 ? `, ${one.replications} replications` : ''}.`, of(one)]),
    ...mrcs.map(one => [`Miss ratios ${one.name}: ${one.policy}, ${one.method}${known(one.references) ? `, ${whole.format(one.references)} references` : ''}${known(one.distinct_pages) ? ` to ${whole.format(one.distinct_pages)} pages` : ''}${known(one.page_bytes) ? ` of ${bytes(one.page_bytes)}` : ''}.${one.recorded.beyond ? ` Beyond the recorded size: ${one.recorded.beyond}` : ''}`, of(one)]),
    ...mrcs.flatMap(one => one.notes.map(text => [capital(text) + '.', `of the miss ratios ${one.name}`])),
    ...loads.map(one => [`Load ${one.name} on ${one.scenario || 'one scenario'}: ${one.points.length} loads.${one.largest_basis ? ` Largest sustainable load: ${one.largest_basis}.` : ''}`, of(one)]),
    ...sizes.map(one => [`Search ${one.name}: ${one.candidates.length} candidates${known(one.simulated) ? `, ${whole.format(one.simulated)} simulated` : ''}.`, of(one)]),
    ...packs.map(one => [`Placement ${one.name}${one.growth ? `, with ${percent(one.growth)} more load and data` : ''}${one.failed_drive ? ', also with a failed drive' : ''}. Assumed: ${one.assumed}.`, 'tiersim pack']),
    ...packs.flatMap(one => [...new Set(one.arrays.flatMap(array => array.caveats))].map(text => [`${capital(text)}.`, `of the placement ${one.name}`])),
  ];
  entries.push(...[...new Set(sweeps.flatMap(one => one.points).filter(point => point.not_run).map(ranInstead))].map(text => [`${text}.`, 'the points of the sweep']));
  const points = [...[...sweeps, ...loads].flatMap(one => one.points), ...sizes.flatMap(one => one.candidates.map(each => each.point)).filter(known)];
  const calibrations = new Set(points.map(point => point.verdict?.calibration));
  const warnings = { none: 'Not calibrated. Describe the recorded hardware (--recorded-on) to check the model against the recording.', uncalibrated: 'Calibration failed: the model of the recorded hardware does not give the recorded latencies.' };
  entries.push(...Object.entries(warnings).filter(([of]) => calibrations.has(of)).map(([, text]) => [[verdictIcon('behind', 'warning'), ` ${text}`], 'the verdict of the points']));
  if (points.some(point => point.in_doubt)) entries.push(['In doubt: the expected error of throughput is unknown, or so large that the other verdict on load may be true.', 'the verdict of the points']);
  entries.push(['Every latency, rate and utilisation here is simulated. 80 % intervals show only the random variation of a run; the model error is not in them.', 'tiersim']);
  $('study-known').replaceChildren(...entries.map(([text, where]) => element('li', {}, text, element('small', { className: 'source' }, where))));
}
