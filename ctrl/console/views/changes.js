// changes.js - the audit trail: time, author, and the values before and after each change; new entries come by themselves.

import { get } from "../api.js";
import { make } from "../dom.js";
import { count, time } from "../format.js";
import { routes } from "../routes.js";
import { Table } from "../table.js";

const LAST = 500;

function valuesText(entry) {
  const lines = (entry.changes ?? []).map(({ path, before, now }) => `${path}: ${before || "nothing"} -> ${now || "nothing"}`);
  const others = (entry.changes_in_all ?? 0) - lines.length;
  return [...lines, ...(others > 0 ? [`and ${others} more`] : [])].join("\n");
}

function table() {
  return new Table({
    title: "Changes",
    words: (entry) => `${time(entry.time)} ${entry.kind} ${entry.peer ?? ""} ${entry.text} ${valuesText(entry)}`,
    columns: [
      { title: "Time", value: (entry) => ({ text: time(entry.time), kind: "time" }), order: (entry) => entry.number },
      { title: "Kind", value: (entry) => entry.kind, order: (entry) => entry.kind },
      { title: "Author", value: (entry) => entry.peer ?? "the controller", order: (entry) => entry.peer ?? "" },
      { title: "Revision", number: true, value: (entry) => count(entry.revision), order: (entry) => entry.revision ?? 0 },
      { title: "Event", value: (entry) => ({ text: entry.text, kind: "note" }) },
      { title: "From -> to", value: (entry) => ({ text: valuesText(entry) || "-", kind: "note" }) },
    ],
  });
}

export const changes = {
  id: "changes",
  title: "Changes",
  open(section, { filter, refresh }) {
    const rows = table();
    const choice = make("input", { type: "checkbox", on: { change: refresh } });
    const more = make("p", { class: "dim", hidden: true }, `These are the last ${LAST}; weirctl audit has all.`);
    rows.filter = filter;
    section.append(make("p", {}, make("label", {}, choice, " operators' changes alone")), rows.element, more);
    return {
      async update() {
        const data = await get(routes.audit(LAST, choice.checked));
        more.hidden = !data.more;
        rows.update([...data.entries].reverse());
      },
    };
  },
};
