// overview.js - the cluster, its hosts by state, the controller's loop, and its faults.

import { get } from "../api.js";
import { figures, lines, make } from "../dom.js";
import { count, milliseconds, span } from "../format.js";
import { routes } from "../routes.js";
import { noted } from "./hosts.js";

const STATES = ["connected", "welcomed", "silent", "absent"];

function faultsOf(status) {
  const failing = (name, part) => (part?.failing_since ? [`${name} cannot be written: ${part.fault}`] : []);
  const refusals = (status.refusals ?? []).map((each) => `${each.what} (${each.times} times)`);
  const hosts = status.hosts.filter((host) => host.state === "silent").map((host) => `host ${host.name} is silent`);
  return [...failing("the store", status.store), ...failing("the bill", status.bill), ...hosts, ...refusals];
}

function set(parts, status) {
  const { loop = {}, hosts, bill = {}, counters = {} } = status;
  const lag = loop.lag_ns ?? {};
  const solve = loop.solve_ns ?? {};
  const intervalSeconds = status.interval_ns / 1e9;
  parts.cluster.set({
    Cluster: status.cluster, Revision: count(status.revision), Epoch: count(status.epoch), Version: status.version || "-",
    vNICs: count(hosts.reduce((sum, host) => sum + (host.vnics ?? 0), 0)), "Flows with a demand": count(status.flows),
  });
  parts.hosts.set(Object.fromEntries(STATES.map((state) => {
    const number = hosts.filter((host) => host.state === state).length;
    return [state, { text: count(number), kind: number && state === "silent" ? "bad" : "" }];
  })));
  parts.loop.set({
    Interval: `${count(status.interval)} of ${span(intervalSeconds)}`,
    Missed: { text: count(loop.missed), kind: loop.missed ? "warn" : "" },
    "Late by": `${milliseconds(lag.last)}, p99 ${milliseconds(lag.p99)}, most ${milliseconds(lag.max)}`,
    "Allocating takes": `${milliseconds(solve.last)}, most ${milliseconds(solve.max)}`,
    "Messages of switches": count(counters.messages),
    "Bill": bill.failing_since ? { text: "failing", kind: "bad" } : `${count(bill.periods_waiting)} periods wait`,
  });
  parts.faults.set(faultsOf(status));
  parts.notes.set(hosts.flatMap((host) => noted(host).map((text) => `${host.name}: ${text}`)).slice(0, 50));
}

export const overview = {
  id: "overview",
  title: "Overview",
  open(section) {
    const parts = { cluster: figures(), hosts: figures(), loop: figures(), faults: lines("Faults", "bad"), notes: lines("Notes on hosts", "warn") };
    section.append(parts.faults.element, parts.cluster.element, make("h3", {}, "Hosts"), parts.hosts.element,
      make("h3", {}, "Loop"), parts.loop.element, parts.notes.element);
    return { update: async () => set(parts, await get(routes.status())) };
  },
};
