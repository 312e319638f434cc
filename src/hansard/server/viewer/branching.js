// Operations that move the head of a thread: check out, fork, edit, regenerate, answers to pending calls. They create
// branches and delete nothing.

import { button, el, tell } from "/viewer/elements.js";
import { encoded, get, post, thread } from "/viewer/api.js";

export function actions(page, one) {
  const made = [];
  if (page.path.end === null && !page.chat.none) {
    if (one.role === "user") made.push(button("Edit", (event) => edit(page, one, event.target), { title: "Edit this message on a new branch" }));
    if (one.role === "assistant") made.push(button("Regenerate", () => regenerate(page, one), { title: "Generate another answer on a new branch" }));
  }
  made.push(button("Fork", () => fork(page, one), { title: "Continue from here on a new branch" }));
  return el("span", { class: "actions" }, made);
}

export function checkout(page, id, show) {
  return page.guarded(async () => {
    await post(thread(page.threadId, "/checkout"), { messageId: id, tip: true });
    await moved(page, show);
  });
}

export function fork(page, one) {
  return page.guarded(async () => {
    await post(thread(page.threadId, "/fork"), { messageId: one.id });
    await moved(page, one.id);
    tell("Your next message continues from here. The other branch is kept.");
    if (!page.chat.none) page.chat.box.focus();
  });
}

// The head has moved: show the active path.
async function moved(page, show) {
  page.path.end = null;
  history.replaceState(null, "", page.place(page.threadId, null));
  await page.changed(page.threadId, show);
}

function regenerate(page, one) {
  const id = page.path.promptOf(one.id);
  if (!id) return tell("There is no user message before this answer.", true);
  return page.guarded(async () => page.chat.again(await get(thread(page.threadId, `/messages/${encoded(id)}`))));
}

function edit(page, one, from) {
  const article = from.closest(".message");
  const words = (one.parts ?? []).filter((each) => each.type === "text").map((each) => each.text).join("\n\n");
  const send = () => page.guarded(() => (undo(), page.chat.edit(one, box.value)));
  const box = el("textarea", { class: "editor", "aria-label": "Edit the message", rows: Math.min(12, words.split("\n").length + 1), keydown: (event) => (event.key === "Escape" ? undo() : event.key === "Enter" && (event.ctrlKey || event.metaKey) && send()) });
  box.value = words;
  const body = article.querySelector(".body");
  const undo = () => form.replaceWith(body);
  const form = el("div", { class: "body" }, box, el("div", { class: "composer-row" }, el("span", { class: "hint dim" }, "The old message stays on its own branch"), el("span", { class: "grow" }), button("Cancel", undo), button("Send as a new branch", send, { class: "primary" })));
  body.replaceWith(form);
  box.focus();
}

// Answers to all pending calls are sent together: the run continues when no call is pending.
export function decide(page, call, waits) {
  const id = call.toolCallId;
  const told = page.decisions.get(id);
  const set = (value) => page.guarded(async () => {
    page.decisions.set(id, value);
    if ([...page.pending.keys()].every((one) => page.decisions.has(one))) {
      const decisions = new Map(page.decisions);
      page.decisions.clear();
      await page.chat.answer(decisions);
    } else await page.conversation.redraw(page.context());
  });
  if (told) return el("footer", { class: "decide" }, el("span", { class: "dim" }, "Answered; other calls are still pending."));
  if (waits.kind === "approval") return el("footer", { class: "decide" }, el("span", null, "May it run?"), el("span", { class: "grow" }), button("Deny", () => set({ approved: false })), button("Approve", () => set({ approved: true }), { class: "primary" }));
  const box = el("input", { type: "text", placeholder: "The result of this call", "aria-label": "Result of the call" });
  return el("footer", { class: "decide" }, box, button("Answer", () => set({ output: box.value }), { class: "primary" }));
}
