// The branch tree, drawn: linear runs are one line with a count, the active path is the straight one on the left,
// what was superseded is dashed. A click checks a branch out.

import { button, el, shown, svg } from "/viewer/elements.js";
import { get, thread, encoded } from "/viewer/api.js";

const ROW = 46;
const COLUMN = 26;
const MOST = 400;
const WORDS = 60;
let scale = 1;

// The nodes worth drawing: ends, forks and what comes right behind a fork. `skipped` counts those in between.
export function collapsed(path) {
  const made = new Map();
  const roots = path.children.get(null) ?? [];
  // Several first messages are versions of one another: they hang on the beginning itself.
  if (roots.length > 1) made.set(null, { id: null, parent: undefined, skipped: 0, below: roots.length, node: { id: null, role: "beginning", active: true } });
  const stack = roots.map((id) => [id, null]).reverse();
  while (stack.length && made.size < MOST) {
    let [id, parent] = stack.pop();
    let skipped = 0;
    const first = id;
    let below = path.children.get(id) ?? [];
    const keep = parent === null || (made.get(parent)?.below ?? 0) > 1;
    if (!keep || below.length !== 1) {
      while (below.length === 1) {
        id = below[0];
        below = path.children.get(id) ?? [];
        skipped++;
      }
    }
    if (keep && id !== first) skipped--;
    made.set(id, { id, parent, skipped, below: below.length, node: path.byId.get(id) });
    for (const child of [...below].reverse()) stack.push([child, id]);
  }
  return made;
}

function placed(drawn) {
  const children = new Map();
  for (const one of drawn.values()) children.set(one.parent, [...(children.get(one.parent) ?? []), one]);
  let width = 0;
  const put = (one, row, column) => {
    one.row = row;
    one.column = column;
    width = Math.max(width, column);
    const below = (children.get(one.id) ?? []).sort((a, b) => Number(b.node.active) - Number(a.node.active));
    let next = row + 1;
    below.forEach((child, i) => {
      next = put(child, next, i === 0 ? column : ++width);
    });
    return next;
  };
  let row = 0;
  if (drawn.has(null)) row = put(drawn.get(null), 0, 0);
  else for (const root of (children.get(null) ?? []).sort((a, b) => Number(b.node.active) - Number(a.node.active))) row = put(root, row, row ? ++width : 0);
  return { rows: row, columns: width + 1 };
}

export function drawTree(place, threadId, path, head, { go, close }) {
  const drawn = collapsed(path);
  const { rows, columns } = placed(drawn);
  const text = 30 + columns * COLUMN;
  const width = text + 250;
  const height = rows * ROW + 20;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width: width * scale, height: height * scale, role: "group", "aria-label": "Branches of this thread" });
  const x = (one) => 18 + one.column * COLUMN;
  const y = (one) => 22 + one.row * ROW;
  for (const one of drawn.values()) {
    const parent = drawn.get(one.parent);
    if (!parent) continue;
    const kind = `edge ${one.node.active ? "active" : ""} ${gone(one.node) ? "gone" : ""}`;
    const [x1, y1, x2, y2] = [x(parent), y(parent), x(one), y(one)];
    const shape = x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}C${x1} ${y1 + 26} ${x2} ${y1 + 8} ${x2} ${y1 + 34}V${y2}`;
    picture.append(svg("path", { d: shape, class: kind }));
  }
  const few = drawn.size <= WORDS;
  for (const one of drawn.values()) picture.append(knot(one, { x: x(one), y: y(one), text, head, threadId, go, few }));
  const zoom = (by) => {
    scale = Math.min(2, Math.max(0.4, scale * by));
    picture.setAttribute("width", width * scale);
    picture.setAttribute("height", height * scale);
  };
  const ends = [...drawn.values()].filter((one) => one.below === 0).length;
  place.replaceChildren(
    el("header", { class: "bar" }, el("h2", null, "Branches"), el("span", { class: "dim" }, `${ends} ${ends === 1 ? "end" : "ends"}`), el("span", { class: "grow" }), button("−", () => zoom(0.8), { "aria-label": "Smaller" }), button("+", () => zoom(1.25), { "aria-label": "Larger" }), button("×", close, { "aria-label": "Close the tree" })),
    el("div", { class: "tree-box", tabindex: 0, role: "region", "aria-label": "Tree" }, rows ? picture : el("p", { class: "note" }, "Nothing was said yet.")),
    el("p", { class: "legend" }, el("span", { class: "key-active" }, "active path"), el("span", { class: "key-gone" }, "superseded")),
  );
}

function gone(node) {
  return ["superseded", "aborted", "failed"].includes(node.status);
}

function knot(one, { x, y, text, head, threadId, go, few }) {
  const { node } = one;
  const act = () => node.id !== null && go(node.id);
  const words = svg("tspan", { class: "words" });
  const label = `${node.role}${one.skipped > 0 ? `, ${one.skipped} more before it` : ""}${node.active ? ", on the active path" : ""}${node.status ? `, ${node.status}` : ""}`;
  const made = svg(
    "g",
    { class: `knot ${node.active ? "active" : ""} ${gone(node) ? "gone" : ""} ${node.id === head ? "head" : ""}`, tabindex: 0, role: "button", "aria-label": shown(label), "data-id": node.id, click: act, keydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), act()) },
    svg("rect", { x: 0, y: y - 20, width: text + 250, height: 40, class: "hit" }),
    svg("circle", { cx: x, cy: y, r: node.id === head ? 7 : 5 }),
    svg("text", { x: text, y: y - 2, class: "role" }, node.agentId ?? node.role, one.skipped > 0 ? svg("tspan", { class: "skipped" }, `  +${one.skipped.toLocaleString()}`) : null, node.status && node.status !== "committed" ? svg("tspan", { class: "skipped" }, `  ${shown(node.status)}`) : null),
    svg("text", { x: text, y: y + 14 }, words),
  );
  if (few && node.id !== null) {
    get(thread(threadId, `/messages/${encoded(node.id)}`))
      .then((message) => {
        words.textContent = shown(gist(message)).slice(0, 38);
      })
      .catch(() => {});
  }
  return made;
}

export function gist(message) {
  for (const one of message.parts ?? []) if (typeof one?.text === "string" && one.type === "text" && one.text.trim()) return one.text.trim().replace(/\s+/g, " ");
  const tool = (message.parts ?? []).find((one) => one?.toolName);
  return tool ? `${tool.type === "tool-call" ? "calls" : "answer of"} ${tool.toolName}` : `(${message.parts?.[0]?.type ?? "nothing"})`;
}
