// When charts are drawn: at first those in view, the others one by one when nothing else is to be done; later all that change. On paper all are.
// What a chart is to show stands in `waiting` until it is drawn; whoever asks the chart for its numbers finds the new ones at once.
const MOST_WAIT_MS = 100;
const waiting = new Map();
let asked = false;
let resting = false;

/** Has a chart drawn soon. `root.dataset.drawn` says that none waits. */
function drawSoon(id, traces, how) {
  const { plot } = figures[id];
  Object.assign(plot, { data: traces, layout: how });
  waiting.set(id, { plot, traces, how });
  delete root.dataset.drawn;
  if (!asked) queueMicrotask(drawWaiting);
  asked = true;
}

function drawOne(id, width) {
  const { plot, traces, how } = waiting.get(id);
  waiting.delete(id);
  if (!plot.isConnected) return; // its sweep is no longer shown
  Plotly.react(plot, traces, width ? { ...how, width } : how, CONFIG);
  plot.querySelectorAll('svg').forEach(drawn => drawn.setAttribute('aria-hidden', true)); // its title, what is to be seen in it and its numbers are text
  (plot.heard ?? []).splice(0).forEach(([event, listener]) => plot.on(event, listener));
}

/** Plotly gives what it has drawn its own methods. */
const isDrawn = plot => 'on' in plot;

/** Width of a chart, and whether a part of it is in view. */
function measured(id) {
  const { plot } = waiting.get(id);
  const { top, bottom } = plot.getBoundingClientRect();
  return { id, width: plot.clientWidth, inView: bottom > 0 && top < innerHeight };
}

/** Draws what is in view or was drawn before, on paper all. All are measured before one is drawn: what is drawn makes the next measure dear. */
function drawWaiting() {
  asked = false;
  [...waiting.keys()].map(measured).filter(({ id, inView }) => inView || isDrawn(figures[id].plot) || printing()).forEach(({ id, width }) => drawOne(id, width));
  drawRest();
}

const whenIdle = work => (window.requestIdleCallback ? requestIdleCallback(work, { timeout: MOST_WAIT_MS }) : setTimeout(work));

/** One chart after the other; what was scrolled into view meanwhile comes first. */
function drawRest() {
  if (!waiting.size) root.dataset.drawn = '1';
  else if (!resting) {
    resting = true;
    whenIdle(() => {
      resting = false;
      const left = [...waiting.keys()].map(measured);
      const next = left.find(({ inView }) => inView) ?? left[0];
      if (next) drawOne(next.id, next.width);
      drawRest();
    });
  }
}

/** Calls back when something happens to a chart, also to one that is not drawn yet. */
function listen(id, event, listener) {
  const { plot } = figures[id];
  if (isDrawn(plot)) plot.on(event, listener);
  else (plot.heard ??= []).push([event, listener]);
}
