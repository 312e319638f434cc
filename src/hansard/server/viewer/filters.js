// Filters of the thread list and the search: format, agent, model, project, and date of the last change. The choices
// are loaded when the filters are opened; the selection is kept in the tab.

import { button, el, shown, tell } from "/viewer/elements.js";
import { get } from "/viewer/api.js";

const KINDS = [
  ["format", "Format"],
  ["agent", "Agent"],
  ["model", "Model"],
  ["project", "Project"],
];
const TIMES = [
  ["", "Any time"],
  ["today", "Today"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["1y", "Last year"],
  ["between", "Between…"],
];
const KEPT = "hansard-filters";

export class Filters {
  constructor(place, opener, apply) {
    this.place = place;
    this.opener = opener;
    this.apply = apply;
    this.only = {};
    this.between = false;
    opener.addEventListener("click", () => this.toggle());
  }

  restore() {
    try {
      this.only = JSON.parse(sessionStorage.getItem(KEPT)) ?? {};
    } catch {
      this.only = {};
    }
    this.mark();
    if (this.count()) return Promise.all([this.toggle(true), this.apply(this.only)]);
    return undefined;
  }

  count() {
    return Object.values(this.only).filter(Boolean).length;
  }

  async toggle(on = this.place.hidden) {
    this.place.hidden = !on;
    this.opener.setAttribute("aria-expanded", String(on));
    if (!on) return;
    this.draw([]);
    try {
      this.draw(await get("/api/facts"));
    } catch (error) {
      tell(error.message, true);
    }
  }

  draw(facts) {
    const rows = KINDS.map(([kind, label]) => {
      const found = facts.filter((one) => one.kind === kind);
      if (this.only[kind] && !found.some((one) => one.value === this.only[kind])) found.unshift({ kind, value: this.only[kind] });
      const choice = el("select", { id: `filter-${kind}`, disabled: !found.length, change: () => this.set({ [kind]: choice.value }) }, el("option", { value: "" }, found.length ? "All" : "—"), found.map((one) => el("option", { value: one.value, selected: one.value === this.only[kind], title: shown(one.value) }, labelOf(kind, one))));
      return [el("label", { for: `filter-${kind}` }, label), choice];
    });
    const between = this.between || this.only.until || (this.only.since && !TIMES.some(([value]) => value === this.only.since));
    const time = el("select", { id: "filter-time", change: () => this.time(time.value) }, TIMES.map(([value, label]) => el("option", { value, selected: value === (between ? "between" : (this.only.since ?? "")) }, label)));
    const day = (name, label) => {
      const box = el("input", { type: "date", "aria-label": label, change: () => this.set({ [name]: box.value }) });
      if (/^\d{4}-\d\d-\d\d$/.test(this.only[name] ?? "")) box.value = this.only[name];
      return box;
    };
    this.days = el("div", { class: "days", hidden: !between }, day("since", "Changed since"), el("span", { class: "dim" }, "to"), day("until", "Changed until"));
    this.clear = button("Clear filters", () => this.set(null), { class: "quiet", hidden: !this.count() });
    this.place.replaceChildren(...rows.flat(), el("label", { for: "filter-time" }, "Changed"), time, this.days, this.clear);
  }

  time(value) {
    this.between = value === "between"; // the choices may arrive now and render everything again
    this.days.hidden = !this.between;
    if (value !== "between") this.set({ since: value, until: "" });
  }

  set(change) {
    this.only = change === null ? {} : Object.fromEntries(Object.entries({ ...this.only, ...change }).filter(([, value]) => value));
    sessionStorage.setItem(KEPT, JSON.stringify(this.only));
    if (change === null) {
      this.between = false;
      this.toggle(true);
    }
    this.clear.hidden = !this.count();
    this.mark();
    this.apply(this.only);
  }

  mark() {
    const count = this.count();
    this.opener.classList.toggle("on", count > 0);
    this.opener.textContent = count ? `Filter · ${count}` : "Filter";
  }
}

// The end of a folder's path is the most specific part.
function labelOf(kind, one) {
  const name = kind === "project" && one.value.length > 34 ? `…${one.value.slice(-32)}` : one.value.slice(0, 60);
  return one.threads === undefined ? name : `${shown(name)} (${one.threads.toLocaleString()})`;
}
