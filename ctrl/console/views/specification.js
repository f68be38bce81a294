// specification.js - the text in force, a dry run of another one with its difference, and its application after a confirmation.

import { faultText, get, post } from "../api.js";
import { figures, lines, make, setText } from "../dom.js";
import { count } from "../format.js";
import { routes } from "../routes.js";

function changeText({ path, before, now }) {
  if (before === "") return `+ ${path} ${now}`;
  return now === "" ? `- ${path} ${before}` : `  ${path} ${before} -> ${now}`;
}

const more = (texts, all) => (all > texts.length ? [...texts, `and ${all - texts.length} more`] : texts);

/** The effect that a dry run found. */
class Effect {
  constructor() {
    this.facts = figures();
    this.changes = lines("Difference", "code");
    this.smaller = lines("Promises that become smaller", "bad");
    this.held = lines("vNICs that are connected and lose their place", "bad");
    this.drained = lines("Hosts that are drained", "warn");
    this.element = make("div", { class: "effect", hidden: true }, this.facts.element, this.changes.element, this.smaller.element,
      this.held.element, this.drained.element);
  }

  set(data) {
    this.element.hidden = false;
    this.facts.set({ "Values that differ": count(data.changes_in_all), "vNICs concerned": `${count(data.concerned ?? 0)} of ${count(data.vnics)}`,
      "Made of revision": count(data.base) });
    this.changes.set(more(data.changes.map(changeText), data.changes_in_all));
    this.smaller.set(more(data.smaller ?? [], data.smaller_in_all ?? 0));
    this.held.set((data.held ?? []).map((each) => `${each.vnic} on host ${each.host}: ${each.why}`));
    this.drained.set(Object.entries(data.drained ?? {}).map(([host, { floating, stated }]) =>
      `${host}: ${floating.length} vNICs to move, ${stated.length} with this host in the specification`));
  }
}

class Editor {
  constructor() {
    this.base = 0;
    this.tried = null;          // the text of the last dry run that found no fault
    this.found = 0;             // values that differ in it
    this.text = make("textarea", { id: "text", rows: 22, spellcheck: "false", wrap: "off", on: { input: () => this.show() } });
    this.file = make("input", { type: "file", id: "file", on: { change: () => this.read() } });
    this.note = make("p", { class: "dim", role: "status" });
    this.faults = lines("Refused", "bad");
    this.effect = new Effect();
    this.dry = this.button("Dry run", () => this.propose(true));
    this.apply = this.button("Apply ...", () => this.ask(), "first");
    this.reload = this.button("Load the text in force", () => this.load());
    this.question = make("p");
    this.sure = make("input", { type: "checkbox", "aria-label": "also when more vNICs are concerned than confirm_above allows" });
    this.dialog = make("dialog", { "aria-labelledby": "sure-title" }, make("h2", { id: "sure-title" }, "Apply this specification?"), this.question,
      make("label", {}, this.sure, " also when more vNICs are concerned than confirm_above allows"),
      make("p", { class: "buttons" }, this.button("Apply", () => this.confirm(), "first"), this.button("Cancel", () => this.dialog.close())));
    this.element = make("div", {}, make("p", {}, this.reload, " ", make("label", { for: "file" }, "or a file "), this.file),
      make("label", { for: "text" }, "Text"), this.text, make("p", { class: "buttons" }, this.dry, this.apply), this.note, this.faults.element,
      this.effect.element, this.dialog);
  }

  button(text, run, kind) {
    return make("button", { type: "button", class: kind, on: { click: () => this.attempt(run) } }, text);
  }

  async attempt(run) {
    this.faults.set([]);
    this.element.toggleAttribute("aria-busy", true);
    try {
      await run();
    } catch (error) {
      this.faults.set((error.faults ?? [{ message: error.message }]).map(faultText));
    } finally {
      this.element.toggleAttribute("aria-busy", false);
      this.show();
    }
  }

  async load() {
    const data = await get(routes.specification());
    this.base = data.revision;
    this.text.value = data.text;
    this.tried = null;
    this.effect.element.hidden = true;
    setText(this.note, `Revision ${data.revision} is loaded.`);
  }

  async read() {
    if (this.file.files.length) this.text.value = await this.file.files[0].text();
    this.show();
  }

  show() {
    this.apply.disabled = this.tried === null || this.tried !== this.text.value;
    this.dry.disabled = this.text.value === "";
  }

  async propose(isDry) {
    const text = this.text.value;
    if (isDry) this.tried = null;
    const data = await post(routes.specification(), { text, base: this.base, dry_run: isDry, yes: !isDry && this.sure.checked });
    this.effect.set(data);
    if (isDry) {
      this.found = data.changes_in_all;
      this.tried = data.changes_in_all ? text : null;
      setText(this.note, data.changes_in_all ? "Dry run: nothing was changed. The difference is below." : `No value differs from revision ${data.revision}.`);
    }
    return data;
  }

  ask() {
    this.sure.checked = false;
    this.question.textContent = `It becomes revision ${this.base + 1}, in which ${this.found} values differ. They take effect at once.`;
    this.dialog.showModal();
  }

  async confirm() {
    this.dialog.close();
    const data = await this.propose(false);
    const { pending } = await get(routes.observed(data.revision));
    const waiting = pending.map((each) => `${each.host} (${each.state})`).join(", ");
    this.base = data.revision;
    this.tried = null;
    setText(this.note, `Revision ${data.revision} is in force.${waiting ? ` Not confirmed yet by: ${waiting}.` : ""}`);
  }
}

export const specification = {
  id: "specification",
  title: "Specification",
  open(section) {
    const editor = new Editor();
    const moved = make("p", { class: "fault", hidden: true });
    section.append(moved, editor.element);
    editor.show();
    editor.attempt(() => editor.load());
    return {
      async update() {
        const { revision } = await get(routes.status());
        moved.hidden = !editor.base || revision === editor.base;
        setText(moved, `Revision ${revision} is in force meanwhile: load it before you change values.`);
      },
    };
  },
};
