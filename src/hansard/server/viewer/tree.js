// The branch tree. Linear runs are one line with a count that expands; the active path is the straight line on the
// left; superseded messages are dashed, sidechains dotted. Drag to pan, ctrl and wheel or the buttons to zoom. A click
// shows a branch; a separate button checks it out.

import { button, counted, el, shown, svg } from "/viewer/elements.js";
import { encoded, get, thread } from "/viewer/api.js";
import { checkout, fork } from "/viewer/branching.js";
import { agentClass, gist, gone, speaker, when } from "/viewer/message.js";

const ROW = 44;
const COLUMN = 24;
const LEFT = 20;
const WORDS = 260;
const MOST = 600;
const OPENED = 60; // messages drawn of an expanded run

// The nodes to draw: ends, forks, the first message after a fork, and expanded runs. `run` are those in between.
function collapsed(path, opened = new Set()) {
  const made = new Map();
  const roots = path.children.get(null) ?? [];
  // Several root messages are versions of one another: children of the root.
  if (roots.length > 1) made.set(null, { id: null, parent: undefined, run: [], below: roots.length, node: { id: null, role: "beginning", active: true } });
  const stack = roots.map((id) => [id, null]).reverse();
  while (stack.length && made.size < MOST) {
    let [id, parent] = stack.pop();
    let below = path.children.get(id) ?? [];
    const run = [];
    const first = parent === null || (made.get(parent)?.below ?? 0) > 1;
    while (below.length === 1) {
      run.push(id);
      id = below[0];
      below = path.children.get(id) ?? [];
    }
    // The first message after a fork has its own node: it is where the branches differ.
    const own = first && run.length ? run.shift() : null;
    if (own !== null) {
      made.set(own, { id: own, parent, run: [], below: 1, node: path.byId.get(own) });
      parent = own;
    }
    const name = run[0];
    if (run.length && opened.has(name)) {
      for (const each of run.slice(0, OPENED)) {
        made.set(each, { id: each, parent, run: [], opens: each === name ? name : null, below: 1, node: path.byId.get(each) });
        parent = each;
      }
      made.set(id, { id, parent, run: run.slice(OPENED), below: below.length, node: path.byId.get(id) });
    } else made.set(id, { id, parent, run, below: below.length, node: path.byId.get(id) });
    for (const child of [...below].reverse()) stack.push([child, id]);
  }
  return made;
}

function placed(drawn) {
  const children = new Map();
  for (const one of drawn.values()) children.set(one.parent, [...(children.get(one.parent) ?? []), one]);
  const order = (list) => list.sort((a, b) => Number(b.node.active) - Number(a.node.active));
  let columns = 0;
  let row = 0;
  const tops = drawn.has(null) ? [drawn.get(null)] : order(children.get(null) ?? []);
  const stack = tops.map((one, i) => [one, i === 0]).reverse();
  while (stack.length) {
    const [one, straight] = stack.pop();
    one.row = row++;
    const above = drawn.get(one.parent);
    one.column = straight ? (above?.column ?? 0) : ++columns;
    const below = order(children.get(one.id) ?? []);
    for (let i = below.length - 1; i >= 0; i--) stack.push([below[i], i === 0]);
  }
  return { rows: row, columns: columns + 1 };
}

export class Tree {
  constructor(place, page) {
    Object.assign(this, { place, page, scale: 1, opened: new Set(), told: new Map(), selected: null });
    this.box = el("div", { class: "tree-box", tabindex: 0, role: "region", "aria-label": "Tree" });
    this.card = el("div", { class: "tree-card", role: "status" });
    this.count = el("span", { class: "dim" });
    place.replaceChildren(
      el("header", { class: "bar" }, el("h2", null, "Branches"), this.count, el("span", { class: "grow" }), button("−", () => this.zoom(0.8), { "aria-label": "Smaller" }), button("+", () => this.zoom(1.25), { "aria-label": "Larger" }), button("Fit", () => this.fit(), { title: "Fit the tree to the window" }), button("×", () => page.panel(null), { "aria-label": "Close the tree" })),
      this.box,
      this.card,
      el("p", { class: "legend" }, el("span", { class: "key-line active" }, "active path"), el("span", { class: "key-line gone" }, "superseded"), el("span", { class: "key-line chain" }, "sidechain")),
    );
    this.box.addEventListener("scroll", () => this.soon());
    this.box.addEventListener("wheel", (event) => event.ctrlKey && (event.preventDefault(), this.zoom(event.deltaY < 0 ? 1.1 : 0.9)), { passive: false });
    this.drag();
  }

  // Dragging the background pans the tree.
  drag() {
    let from = null;
    this.box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      from = { x: event.clientX + this.box.scrollLeft, y: event.clientY + this.box.scrollTop, far: false };
    });
    this.box.addEventListener("pointermove", (event) => {
      if (!from || !(event.buttons & 1)) return (from = null);
      const [left, top] = [from.x - event.clientX, from.y - event.clientY];
      if (!from.far && Math.abs(left - this.box.scrollLeft) + Math.abs(top - this.box.scrollTop) < 5) return undefined;
      from.far = true;
      this.box.classList.add("dragged");
      Object.assign(this.box, { scrollLeft: left, scrollTop: top });
      return undefined;
    });
    const stop = () => {
      if (from?.far) setTimeout(() => this.box.classList.remove("dragged"), 0);
      from = null;
    };
    this.box.addEventListener("pointerup", stop);
    this.box.addEventListener("pointerleave", stop);
  }

  draw() {
    const { path, threadId, thread: told } = this.page;
    if (this.threadId !== threadId) {
      Object.assign(this, { threadId, opened: new Set(), told: new Map(), selected: null });
      this.box.scrollTo({ top: 0, left: 0 });
    }
    this.drawn = collapsed(path, this.opened);
    const { rows, columns } = placed(this.drawn);
    this.text = LEFT + columns * COLUMN + 4;
    this.size = [this.text + WORDS, rows * ROW + 12];
    this.picture = svg("svg", { viewBox: `0 0 ${this.size[0]} ${this.size[1]}`, role: "group", "aria-label": "Branches of this thread" });
    const seen = path.end === null ? null : new Set(path.ids);
    for (const one of this.drawn.values()) this.edge(one, seen);
    this.knots = [...this.drawn.values()].map((one) => this.knot(one, told?.head, seen));
    this.picture.append(...this.knots);
    this.zoom(1);
    const ends = path.ends();
    this.count.textContent = path.nodes.length ? counted(ends, "branch", "branches") : "";
    this.box.replaceChildren(rows ? this.picture : el("p", { class: "empty small" }, "No messages yet."));
    this.describe();
    this.soon();
  }

  zoom(by) {
    this.scale = Math.min(2, Math.max(0.25, this.scale * by));
    this.picture.setAttribute("width", this.size[0] * this.scale);
    this.picture.setAttribute("height", this.size[1] * this.scale);
    this.soon();
  }

  fit() {
    this.scale = Math.min((this.box.clientWidth - 16) / this.size[0], (this.box.clientHeight - 16) / this.size[1], 1.2);
    this.zoom(1);
    this.box.scrollTo({ top: 0, left: 0 });
  }

  x(one) {
    return LEFT + one.column * COLUMN;
  }

  y(one) {
    return 24 + one.row * ROW;
  }

  edge(one, seen) {
    const parent = this.drawn.get(one.parent);
    if (!parent) return;
    const [x1, y1, x2, y2] = [this.x(parent), this.y(parent), this.x(one), this.y(one)];
    const shape = x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}C${x1} ${y1 + 26} ${x2} ${y1 + 10} ${x2} ${y1 + 36}V${y2}`;
    const kind = `edge ${one.node.active ? "active" : ""} ${gone(one.node) ? "gone" : ""} ${seen?.has(one.id) ? "seen" : ""}`;
    this.picture.append(svg("path", { d: shape, class: kind, "data-to": one.id }));
  }

  knot(one, head, seen) {
    const { node } = one;
    const [x, y] = [this.x(one), this.y(one)];
    const kinds = ["knot", node.active ? "active" : "", gone(node) ? "gone" : "", node.id === head ? "head" : "", seen?.has(node.id) ? "seen" : "", node.id === this.selected ? "picked" : "", agentClass(this.page.thread?.agents, node.agentId).replace("agent ", "")];
    const label = `${node.active ? "on the active path" : "on another branch"}${one.run.length ? `, ${one.run.length} more before it` : ""}`;
    const act = () => node.id !== null && !this.box.classList.contains("dragged") && this.pick(node.id);
    const name = node.id === null ? "Beginning" : speaker(this.page.thread?.agents, node);
    const tags = [node.id === head ? "head" : "", gone(node) ? node.status : ""].filter(Boolean).join(" · ");
    const made = svg(
      "g",
      null,
      svg(
        "g",
        { class: kinds.join(" "), tabindex: node.id === null ? null : 0, role: node.id === null ? null : "button", "aria-description": node.id === null ? null : shown(label), "data-id": node.id, click: act, keydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), act()) },
        svg("rect", { x: 2, y: y - 20, width: this.size[0] - 4, height: ROW - 4, rx: 6, class: "hit" }),
        svg("circle", { cx: x, cy: y, r: node.id === head ? 7 : 5 }),
        svg("text", { x: this.text, y: y - 3, class: "role" }, shown(String(name)).slice(0, 24), tags ? svg("tspan", { class: "tags" }, `  ${shown(tags)}`) : null),
        svg("text", { x: this.text, y: y + 12, class: "words" }),
      ),
      one.run.length ? this.pill(x, y, `+${one.run.length.toLocaleString()}`, `Show ${one.run.length} messages before this`, () => this.opened.add(one.run[0])) : null,
      one.opens ? this.pill(x, y, "−", "Fold this run of messages", () => this.opened.delete(one.opens)) : null,
    );
    this.tell(one.id, made);
    return made;
  }

  // The count on a line: a click expands or collapses its run of messages.
  pill(x, y, words, label, act) {
    const wide = 12 + words.length * 7;
    const go = (event) => {
      event.stopPropagation();
      event.preventDefault();
      act();
      this.draw();
    };
    return svg("g", { class: "pill", tabindex: 0, role: "button", "aria-label": label, click: go, keydown: (event) => (event.key === "Enter" || event.key === " ") && go(event) }, svg("rect", { x: x - wide / 2, y: y - 31, width: wide, height: 16, rx: 8 }), svg("text", { x, y: y - 19 }, words));
  }

  // Loads texts of visible nodes.
  soon() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => {
      const { top, bottom } = this.box.getBoundingClientRect();
      for (const knot of this.knots ?? []) {
        const id = knot.firstChild.dataset.id;
        if (id === undefined || this.told.has(id)) continue;
        const place = knot.getBoundingClientRect();
        if (place.bottom < top || place.top > bottom) continue;
        this.told.set(id, null);
        get(thread(this.threadId, `/messages/${encoded(id)}`)).then((message) => this.learned(id, message)).catch(() => {});
      }
    });
  }

  learned(id, message) {
    this.told.set(id, message);
    const knot = this.knots.find((one) => one.firstChild.dataset.id === id);
    if (knot) this.tell(id, knot);
    if (id === this.selected) this.describe();
  }

  tell(id, knot) {
    const message = this.told.get(id);
    if (!message) return;
    knot.querySelector(".words").textContent = gist(message, 42);
    if (!message.sidechain) return;
    knot.firstChild.classList.add("chain");
    this.picture.querySelector(`path[data-to="${CSS.escape(id)}"]`)?.classList.add("chain");
    if (!knot.querySelector(".side-tag")) knot.querySelector(".role").append(svg("tspan", { class: "tags side-tag" }, "  sidechain"));
  }

  pick(id) {
    this.selected = id;
    return this.page.guarded(() => this.page.lookAt(id));
  }

  // The selected node and its actions.
  describe() {
    const { page, selected } = this;
    const node = page.path.byId.get(selected);
    this.card.hidden = !node;
    if (!node) return;
    const message = this.told.get(selected);
    const facts = [node.status && node.status !== "committed" ? node.status : "", message?.sidechain ? "sidechain" : "", message?.createdAt ? when(message.createdAt) : ""].filter(Boolean).join(" · ");
    const tip = page.path.tip(selected);
    const acts = [button("Fork from here", () => fork(page, { id: selected }))];
    if (page.thread.head !== null && !page.path.byId.get(tip)?.active) acts.unshift(button("Check out", () => checkout(page, selected, selected), { class: "primary" }), button("Compare with active", () => page.compare(tip, page.thread.head)));
    this.card.replaceChildren(el("p", { class: "card-words" }, message ? gist(message, 160) : "…"), el("p", { class: "dim" }, [speaker(page.thread.agents, node), node.active ? "on the active path" : "on another branch", facts].filter(Boolean).join(" · ")), el("div", { class: "card-acts" }, acts));
  }
}
