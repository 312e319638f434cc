// Help: the keys and the terms of the page.

import { button, el } from "/viewer/elements.js";

const KEYS = [
  ["j  k", "Next and previous message"],
  ["[  ]", "Earlier and later version of a message"],
  ["/", "Search all messages"],
  ["t", "The branch tree"],
  ["f", "The files this thread changed"],
  ["u", "Undo: the plan is shown first"],
  ["r", "Redo: the plan is shown first"],
  ["e", "Export, with everything that would be lost"],
  ["Esc", "Leave a box, close a panel"],
  ["?", "This help"],
];
const WORDS = [
  ["Active path", "the branch that the thread continues from; agents see only this one"],
  ["Looking", "other versions and branches are shown without changing the active path"],
  ["Check out", "makes the branch you look at the active one"],
  ["Fork", "continues from an earlier message; the rest is kept as a branch"],
  ["Superseded", "a run that was regenerated; its messages are kept"],
  ["Sidechain", "messages of a sub-agent, outside the main conversation"],
];

export function helpDialog(dialog) {
  dialog.replaceChildren(
    el("h2", { id: "dialog-title", tabindex: -1, autofocus: true }, "Keys and terms"),
    el("dl", { class: "help" }, KEYS.flatMap(([keys, does]) => [el("dt", null, keys.split("  ").map((key) => el("kbd", null, key))), el("dd", null, does)])),
    el("dl", { class: "help words" }, WORDS.flatMap(([name, means]) => [el("dt", null, name), el("dd", null, means)])),
    el("p", { class: "note" }, "Search accepts words, \"phrases\", beginn*, -without, and role: tool: agent: thread: since: until:."),
    el("footer", null, button("Close", () => dialog.close())),
  );
  dialog.showModal();
}
