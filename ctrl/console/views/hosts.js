// hosts.js - hosts with their link, vNICs, and the notes of the controller on each.

import { get } from "../api.js";
import { bits, count, percent, span } from "../format.js";
import { routes } from "../routes.js";
import { Table } from "../table.js";

const KINDS = { connected: "good", welcomed: "warn", silent: "bad", absent: "dim" };

/** Everything that the controller says about a host beyond numbers. */
export function noted(host) {
  const refused = (host.refused_vnics ?? []).map((each) => `refused: ${each}`);
  const cut = (host.link?.cut ?? []).map((each) => `${each.vnic} keeps ${bits(each.kept_bps)} of ${bits(each.reservation_bps)}`);
  const drained = host.drained ? [`drained: ${host.drained.floating.length} vNICs to move, ${host.drained.stated.length} stay`] : [];
  return [...(host.warnings ?? []), ...refused, ...cut, ...drained];
}

function table() {
  const link = (host) => host.link ?? {};
  const used = (host) => link(host).reserved_bps / link(host).planned_bps;
  return new Table({
    title: "Hosts",
    words: (host) => `${host.name} ${host.state} ${host.version ?? ""} ${noted(host).join(" ")}`,
    columns: [
      { title: "Host", value: (host) => host.name, order: (host) => host.name },
      { title: "State", value: (host) => ({ text: host.state, kind: KINDS[host.state] }), order: (host) => host.state },
      { title: "Planned", number: true, value: (host) => bits(link(host).planned_bps), order: (host) => link(host).planned_bps },
      { title: "Reserved", number: true, value: (host) => ({ text: bits(link(host).reserved_bps), part: used(host) }), order: used },
      { title: "Kept", number: true, order: (host) => link(host).kept_percent,
        value: (host) => ({ text: percent(link(host).kept_percent / 100), kind: link(host).kept_percent < 100 ? "bad" : "" }) },
      { title: "vNICs", number: true, value: (host) => count(host.vnics), order: (host) => host.vnics ?? 0 },
      { title: "Flows", number: true, value: (host) => count(host.flows), order: (host) => host.flows ?? 0 },
      { title: "Last message", number: true, order: (host) => host.last_message_ms ?? Infinity,
        value: (host) => (host.last_message_ms === undefined ? "-" : `${span(host.last_message_ms / 1000)} ago`) },
      { title: "Revision", number: true, value: (host) => count(host.revision), order: (host) => host.revision ?? 0 },
      { title: "Version", value: (host) => host.version || "-" },
      { title: "Notes", value: (host) => ({ text: noted(host).join("\n") || "-", kind: noted(host).length ? "note" : "dim" }),
        order: (host) => noted(host).length },
    ],
  });
}

export const hosts = {
  id: "hosts",
  title: "Hosts",
  open(section, { filter }) {
    const rows = table();
    rows.filter = filter;
    section.append(rows.element);
    return { update: async () => rows.update((await get(routes.status())).hosts) };
  },
};
