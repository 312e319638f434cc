// The conversation as a virtual list: only the pieces of the path near the viewport are in the DOM. The others are
// empty boxes of the same height, so that the scroll bar covers the complete thread.

import { el } from "/viewer/elements.js";
import { get, thread } from "/viewer/api.js";
import { answered, message, turnFacts } from "/viewer/message.js";

const GUESS = 130;
const MARGIN = 1400;

export class Conversation {
  constructor(box) {
    this.box = box;
    this.list = el("div", { class: "pieces" });
    this.live = el("div", { class: "live" });
    this.pieces = [];
    this.elements = new Map();
    this.selected = null;
    this.watch = new IntersectionObserver((seen) => seen.forEach((one) => this.moved(one)), { root: box, rootMargin: `${MARGIN}px 0px` });
    box.addEventListener("focusin", (event) => {
      const found = event.target.closest?.(".message");
      if (found?.dataset.id) this.select(found.dataset.id);
    });
  }

  // Shows that data is loading.
  wait(count) {
    this.watch.disconnect();
    this.path = null;
    this.list.replaceChildren();
    this.box.replaceChildren(this.list, this.live);
    this.list.replaceChildren(...Array.from({ length: count }, () => el("div", { class: "skeleton tall", "aria-hidden": "true" }, el("span"), el("span"), el("span"))));
  }

  // Shows a path, at its end or at the requested message. Unchanged pieces are reused.
  async open(threadId, path, context, { at = null, keep = false } = {}) {
    const known = keep && threadId === this.threadId ? new Map(this.pieces.map((piece) => [piece.key, piece])) : new Map();
    const low = this.atEnd();
    Object.assign(this, { threadId, path, context });
    this.pieces = path.pieces().map((piece) => {
      const key = `${piece.ids[0]} ${piece.ids.at(-1)} ${piece.ids.length}`;
      const old = known.get(key);
      return old ?? { ...piece, key, element: el("div", { class: "piece" }), drawn: false };
    });
    for (const piece of this.pieces) if (!known.has(piece.key)) piece.element.style.height = `${piece.ids.length * GUESS}px`;
    const target = at !== null ? this.pieceOf(at) : this.pieces.at(-1);
    if (target && (!keep || at !== null || low)) await this.draw(target);
    if (this.threadId !== threadId) return;
    this.watch.disconnect();
    this.list.replaceChildren(...this.pieces.map((piece) => piece.element));
    if (!this.list.isConnected) this.box.replaceChildren(this.list, this.live);
    if (!keep) this.live.replaceChildren();
    if (at !== null && this.elements.has(at)) this.reveal(at);
    else if (!keep || low) this.toEnd();
    this.pieces.forEach((piece) => this.watch.observe(piece.element));
  }

  // Renders again after changes of agents, pending calls or siblings.
  async redraw(context) {
    this.context = context;
    for (const piece of this.pieces) if (piece.drawn) this.paint(piece);
  }

  pieceOf(id) {
    return this.pieces.find((piece) => piece.ids.includes(id));
  }

  async draw(piece) {
    if (piece.drawn) return;
    piece.wanted ??= get(thread(this.threadId, "/messages"), { newest: false, limit: piece.ids.length, after: piece.after, head: this.path.end });
    const threadId = this.threadId;
    try {
      piece.messages = (await piece.wanted).items;
    } finally {
      piece.wanted = undefined;
    }
    if (threadId === this.threadId && !piece.drawn) this.paint(piece);
  }

  paint(piece) {
    const joined = answered(piece.messages);
    const context = { ...this.context, ...joined };
    const made = [];
    let before = null;
    let turn = null;
    const close = () => turn && made.push(...turnFacts(turn));
    for (const one of piece.messages) {
      if (one.role === "user") {
        close();
        turn = [];
      }
      turn?.push(one);
      const parts = one.parts ?? [];
      if (one.role === "tool" && parts.length && parts.every((each) => joined.taken.has(each))) {
        const call = [...joined.answers].find(([, result]) => parts.includes(result))?.[0];
        const home = this.elements.get(joined.home.get(call)?.id);
        if (home) {
          this.elements.set(one.id, home);
          continue;
        }
      }
      const element = message(one, context, before);
      if (one.id === this.selected) element.classList.add("selected");
      this.elements.set(one.id, element);
      if (one.role === "event" && before?.role === "event") made.push(together(made.pop(), element));
      else made.push(element);
      before = one;
    }
    const next = this.path.ids[this.path.place.get(piece.ids.at(-1)) + 1];
    if (next === undefined || this.path.byId.get(next)?.role === "user") close();
    this.still(piece, () => {
      piece.element.replaceChildren(...made);
      piece.element.style.height = "";
    });
    piece.drawn = true;
  }

  // Keeps the scroll position when a piece above it changes its height.
  still(piece, change) {
    const top = this.box.getBoundingClientRect().top;
    const before = piece.element.getBoundingClientRect();
    const above = piece.element.isConnected && (piece.drawn ? before.bottom <= top : before.top < top);
    change();
    if (above) this.box.scrollTop += piece.element.getBoundingClientRect().height - before.height;
  }

  moved(entry) {
    const piece = this.pieces.find((one) => one.element === entry.target);
    if (!piece) return;
    if (entry.isIntersecting) this.draw(piece).catch((error) => console.warn(error));
    else if (piece.drawn && !piece.element.contains(document.activeElement)) {
      const height = entry.boundingClientRect.height;
      piece.ids.forEach((id) => this.elements.delete(id));
      piece.element.replaceChildren();
      piece.element.style.height = `${height}px`;
      piece.drawn = false;
      piece.messages = undefined;
    }
  }

  select(id) {
    if (this.selected !== id) this.elements.get(this.selected)?.classList.remove("selected");
    this.selected = id;
    this.elements.get(id)?.classList.add("selected");
  }

  async jump(id) {
    const piece = this.pieceOf(id);
    if (!piece) return false;
    await this.draw(piece);
    return this.reveal(id);
  }

  reveal(id) {
    const element = this.elements.get(id);
    if (!element) return false;
    unfold(element);
    this.select(id);
    const show = () => element.scrollIntoView({ block: element.offsetHeight > this.box.clientHeight ? "start" : "center" });
    show();
    element.focus({ preventScroll: true });
    element.classList.add("found");
    requestAnimationFrame(show);
    setTimeout(() => element.classList.remove("found"), 1600);
    return true;
  }

  // The next message after the selected one that has its own element.
  async step(by) {
    const ids = this.path?.ids ?? [];
    let at = this.path?.place.get(this.selected) ?? (by > 0 ? -1 : ids.length);
    const old = this.elements.get(this.selected);
    for (at += by; at >= 0 && at < ids.length; at += by) {
      await this.draw(this.pieceOf(ids[at]));
      const element = this.elements.get(ids[at]);
      if (!element || element === old || element.dataset.id !== ids[at]) continue;
      unfold(element);
      this.select(ids[at]);
      element.focus({ preventScroll: true });
      element.scrollIntoView({ block: "nearest" });
      return;
    }
  }

  atEnd() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 60;
  }

  toEnd() {
    this.box.scrollTop = this.box.scrollHeight;
  }
}

// Events that follow each other, folded under one line.
function together(before, element) {
  const group = before.classList.contains("events") ? before : el("details", { class: "fold events" }, el("summary"), before);
  group.append(element);
  const names = [...group.querySelectorAll(".role-event summary")].map((one) => one.firstChild.textContent);
  group.querySelector("summary").textContent = `${names.length} events: ${[...new Set(names)].join(", ")}`.slice(0, 160);
  return group;
}

function unfold(element) {
  const group = element.closest("details.events");
  if (group) group.open = true;
}
