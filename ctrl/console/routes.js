// routes.js - the paths of the HTTP API that the console uses, and no other file knows (docs/api.md).

const ROOT = "/api/v1";
const name = encodeURIComponent;

export const routes = {
  status: () => `${ROOT}/status`,
  allocation: () => `${ROOT}/allocation`,
  tenants: () => `${ROOT}/tenants`,
  vnics: () => `${ROOT}/vnics`,
  why: (vnic) => `${ROOT}/vnics/${name(vnic)}`,
  pools: () => `${ROOT}/pools`,
  bill: (from) => `${ROOT}/bill${from ? `?from=${from}` : ""}`,
  audit: (last, onlyChanges) => `${ROOT}/audit?last=${last}${onlyChanges ? "&changes=true" : ""}`,
  specification: () => `${ROOT}/specification`,
  observed: (revision) => `${ROOT}/observed?revision=${revision}`,
  events: () => `${ROOT}/events`,
};
