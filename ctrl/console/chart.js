// chart.js - curves over time, drawn by uPlot in the colors of the style sheet; they follow the width and the color scheme.

import { make } from "./dom.js";
import { clock } from "./format.js";

const HEIGHT = 220;
const SPAN_SECONDS = 60;        // at least
const dark = matchMedia("(prefers-color-scheme: dark)");

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export class Chart {
  /** @param curves {label, color: name of a color of the style sheet, dash?} @param format of values */
  constructor({ title, curves, format }) {
    this.curves = curves;
    this.format = format;
    this.data = [[], ...curves.map(() => [])];
    this.place = make("div", { class: "plot", role: "img", "aria-label": title });
    const legend = make("ul", { class: "legend" });
    this.values = curves.map((curve) => {
      const value = make("span");
      legend.append(make("li", {}, make("span", { class: `sign ${curve.color}`, "aria-hidden": "true" }), `${curve.label} `, value));
      return value;
    });
    this.element = make("figure", {}, make("figcaption", {}, title), this.place, legend);
    this.redraw = () => this.draw();
    this.observer = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.observer.observe(this.place);
    dark.addEventListener("change", this.redraw);
  }

  size() {
    return { width: Math.max(this.place.clientWidth, 200), height: HEIGHT };
  }

  options() {
    const axis = { stroke: color("text"), grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1 } };
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { y: false },
      padding: [null, 34, null, null],
      tzDate: (seconds) => window.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: {
        x: { range: (_, first, last) => [Math.min(first, last - SPAN_SECONDS), last] },
        y: { range: (_, least, most) => [0, Math.max(most, 1) * 1.05] },
      },
      series: [{}, ...this.curves.map((curve) => (
        { label: curve.label, stroke: color(curve.color), width: 2, dash: curve.dash, points: { show: false } }))],
      axes: [{ ...axis, space: 90, values: (_, marks) => marks.map((mark) => clock(new Date(mark * 1000))) },
        { ...axis, size: 90, values: (_, marks) => marks.map((mark) => this.format(mark)) }],
    };
  }

  draw() {
    this.plot?.destroy();
    this.plot = new window.uPlot(this.options(), this.data, this.place);
  }

  /** @param data columns: Unix seconds, then one of each curve; null where there is no value */
  update(data) {
    this.data = data;
    this.values.forEach((value, place) => (value.textContent = this.format(data[place + 1].at(-1) ?? undefined)));
    if (this.plot) this.plot.setData(data);
    else this.draw();
  }

  close() {
    this.observer.disconnect();
    dark.removeEventListener("change", this.redraw);
    this.plot?.destroy();
  }
}
