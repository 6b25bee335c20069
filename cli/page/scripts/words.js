const NBSP = '\u00a0';
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const known = value => value !== null && value !== undefined;
const significant = value => {
  const size = Math.abs(value);
  if (size >= 99.95) return whole.format(value);
  return value === 0 ? '0' : value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(size) + 1e-9)));
};
const count = value => {
  if (value >= 9.95 || Number.isInteger(value)) return whole.format(value);
  return value < 1 ? String(Number(value.toPrecision(2))) : significant(value);
};
const trimmed = value => significant(value).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
const percent = share => {
  const value = share * 100;
  const text = value > 0 && value < 0.1 ? `<${NBSP}0.1` : value > 0 && value < 9.95 ? value.toFixed(1) : whole.format(value);
  return text + NBSP + '%';
};
const BYTE_UNITS = [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]];
const bytes = value => {
  const [unit, factor] = BYTE_UNITS.find(([, size]) => value >= size) ?? BYTE_UNITS.at(-1);
  return trimmed(value / factor) + NBSP + unit;
};
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);
const list = items => new Intl.ListFormat('en').format(items);

const UNITS = [['s', 1e6], ['ms', 1e3], ['µs', 1], ['ns', 1e-3]];
const unitOf = us => UNITS.find(([, factor]) => us >= factor * 0.9995) ?? UNITS.at(-1);
const duration = us => {
  const [unit, factor] = unitOf(us);
  return significant(us / factor) + NBSP + unit;
};
const shortDuration = us => {
  const [unit, factor] = unitOf(us);
  return trimmed(us / factor) + NBSP + unit;
};
/** The interval of a resolved figure; nothing where it is narrower than the digits shown. */
const spread = (figure, us) => {
  if (!known(figure.low) || !known(figure.high)) return '';
  const factor = unitOf(us)[1];
  const [low, high] = [figure.low, figure.high].map(ns => significant(ns / 1e3 / factor));
  return low === high ? '' : `${low}–${high}`;
};
/** Both ends of a range, in one unit where the lower end can be read in it. */
const ends = (low, high) => {
  const [unit, factor] = unitOf(high);
  return [low === 0 || low >= factor / 10 ? significant(low / factor) : duration(low), significant(high / factor) + NBSP + unit];
};

const TIME_UNITS = [['h', 3600, 18000], ['min', 60, 600], ['s', 1, 0]];
const timeUnit = span => TIME_UNITS.find(([, , from]) => span >= from);
const moment = seconds => {
  const [unit, factor] = timeUnit(spanShown());
  return trimmed(seconds / factor) + NBSP + unit;
};
const span = seconds => {
  const [unit, factor] = TIME_UNITS.find(([, size]) => seconds >= size * 2) ?? TIME_UNITS.at(-1);
  return trimmed(seconds / factor) + NBSP + unit;
};
