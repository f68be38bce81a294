// vnics.js - all vNICs, and of one of them: its flows, the resources and limits that hold them back, and curves since it was opened.

import { get } from "../api.js";
import { Chart } from "../chart.js";
import { figures, link, make } from "../dom.js";
import { amount, bits, promised, quantity, time } from "../format.js";
import { routes } from "../routes.js";
import { Table } from "../table.js";
import { holdersText } from "./resources.js";

const POINTS = 1800;
const curves = new Map();       // by vNIC, while the page is open: [times, wanted, given, reservation, limit]

function listTable() {
  const limit = (vnic) => (vnic.limit ? quantity(vnic.limit) : undefined);
  return new Table({
    title: "vNICs",
    words: (vnic) => `${vnic.name} ${vnic.tenant} ${vnic.host ?? ""} ${vnic.mac ?? ""}`,
    columns: [
      { title: "vNIC", value: (vnic) => link("vnics", vnic.name, vnic.name), order: (vnic) => vnic.name },
      { title: "Tenant", value: (vnic) => vnic.tenant, order: (vnic) => vnic.tenant },
      { title: "Host", value: (vnic) => vnic.host ?? "any", order: (vnic) => vnic.host ?? "" },
      { title: "Guarantee", value: (vnic) => (vnic.guarantee_kind ?? (promised(vnic) ? "strict" : "fairness")).replace("_", " ") },
      { title: "Promised", number: true, value: (vnic) => bits(promised(vnic)), order: promised },
      { title: "Limit", number: true, value: (vnic) => (vnic.limit ? bits(limit(vnic)) : "none"), order: (vnic) => limit(vnic) ?? Infinity },
      { title: "Weight", number: true, value: (vnic) => String(vnic.weight ?? 100), order: (vnic) => vnic.weight ?? 100 },
    ],
  });
}

function flowsTable(vnic) {
  const isHeld = (flow) => flow.held_by !== null;
  const other = (name) => (name === vnic ? name : link("vnics", name, name));
  return new Table({
    title: "Flows",
    isSecond: true,
    empty: "no flow has a demand",
    words: (flow) => `${flow.source} ${flow.destination} ${flow.held_by ?? ""}`,
    columns: [
      { title: "From", value: (flow) => other(flow.source), order: (flow) => flow.source },
      { title: "To", value: (flow) => (flow.unit === "bit/s" ? other(flow.destination) : flow.destination), order: (flow) => flow.destination },
      { title: "Wanted", number: true, value: (flow) => amount(flow.unit)(flow.wanted), order: (flow) => flow.wanted },
      { title: "Given", number: true, order: (flow) => flow.allocated,
        value: (flow) => ({ text: amount(flow.unit)(flow.allocated), part: flow.wanted > 0 ? flow.allocated / flow.wanted : 1 }) },
      { title: "Held back by", value: (flow) => ({ text: flow.held_by ?? "nothing", kind: isHeld(flow) ? "bad" : "dim" }) },
      { title: "Since", value: (flow) => time(flow.since) },
    ],
  });
}

function resourcesTable() {
  return new Table({
    title: "Resources that hold it back",
    isSecond: true,
    empty: "none",
    columns: [
      { title: "Resource", value: (resource) => resource.name },
      { title: "Capacity", number: true, value: (resource) => amount(resource.unit)(resource.capacity) },
      { title: "Given", number: true, value: (resource) => ({ text: amount(resource.unit)(resource.used), part: resource.used / resource.capacity }) },
      { title: "Short since", value: (resource) => time(resource.since) },
      { title: "Holders", value: holdersText },
    ],
  });
}

/** Adds the vNIC's flows to other vNICs at this moment to its curves. */
function addPoint(why) {
  const data = curves.get(why.vnic) ?? [[], [], [], [], []];
  curves.set(why.vnic, data);
  if (data[0].at(-1) === why.time) return data;
  const sent = why.flows.filter((flow) => flow.source === why.vnic && flow.unit === "bit/s");
  const sum = (key) => sent.reduce((total, flow) => total + flow[key], 0);
  [why.time, sum("wanted"), sum("allocated"), why.reservation_bps || null, why.limit_bps].forEach((value, curve) => {
    data[curve].push(value);
    if (data[curve].length > POINTS) data[curve].shift();
  });
  return data;
}

function heldText(why) {
  const held = [...new Set(why.flows.map((flow) => flow.held_by).filter(Boolean))];
  return held.length ? { text: held.join(", "), kind: "bad" } : { text: "nothing", kind: "good" };
}

function openWhy(section, vnic) {
  const facts = figures();
  const chart = new Chart({
    title: `Rate that ${vnic} sends to other vNICs`, format: bits,
    curves: [{ label: "wanted", color: "wanted" }, { label: "given", color: "given" }, { label: "promised", color: "promised", dash: [8, 5] },
      { label: "limit", color: "limit", dash: [2, 4] }],
  });
  const flows = flowsTable(vnic);
  const held = resourcesTable();
  section.append(make("p", {}, make("a", { href: "#/vnics" }, "All vNICs")), facts.element, chart.element, flows.element, held.element);
  return {
    close: () => chart.close(),
    async update() {
      const why = await get(routes.why(vnic));
      facts.set({ vNIC: why.vnic, Tenant: why.tenant, Host: why.host ?? "none: no connected switch has it", Promised: bits(why.reservation_bps),
        Limit: why.limit_bps === null ? "none" : bits(why.limit_bps), "Held back by": heldText(why) });
      chart.update(addPoint(why));
      flows.update(why.flows);
      held.update(why.resources);
    },
  };
}

export const vnics = {
  id: "vnics",
  title: "vNICs",
  heading: (vnic) => (vnic ? `Why ${vnic}` : "vNICs"),
  open(section, { argument, filter }) {
    if (argument) return openWhy(section, argument);
    const rows = listTable();
    rows.filter = filter;
    section.append(make("p", { class: "dim" }, "A vNIC's name leads to its flows and to the resources that hold them back."), rows.element);
    return { update: async () => rows.update(await get(routes.vnics())) };
  },
};
