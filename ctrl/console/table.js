// table.js - a table of any number of rows, of which a page is in the document: filter, order and pages by keyboard.
//
// Rows are used again by their place, and a cell is written only when its text changes: focus and selection outlast a refresh.

import { make, setText } from "./dom.js";

const PAGE_ROWS = 50;

/** A cell's value is a text, or {text, href, kind, part}: a link, a kind (good, warn, bad), the part of a bar. */
function fill(cell, value) {
  const { text, href, kind, part } = typeof value === "object" && value !== null ? value : { text: value };
  let place = cell.firstElementChild;
  if (!place || (place.tagName === "A") !== Boolean(href)) {
    place = make(href ? "a" : "span");
    cell.replaceChildren(place);
  }
  if (href && place.getAttribute("href") !== href) place.setAttribute("href", href);
  setText(place, String(text ?? "-"));
  place.className = kind ?? "";
  if (part === undefined) return;
  const bar = cell.children[1] ?? cell.appendChild(make("span", { class: "bar", "aria-hidden": "true" }, make("span")));
  bar.firstElementChild.style.width = `${Math.round(100 * Math.min(Math.max(part || 0, 0), 1))}%`;
}

export class Table {
  /**
   * @param columns {title, value(row), order(row)?, number?}; `order` makes the column sortable
   * @param words of a row, for the filter @param empty text for no rows @param isSecond it has a heading of its own
   */
  constructor({ title, columns, words, empty = "none", isSecond = false }) {
    this.columns = columns;
    this.words = words;
    this.empty = empty;
    this.rows = [];
    this.first = 0;
    this.column = null;
    this.falls = false;
    this.input = make("input", { type: "search", "aria-label": `Filter ${title}`, placeholder: "Filter", on: { input: () => this.turnTo(0) } });
    this.summary = make("span", { class: "summary", role: "status" });
    this.back = make("button", { type: "button", on: { click: () => this.turnTo(this.first - PAGE_ROWS) } }, "Previous");
    this.next = make("button", { type: "button", on: { click: () => this.turnTo(this.first + PAGE_ROWS) } }, "Next");
    this.body = make("tbody");
    this.heads = columns.map((column, place) => this.head(column, place));
    this.table = make("table", { "aria-label": title }, make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    this.element = make("div", { class: "table" }, isSecond ? make("h3", {}, title) : null,
      make("div", { class: "tools" }, words ? this.input : null, this.summary, this.back, this.next), this.table);
  }

  head(column, place) {
    const title = column.order
      ? make("button", { type: "button", class: "order", on: { click: () => this.sort(place) } }, column.title)
      : column.title;
    return make("th", { scope: "col", class: column.number ? "number" : null }, title);
  }

  sort(place) {
    const column = this.columns[place];
    this.falls = this.column === column ? !this.falls : Boolean(column.number);
    this.column = column;
    this.heads.forEach((head, each) => {
      if (each === place) head.setAttribute("aria-sort", this.falls ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.turnTo(0);
  }

  turnTo(first) {
    this.first = Math.max(0, first);
    this.draw();
  }

  set filter(text) {
    this.input.value = text;
    this.turnTo(0);
  }

  update(rows) {
    this.rows = rows;
    this.draw();
  }

  shown() {
    const wanted = this.input.value.trim().toLowerCase();
    const rows = this.words && wanted ? this.rows.filter((row) => this.words(row).toLowerCase().includes(wanted)) : [...this.rows];
    const { order } = this.column ?? {};
    if (!order) return rows;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return rows.sort((a, b) => (this.falls ? compare(order(b), order(a)) : compare(order(a), order(b))));
  }

  draw() {
    const rows = this.shown();
    while (this.first >= rows.length && this.first > 0) this.first = Math.max(0, this.first - PAGE_ROWS);
    const page = rows.slice(this.first, this.first + PAGE_ROWS);
    while (this.body.children.length > page.length) this.body.lastChild.remove();
    page.forEach((row, place) => this.drawRow(row, place));
    const of = rows.length === this.rows.length ? "" : ` (of ${this.rows.length})`;
    const counted = this.words ? `${this.first + 1}-${this.first + page.length} of ${rows.length}${of}` : "";
    setText(this.summary, rows.length === 0 ? `${this.empty}${of}` : counted);
    this.table.hidden = rows.length === 0;
    this.back.hidden = this.next.hidden = rows.length <= PAGE_ROWS;
    this.back.disabled = this.first === 0;
    this.next.disabled = this.first + PAGE_ROWS >= rows.length;
  }

  drawRow(row, place) {
    if (place >= this.body.children.length)
      this.body.append(make("tr", {}, ...this.columns.map((column, at) =>
        make(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, "data-title": column.title, class: column.number ? "number" : null }))));
    const cells = this.body.children[place].children;
    this.columns.forEach((column, at) => fill(cells[at], column.value(row)));
  }
}
