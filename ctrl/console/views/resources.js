// resources.js - links and appliances: capacity, estimate, use, since when each is short, and the vNICs that have most of it.

import { get } from "../api.js";
import { make } from "../dom.js";
import { amount, bits, since, time, tokens } from "../format.js";
import { routes } from "../routes.js";
import { Table } from "../table.js";

export function holdersText(resource) {
  const of = amount(resource.unit);
  const lines = resource.users.map((user) => `${user.vnic} (${user.tenant}) ${of(user.used)}${user.since ? ` since ${since(user.since)}` : ""}`);
  return { text: lines.join("\n") || "-", kind: "note" };
}

function linksTable() {
  const part = (resource) => (resource.capacity > 0 ? resource.used / resource.capacity : 0);
  return new Table({
    title: "Links and appliances",
    isSecond: true,
    words: (resource) => `${resource.name} ${resource.users.map((user) => `${user.vnic} ${user.tenant}`).join(" ")}`,
    columns: [
      { title: "Resource", value: (resource) => resource.name, order: (resource) => resource.name },
      { title: "Capacity", number: true, value: (resource) => amount(resource.unit)(resource.capacity), order: (resource) => resource.capacity },
      { title: "Given", number: true, value: (resource) => ({ text: amount(resource.unit)(resource.used), part: part(resource) }), order: part },
      { title: "Short since", order: (resource) => resource.since ?? Infinity,
        value: (resource) => ({ text: time(resource.since), kind: resource.since ? "bad" : "dim" }) },
      { title: "Holders", value: holdersText },
    ],
  });
}

function appliancesTable() {
  return new Table({
    title: "Estimates of appliances",
    isSecond: true,
    empty: "the specification has none",
    columns: [
      { title: "Appliance", value: (appliance) => appliance.name },
      { title: "Search", value: (appliance) => appliance.phase },
      { title: "Estimate", number: true, value: (appliance) => tokens(appliance.estimate) },
      { title: "Allocated", number: true, value: (appliance) => tokens(appliance.allocate) },
      { title: "Certain", number: true, value: (appliance) => tokens(appliance.window?.[0]) },
      { title: "Not exceeded", number: true, value: (appliance) => tokens(appliance.window?.[1]) },
    ],
  });
}

function linkSummary(links) {
  const sum = (key) => links.reduce((total, host) => total + (host.link?.[key] ?? 0), 0);
  return `All hosts' links: ${bits(sum("planned_bps"))} planned each way, ${bits(sum("reserved_bps"))} reserved.`;
}

export const resources = {
  id: "resources",
  title: "Resources",
  open(section, { filter }) {
    const links = linksTable();
    const appliances = appliancesTable();
    const summary = make("p", { class: "dim" });
    links.sort(2);
    links.filter = filter;
    section.append(summary, appliances.element, links.element);
    return {
      async update() {
        const [status, allocation] = await Promise.all([get(routes.status()), get(routes.allocation())]);
        summary.textContent = linkSummary(status.hosts);
        appliances.update(status.appliances);
        links.update(allocation.resources);
      },
    };
  },
};
