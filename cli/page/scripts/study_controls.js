// The bar above the charts: a slider for every axis of numbers, a selector for every other one, and whose latency is shown.
const labelled = (text, control, output) => element('label', {}, text, output ? [' ', output] : null, control);

function axisControl(axis) {
  const move = i => choose({ at: { [axis.key]: i } });
  const id = `axis-of-${axis.key}`;
  if (axis.values.length < 2) return null;
  if (axis.numbers) {
    const output = element('output', { htmlFor: id });
    const slider = element('input', { type: 'range', id, min: 0, max: axis.order.length - 1, step: 1 });
    slider.addEventListener('input', () => move(axis.order[Number(slider.value)]));
    axis.sync = () => {
      slider.value = axis.order.indexOf(place(axis));
      output.textContent = valueText(axis, place(axis));
      slider.setAttribute('aria-valuetext', valueText(axis, place(axis)));
    };
    return labelled(axisName(axis), slider, output);
  }
  const choice = element('select', { id }, axis.values.map((value, i) => new Option(value, i)));
  choice.addEventListener('change', () => move(Number(choice.value)));
  axis.sync = () => { choice.value = place(axis); };
  return labelled(axisName(axis), choice);
}

const selector = (id, options, change) => {
  const node = element('select', { id }, options.map(([value, text]) => new Option(text, value)));
  node.addEventListener('change', () => change(node.value));
  return node;
};

function buildControls() {
  const ofOptions = [...CLASSES.map(name => [name, capital(plural(name))]), ...QUERIES.map(query => [`${QUERY}${query.id}`, cut(query.label, 60)])];
  $('study-controls').replaceChildren(...[
    sweeps.length > 1 ? labelled('Sweep', selector('study-sweep', sweeps.map((one, i) => [i, one.name]), value => {
      chosen.sweep = Number(value);
      chosen.at = {};
      AXES = axesNow();
      buildControls();
      buildAxisFigures();
      buildPointsTable();
      return choose({});
    })) : null,
    ...AXES.map(axisControl),
    ofOptions.length ? labelled('Latency of', selector('study-of', ofOptions, of => choose({ of }))) : null,
    ofOptions.length ? labelled('Figure', selector('study-statistic', Object.entries(STATISTICS), statistic => choose({ statistic }))) : null,
    mrcs.length && curveNames().length > 1 ? labelled('References', selector('study-curve', curveNames().map((name, i) => [i, cut(name, 60)]), value => choose({ curve: Number(value) }))) : null,
    sizes.length > 1 ? labelled('Search', selector('study-size', sizes.map((one, i) => [i, one.name]), value => choose({ size: Number(value), candidate: firstOf(sizes[value]) }))) : null,
    sizes.length ? labelled('Candidate', selector('study-candidate', size().candidates.map((one, i) => [i, one.name]), value => choose({ candidate: Number(value), source: 'size' }))) : null,
  ].filter(known));
}

function syncControls() {
  AXES.forEach(axis => axis.sync?.());
  const values = { 'study-sweep': chosen.sweep, 'study-of': chosen.of, 'study-statistic': chosen.statistic, 'study-curve': chosen.curve, 'study-size': chosen.size, 'study-candidate': chosen.candidate };
  Object.entries(values).forEach(([id, value]) => { if ($(id)) $(id).value = value; });
  if ($('point-source')) $('point-source').value = source();
}
