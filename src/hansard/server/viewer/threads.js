// The thread list, newest first, loaded by page while scrolling; or the search results.

import { button, counted, el, shown, tell } from "/viewer/elements.js";
import { get, thread } from "/viewer/api.js";
import { gist, when } from "/viewer/message.js";
import { LOOKED_AT, openingWords } from "/viewer/opening.js";

const PAGE = 50;
const HITS = 30;

export class ThreadList {
  constructor(place, { openThread }) {
    this.place = place;
    this.openThread = openThread;
    this.titles = new Map();
    this.current = null;
    this.query = "";
    this.only = {};
    this.turn = 0;
    this.end = el("div", { class: "end" });
    this.news = button("New activity ↑", () => this.start().then(() => place.scrollTo({ top: 0 })), { class: "news" });
    this.more = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.load(), { root: place, rootMargin: "600px 0px" });
    this.untitled = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => this.nameIt(one.target)), { root: place });
    place.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const rows = [...place.querySelectorAll("a")];
      rows[rows.indexOf(document.activeElement) + by]?.focus();
    });
  }

  // Sets the filters.
  narrow(only) {
    this.only = only;
    return this.start();
  }

  // Reloads the first page of the list or of the search.
  async start(query = this.query) {
    const turn = ++this.turn;
    this.query = query;
    this.next = null;
    this.busy = true;
    this.place.setAttribute("aria-busy", "true");
    if (!this.place.childElementCount) this.place.replaceChildren(...skeletons(8));
    try {
      const page = await this.page(null);
      if (turn !== this.turn) return;
      this.more.disconnect();
      this.next = page.next;
      this.place.replaceChildren(...(page.items.length ? this.rows(page) : [this.none()]), this.end);
      this.seen = sight(page);
    } catch (error) {
      if (turn === this.turn) this.place.replaceChildren(el("p", { class: "empty small wrong" }, error.message));
    } finally {
      if (turn === this.turn) {
        this.busy = false;
        this.place.setAttribute("aria-busy", "false");
      }
    }
    if (this.next) this.more.observe(this.end);
  }

  page(after) {
    if (!this.query) return get("/api/threads", { ...this.only, limit: PAGE, after });
    return get("/api/search", { ...this.only, q: this.query, limit: HITS, after });
  }

  none() {
    if (this.next) return el("p", { class: "empty small" }, "Still looking…");
    if (this.query && Object.keys(this.only).length) return el("p", { class: "empty small" }, "Nothing found in the threads that match the filters.");
    if (this.query) return el("p", { class: "empty small" }, "Nothing found.", el("br"), el("span", { class: "dim" }, "Every word must be in the message; \"phrases\" and beginn* work too."));
    if (Object.keys(this.only).length) return el("p", { class: "empty small" }, "No thread matches these filters.");
    return el("p", { class: "empty small" }, "No threads yet.", el("br"), "Drop a file here to import one, or start a chat.");
  }

  async load() {
    if (this.busy || !this.next) return;
    this.busy = true;
    const turn = this.turn;
    try {
      const page = await this.page(this.next);
      if (turn !== this.turn) return;
      this.next = page.next;
      if (page.items.length || !this.next) this.place.querySelector(".empty")?.remove();
      this.end.before(...this.rows(page));
      if (!this.place.querySelector(".row")) this.end.before(this.none());
      this.more.disconnect();
      if (this.next) this.more.observe(this.end);
    } catch (error) {
      tell(error.message, true);
    } finally {
      this.busy = false;
    }
  }

  // If there is something new at the top, reload the list; if the user has scrolled down, show a notice instead.
  async freshen() {
    if (this.query || this.busy) return false;
    const turn = this.turn;
    const page = await this.page(null);
    if (turn !== this.turn || sight(page) === this.seen) return false;
    if (this.place.scrollTop > 200) {
      this.seen = sight(page);
      this.place.prepend(this.news);
      return true;
    }
    const focused = document.activeElement?.dataset?.thread;
    await this.start();
    if (focused) this.place.querySelector(`a[data-thread="${CSS.escape(focused)}"]`)?.focus();
    return true;
  }

  rows(page) {
    return page.items.map((one) => (this.query ? this.hit(one) : this.row(one)));
  }

  row(one) {
    const title = one.title || this.titles.get(one.id);
    const made = this.anchor(one.id, null, [
      el("span", { class: "row-title" }, title || one.id),
      el("span", { class: "row-facts" }, el("span", null, counted(one.messages, "message")), el("span", { class: "grow" }), when(one.updatedAt)),
    ]);
    if (!title) this.untitled.observe(made);
    return made;
  }

  hit(one) {
    const marked = one.snippet.split(/(\x02[^\x03]*\x03)/).map((piece) => (piece.startsWith("\x02") ? el("mark", null, piece.slice(1, -1)) : piece));
    return this.anchor(one.threadId, one.messageId, [
      el("span", { class: "row-title" }, one.title || this.titles.get(one.threadId) || one.threadId),
      el("span", { class: "row-snippet" }, marked),
      el("span", { class: "row-facts" }, el("span", null, one.role, one.active ? null : " · on another branch"), el("span", { class: "grow" }), one.createdAt ? when(one.createdAt) : ""),
    ]);
  }

  anchor(threadId, messageId, children) {
    return el("a", { class: "row", role: "link", tabindex: 0, "data-thread": threadId, "data-message": messageId, "aria-current": threadId === this.current ? "true" : null, click: (event) => (event.preventDefault(), this.openThread(threadId, messageId)), keydown: (event) => event.key === "Enter" && this.openThread(threadId, messageId) }, children);
  }

  mark(threadId) {
    this.current = threadId;
    for (const row of this.place.querySelectorAll("a.row")) {
      if (row.dataset.thread === threadId) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  // The title of a thread, if it is loaded.
  nameNow(id) {
    return this.titles.get(id) ?? [...this.place.querySelectorAll("a.row")].find((row) => row.dataset.thread === id)?.querySelector(".row-title")?.textContent;
  }

  // Loads the default title of a thread without one.
  async nameOf(id) {
    if (!this.titles.has(id)) {
      const { items } = await get(thread(id, "/messages"), { newest: false, limit: LOOKED_AT });
      const words = openingWords(items);
      const said = words === null ? items[0] : { parts: [{ type: "text", text: words }] };
      if (said) this.titles.set(id, gist(said, 120));
    }
    return this.titles.get(id) ?? id;
  }

  nameIt(row) {
    this.untitled.unobserve(row);
    this.nameOf(row.dataset.thread)
      .then((name) => {
        row.querySelector(".row-title").textContent = shown(name);
      })
      .catch(() => {});
  }
}

function sight(page) {
  return JSON.stringify(page.items.map((one) => [one.id, one.version]));
}

function skeletons(count) {
  return Array.from({ length: count }, () => el("div", { class: "skeleton", "aria-hidden": "true" }, el("span"), el("span")));
}
