// Two versions of a message and what followed each, side by side.

import { button, el, tell } from "/viewer/elements.js";
import { get, thread } from "/viewer/api.js";
import { answered, message } from "/viewer/message.js";

const MOST = 30;

export async function compareDialog(dialog, threadId, path, id, context) {
  const ids = path.siblings(id);
  const parent = path.byId.get(id).parentId;
  const at = ids.indexOf(id);
  const sides = [at > 0 ? at - 1 : at, at > 0 ? at : at + 1].map((which) => column(which));

  function column(which) {
    const said = el("div", { class: "compared" });
    const choice = el("select", { "aria-label": "Version", change: () => fill(Number(choice.value)) }, ids.map((_, i) => el("option", { value: i, selected: i === which }, `Version ${i + 1} of ${ids.length}`)));
    const fill = async (i) => {
      try {
        const found = await get(thread(threadId, "/messages"), { newest: false, limit: MOST, after: parent, head: path.tip(ids[i]) });
        const joined = { ...context, ...answered(found.items), actions: null, siblings: null, decide: null };
        const shown = found.items.filter((one) => !(one.role === "tool" && one.parts?.every((each) => joined.taken.has(each))));
        said.replaceChildren(...shown.map((one, j) => message(one, joined, shown[j - 1])), found.next ? el("p", { class: "note" }, "… and more") : "");
      } catch (error) {
        tell(error.message, true);
      }
    };
    fill(which);
    return el("section", { class: "compare-side" }, choice, said);
  }

  dialog.replaceChildren(el("h2", { id: "export-title" }, "Two versions, side by side"), el("div", { class: "compare" }, sides), el("footer", null, button("Close", () => dialog.close())));
  dialog.classList.add("wide");
  dialog.addEventListener("close", () => dialog.classList.remove("wide"), { once: true });
  dialog.showModal();
}
