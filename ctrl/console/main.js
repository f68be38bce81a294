// main.js - navigation, the token, refreshes, and the line that says how old the values are.

import { get, token } from "./api.js";
import { make, setText } from "./dom.js";
import { cut, follow } from "./events.js";
import { clock, span } from "./format.js";
import { routes } from "./routes.js";
import { changes } from "./views/changes.js";
import { hosts } from "./views/hosts.js";
import { overview } from "./views/overview.js";
import { pools } from "./views/pools.js";
import { resources } from "./views/resources.js";
import { specification } from "./views/specification.js";
import { tenants } from "./views/tenants.js";
import { vnics } from "./views/vnics.js";

const VIEWS = [overview, tenants, vnics, resources, hosts, pools, changes, specification];
const REFRESH_MS = 2000;
const STALE_INTERVALS = 3;      // as long as an allocation is valid

const at = (id) => document.getElementById(id);
const open = { view: null, section: null, place: null };
const seen = { good: null, interval: -1, moved: null };
let isRefreshing = false;
let isWanted = false;

// ---- the state line --------------------------------------------------------------------------------------------------------

/** @param warning empty: the values are those of now */
function show(state, warning) {
  setText(at("state"), state);
  setText(at("warning"), warning);
  at("warning").hidden = warning === "";
  document.body.classList.toggle("stale", warning !== "");
}

function onStatus(status) {
  const now = new Date();
  seen.good = now;
  if (status.interval !== seen.interval) {
    seen.interval = status.interval;
    seen.moved = now;
  }
  setText(at("cluster"), status.cluster);
  document.title = `Weir ${status.cluster}`;
  const standing = (now - seen.moved) / 1000;
  const isStale = standing > Math.max((STALE_INTERVALS * status.interval_ns) / 1e9, 2 * REFRESH_MS / 1000);
  show(`Live. Revision ${status.revision}, interval ${status.interval}, ${clock(now)}`,
    isStale ? `Stale: the controller has ended no interval for ${span(standing)}. Allocations and demands are those of then.` : "");
}

function onRefusal(error) {
  if (error.status === 401) return askToken("The server does not know this token.");
  const of = seen.good ? ` All values are of ${clock(seen.good)}.` : "";
  if (error.status === 0) return show("Away", `The server is away: ${error.message}.${of}`);
  return show(`Refused (${error.status})`, `${error.message}.${of}`);
}

// ---- refreshes -------------------------------------------------------------------------------------------------------------

async function refresh() {
  if (!token.get()) return;
  if (isRefreshing) {
    isWanted = true;
    return;
  }
  isRefreshing = true;
  const view = open.view;
  try {
    onStatus(await get(routes.status()));
    await view?.update();
  } catch (error) {
    if (view === open.view) onRefusal(error.faults ? error : Object.assign(error, { status: -1 }));
  }
  isRefreshing = false;
  if (isWanted || view !== open.view) {
    isWanted = false;
    refresh();
  }
}

// ---- navigation ------------------------------------------------------------------------------------------------------------

/** "#/vnics/vm1?filter=A" as its parts; another address is the overview. */
function placeOf(hash) {
  const [, id, argument = "", query = ""] = /^#\/(\w+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(hash) ?? [];
  const view = VIEWS.find((each) => each.id === id) ?? overview;
  let name = "";
  try {
    name = decodeURIComponent(argument);
  } catch {
    name = argument;
  }
  return { view, argument: name, filter: new URLSearchParams(query).get("filter") ?? "" };
}

function go(takesFocus) {
  const { view, argument, filter } = placeOf(location.hash);
  open.view?.close?.();
  const title = make("h2", { id: "view-title", tabindex: "-1" }, view.heading?.(argument) ?? view.title);
  const section = make("section", { "aria-labelledby": "view-title", class: view.id }, title);
  for (const each of at("views").querySelectorAll("a"))
    if (each.getAttribute("href") === `#/${view.id}`) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  at("main").replaceChildren(section);
  open.view = token.get() ? view.open(section, { argument, filter, refresh }) : null;
  if (takesFocus) title.focus();
  refresh();
}

// ---- the token -------------------------------------------------------------------------------------------------------------

function askToken(fault) {
  token.forget();
  cut();
  at("leave").hidden = true;
  open.view?.close?.();
  open.view = null;
  at("main").replaceChildren();
  show("No token", "");
  setText(at("entry-fault"), fault);
  if (!at("entry").open) at("entry").showModal();
}

async function enter(event) {
  event.preventDefault();
  token.set(at("token").value.trim());
  at("token").value = "";
  try {
    onStatus(await get(routes.status()));
  } catch (error) {
    token.forget();
    setText(at("entry-fault"), error.message);
    return;
  }
  at("entry").close();
  at("leave").hidden = false;
  go(true);
}

function start() {
  at("views").append(...VIEWS.map((view) => make("li", {}, make("a", { href: `#/${view.id}` }, view.title))));
  at("entry").querySelector("form").addEventListener("submit", enter);
  at("entry").addEventListener("cancel", (event) => event.preventDefault());
  at("leave").addEventListener("click", () => askToken(""));
  at("skip").addEventListener("click", (event) => {
    event.preventDefault();
    at("main").focus();
  });
  addEventListener("hashchange", () => go(true));
  document.addEventListener("visibilitychange", () => !document.hidden && refresh());
  setInterval(() => !document.hidden && refresh(), REFRESH_MS);
  follow(refresh);
  if (!token.get()) return askToken("");
  at("leave").hidden = false;
  go(false);
}

start();
