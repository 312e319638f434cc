// Two branches from their fork point, side by side: two versions of a message, or any two places of the tree.

import { button, el, tell } from "/viewer/elements.js";
import { encoded, get, thread } from "/viewer/api.js";
import { answered, gist, message } from "/viewer/message.js";

const MOST = 30;

// The fork point of two messages: their last common message, and the rest of each path.
function parting(path, one, other) {
  const [left, right] = [path.upTo(one), path.upTo(other)];
  let at = 0;
  while (at < left.length && left[at] === right[at]) at++;
  return { parent: at ? left[at - 1] : null, sides: [left[at], right[at]] };
}

export async function compareDialog(dialog, page, one, other) {
  const { path, threadId } = page;
  const siblings = path.siblings(one);
  const beside = other ?? siblings[siblings.indexOf(one) ? siblings.indexOf(one) - 1 : 1];
  const { parent, sides } = parting(path, ...(other === undefined && siblings.indexOf(one) === 0 ? [one, beside] : [beside, one]));
  const ids = path.children.get(parent) ?? [];
  const tips = new Map([one, other].filter((id) => id !== undefined).map((id) => [sides.find((side) => path.upTo(id).includes(side)), id]));
  const context = { ...page.context(), actions: null, siblings: null, decide: null, changes: null };

  function column(start, at) {
    const said = el("div", { class: "compared", tabindex: 0, role: "region", "aria-label": at ? "The version on the right" : "The version on the left" });
    const label = (id, i) => `Version ${i + 1} of ${ids.length}${path.byId.get(id)?.active ? " · active" : ""}${path.byId.get(id)?.status === "superseded" ? " · superseded" : ""}`;
    const choice = el("select", { "aria-label": at ? "Version on the right" : "Version on the left", change: () => fill(ids[Number(choice.value)]) }, ids.map((id, i) => el("option", { value: i, selected: id === start }, label(id, i))));
    const fill = async (id) => {
      said.replaceChildren(el("p", { class: "note" }, "…"));
      try {
        if (id === undefined) return said.replaceChildren(el("p", { class: "note" }, "No further messages on this branch."));
        const found = await get(thread(threadId, "/messages"), { newest: false, limit: MOST, after: parent, head: path.tip(tips.get(id) ?? id) });
        const joined = { ...context, ...answered(found.items) };
        const shown = found.items.filter((each) => !(each.role === "tool" && each.parts?.every((part) => joined.taken.has(part))));
        said.replaceChildren(...shown.map((each, j) => message(each, joined, shown[j - 1])), found.next ? el("p", { class: "note" }, "… and more") : "");
      } catch (error) {
        tell(error.message, true);
      }
      return undefined;
    };
    fill(start);
    return el("section", null, choice, said);
  }

  const words = parent === null ? "From the beginning" : "After";
  const where = el("p", { class: "dim compare-where" }, words);
  if (parent !== null) get(thread(threadId, `/messages/${encoded(parent)}`)).then((found) => where.append(": ", el("q", null, gist(found, 120)))).catch(() => {});
  dialog.replaceChildren(el("h2", { id: "dialog-title" }, "Two branches, side by side"), where, el("div", { class: "compare" }, sides.map(column)), el("footer", null, button("Close", () => dialog.close())));
  dialog.classList.add("wide");
  dialog.addEventListener("close", () => dialog.classList.remove("wide"), { once: true });
  dialog.showModal();
}
