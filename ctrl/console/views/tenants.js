// tenants.js - of each tenant: promised by the specification, wanted, given and used in the last interval, and the bill of a span.

import { get } from "../api.js";
import { link, make } from "../dom.js";
import { bits, bytes, count, money, percent, promised, quantity, tokens } from "../format.js";
import { routes } from "../routes.js";
import { Table } from "../table.js";

const SPANS = [["the last hour", 3600], ["the last day", 86400], ["the last 30 days", 30 * 86400], ["the whole bill", 0]];

/** {tenant: sums over its vNICs} */
function sums(bill) {
  const out = new Map();
  for (const row of bill.rows) {
    const sum = out.get(row.tenant) ?? { promised: 0, delivered: 0, kept: 0, charge: 0 };
    sum.promised += row.promised_bytes;
    sum.delivered += row.delivered_bytes;
    sum.kept += row.promised_bytes * (row.fulfillment ?? 0);
    sum.charge += row.charge;
    out.set(row.tenant, sum);
  }
  return out;
}

function appliancesText(tenant) {
  const now = new Map(tenant.now.appliances.map((each) => [each.name, each]));
  const texts = (tenant.appliances ?? []).flatMap(({ name, reservation }) => {
    const use = now.get(name);
    const parts = [...(reservation ? [`promised ${tokens(quantity(reservation))}`] : []),
      ...(use ? [`wanted ${tokens(use.wanted)}, given ${tokens(use.allocated)}, used ${tokens(use.used)}`] : [])];
    return parts.length ? [`${name}: ${parts.join(", ")}`] : [];
  });
  return { text: texts.join("\n") || "-", kind: "note" };
}

function table() {
  const met = ({ now }) => (now.wanted_bps > 0 ? now.allocated_bps / now.wanted_bps : undefined);
  const fulfilled = ({ billed }) => (billed?.promised > 0 ? billed.kept / billed.promised : undefined);
  const rate = (title, value) => ({ title, number: true, value: (tenant) => bits(value(tenant)), order: value });
  return new Table({
    title: "Tenants",
    words: (tenant) => tenant.name,
    columns: [
      { title: "Tenant", value: (tenant) => link("vnics", "", tenant.name, tenant.name), order: (tenant) => tenant.name },
      { title: "vNICs", number: true, value: (tenant) => count(tenant.vnics.length), order: (tenant) => tenant.vnics.length },
      rate("Promised", (tenant) => tenant.promised),
      rate("Wanted", (tenant) => tenant.now.wanted_bps),
      { title: "Given", number: true, order: (tenant) => tenant.now.allocated_bps,
        value: (tenant) => ({ text: bits(tenant.now.allocated_bps), part: met(tenant), kind: met(tenant) < 0.99 ? "warn" : "" }) },
      rate("Used", (tenant) => tenant.now.used_bps),
      { title: "Appliances", value: appliancesText },
      { title: "Delivered", number: true, value: ({ billed }) => bytes(billed?.delivered), order: ({ billed }) => billed?.delivered ?? 0 },
      { title: "Fulfillment", number: true, order: (tenant) => fulfilled(tenant) ?? 2,
        value: (tenant) => ({ text: percent(fulfilled(tenant)), kind: fulfilled(tenant) < 0.95 ? "bad" : "" }) },
      { title: "Bill", number: true, value: ({ billed }) => money(billed?.charge), order: ({ billed }) => billed?.charge ?? 0 },
    ],
  });
}

async function rowsOf(seconds) {
  const from = seconds ? Math.floor(Date.now() / 60000) * 60 - seconds : 0;     // whole minutes: several viewers have one question
  const [stated, allocation, bill] = await Promise.all([get(routes.tenants()), get(routes.allocation()), get(routes.bill(from))]);
  const now = new Map(allocation.tenants.map((each) => [each.name, each]));
  const billed = sums(bill);
  const none = { wanted_bps: 0, allocated_bps: 0, used_bps: 0, appliances: [] };
  return {
    isBilling: bill.billing,
    tenants: stated.map((each) => ({
      ...each, vnics: each.vnics ?? [], promised: (each.vnics ?? []).reduce((sum, vnic) => sum + promised(vnic), 0),
      now: now.get(each.name) ?? none, billed: billed.get(each.name),
    })),
  };
}

export const tenants = {
  id: "tenants",
  title: "Tenants",
  open(section, { filter, refresh }) {
    const rows = table();
    const choice = make("select", { on: { change: refresh } }, ...SPANS.map(([text, seconds]) => make("option", { value: seconds }, text)));
    const note = make("p", { class: "dim", hidden: true }, "The specification has no prices: nothing is billed.");
    rows.filter = filter;
    section.append(
      make("p", { class: "dim" }, "Wanted, given and used are rates between vNICs in the last interval; delivered, fulfillment and bill are of ",
        make("label", {}, make("span", { class: "unseen" }, "Span of the bill "), choice), "."),
      note, rows.element);
    return {
      async update() {
        const answer = await rowsOf(Number(choice.value));
        note.hidden = answer.isBilling;
        rows.update(answer.tenants);
      },
    };
  },
};
