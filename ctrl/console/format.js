// format.js - values as people read them, and the configuration's quantities ("10Gbit") as numbers.

const STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const NONE = "-";

function scaled(value, unit) {
  const [size, prefix] = STEPS.find(([least]) => Math.abs(value) >= least * 0.9995) ?? [1, ""];
  const number = value / size;
  const digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  return `${Number(number.toFixed(digits))} ${prefix}${unit}`;
}

const orNone = (format) => (value) => (typeof value === "number" && Number.isFinite(value) ? format(value) : NONE);

export const bits = orNone((value) => scaled(value, "bit/s"));
export const tokens = orNone((value) => scaled(value, "tokens/s"));
export const bytes = orNone((value) => scaled(value, "B"));
export const count = orNone((value) => String(Math.round(value)));
export const percent = orNone((value) => `${(100 * value).toFixed(value > 0.995 && value < 1 ? 1 : 0)}%`);
export const money = orNone((value) => value.toFixed(value < 10 ? 4 : 2));
export const milliseconds = orNone((nanoseconds) => `${(nanoseconds / 1e6).toFixed(nanoseconds < 1e8 ? 1 : 0)} ms`);
export const amount = (unit) => (unit === "tokens/s" ? tokens : bits);

/** Unix seconds as UTC, as weirctl prints them. */
export const time = orNone((seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").replace(".000Z", "Z"));
/** Of today the hour alone. */
export function since(seconds) {
  const text = time(seconds);
  return text.slice(0, 10) === new Date().toISOString().slice(0, 10) ? text.slice(11) : text;
}
export const clock = (date) => `${date.toISOString().slice(11, 19)}Z`;

export function span(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

const QUANTITY = /^([0-9.]+)(k|M|G|T)?(bit|B|tokens|s|ms|us|h)$/;
const PREFIXES = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const SECONDS = { s: 1, ms: 1e-3, us: 1e-6, h: 3600 };

/** "2Gbit" is 2e9, "75GB" is 75e9, "600s" is 600; anything else is 0. */
export function quantity(text) {
  const found = QUANTITY.exec(String(text ?? ""));
  return found ? Number(found[1]) * (PREFIXES[found[2]] ?? 1) * (SECONDS[found[3]] ?? 1) : 0;
}

/** Bits per second that a vNIC of the specification is promised. */
export function promised(vnic) {
  const over = quantity(vnic.time);
  return vnic.guarantee_kind === "dynamic" && over > 0 ? (8 * quantity(vnic.size)) / over : quantity(vnic.reservation);
}
