// The page: which thread is open, what is drawn of it, and the keys.

import { button, el, shown, tell } from "/viewer/elements.js";
import { encoded, get, newId, post, rememberToken, thread } from "/viewer/api.js";
import { Chat } from "/viewer/chat.js";
import { compareDialog } from "/viewer/compare.js";
import { Conversation } from "/viewer/conversation.js";
import { dropZone, exportDialog, importFiles } from "/viewer/documents.js";
import { siblingSwitch, tokens } from "/viewer/message.js";
import { Path } from "/viewer/path.js";
import { ThreadList } from "/viewer/threads.js";
import { drawTree } from "/viewer/tree.js";

const LOOK = 3000; // milliseconds between two looks for what others changed
const at = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.threadId = null;
    this.thread = null;
    this.path = new Path([]);
    this.pending = new Map();
    this.decisions = new Map();
    this.conversation = new Conversation(at("conversation"));
    this.chat = new Chat(at("composer"), this);
    this.list = new ThreadList(at("threads"), { openThread: (id, messageId) => this.go(id, messageId) });
  }

  go(id, messageId = null) {
    const place = id === null ? "#" : `#/t/${encoded(id)}${messageId ? `/m/${encoded(messageId)}` : ""}`;
    if (location.hash === place || (place === "#" && !location.hash)) this.route();
    else location.hash = place;
  }

  route() {
    const found = /^#\/t\/([^/]+)(?:\/m\/([^/]+))?$/.exec(location.hash);
    if (!found) return this.shut();
    return this.open(decodeURIComponent(found[1]), found[2] ? decodeURIComponent(found[2]) : null).catch((error) => this.failed(error));
  }

  shut() {
    this.threadId = null;
    this.list.mark(null);
    this.chat.leave();
    document.body.classList.remove("reading");
    at("thread-bar").hidden = at("composer").hidden = at("conversation").hidden = true;
    at("tree").hidden = at("elsewhere").hidden = true;
    document.body.classList.remove("with-tree");
    at("nothing").hidden = false;
    at("nothing").replaceChildren(el("p", null, "Choose a thread, search, or start a chat."), el("p", { class: "dim keys" }, ["/", " search   ", "j k", " next and previous message   ", "[ ]", " other versions"].map((words, i) => (i % 2 ? words : el("kbd", null, words)))));
    document.title = "Hansard";
  }

  failed(error) {
    at("nothing").hidden = false;
    at("conversation").hidden = true;
    at("nothing").replaceChildren(el("p", { class: "wrong" }, error.message));
  }

  async open(id, messageId) {
    const other = id !== this.threadId;
    if (other) this.chat.leave();
    this.threadId = id;
    this.list.mark(id);
    document.body.classList.add("reading");
    at("nothing").hidden = true;
    at("thread-bar").hidden = at("conversation").hidden = at("composer").hidden = false;
    if (other || !this.thread) {
      this.decisions.clear();
      if (!(await this.load(id))) return;
    }
    const stray = messageId && !this.path.place.has(messageId) && this.path.byId.has(messageId);
    if (stray) this.path = new Path(this.path.nodes, this.path.tip(messageId));
    this.elsewhere();
    if (other || stray || !this.conversation.path) await this.conversation.open(id, this.path, this.context(), { at: messageId });
    else if (messageId) await this.conversation.jump(messageId);
    this.head();
    if (!at("tree").hidden) this.tree();
    if (other && this.runs.some((run) => run.status === "active")) this.chat.resume();
  }

  // A branch that is only looked at: the thread's head stays where it is until somebody says otherwise.
  elsewhere() {
    const { end } = this.path;
    at("elsewhere").hidden = end === null;
    at("composer").hidden = end !== null;
    const go = button("Check it out", () => this.checkout(end, this.conversation.selected));
    const back = button("Back to the active branch", () => this.guarded(() => this.changed(this.threadId)));
    at("elsewhere").replaceChildren("This is another branch of the thread.", el("span", { class: "grow" }), back, go);
  }

  // What the ledger says of the thread; false when the page has gone elsewhere meanwhile.
  async load(id) {
    let found;
    try {
      found = await Promise.all([get(thread(id)), get(thread(id, "/tree")), get(thread(id, "/runs")), get(thread(id, "/pending"))]);
    } catch (error) {
      if (error.status !== 404 || this.fresh !== id) throw error;
      found = [{ id, messages: 0, agents: {}, version: 0, head: null }, [], [], []];
    }
    if (this.threadId !== id) return false;
    const [told, nodes, runs, pending] = found;
    Object.assign(this, { thread: told, path: new Path(nodes), runs, pending: new Map(pending.map((one) => [one.toolCallId, one])) });
    return true;
  }

  // Something changed, here or elsewhere: the path is shown as it is now, and the place that is looked at stays.
  async changed(id = this.threadId, messageId = null) {
    if (id === null || id !== this.threadId || !(await this.load(id))) return;
    this.elsewhere();
    await this.conversation.open(id, this.path, this.context(), { keep: true, at: messageId });
    await this.conversation.redraw(this.context());
    this.head();
    if (!at("tree").hidden) this.tree();
    this.list.freshen().catch(() => {});
  }

  head() {
    const { thread: told } = this;
    const title = told.title || this.list.titles.get(told.id) || (told.messages ? "…" : "New chat");
    if (title === "…") this.list.nameOf(told.id).then(() => this.thread === told && this.list.titles.has(told.id) && this.head()).catch(() => {});
    at("title").textContent = shown(title);
    document.title = `${shown(title).slice(0, 80)} · Hansard`;
    const agents = Object.values(told.agents ?? {}).map((one) => one.name ?? one.id);
    at("facts").textContent = shown([`${told.messages.toLocaleString()} messages`, tokens(told.usage), agents.slice(0, 4).join(", ")].filter(Boolean).join(" · "));
  }

  context() {
    return {
      agents: this.thread?.agents ?? {},
      pending: this.pending,
      siblings: (id) => {
        const ids = this.path.siblings(id);
        return ids ? siblingSwitch(ids, id, (other) => this.checkout(other, other), () => this.compare(id)) : null;
      },
      actions: (one) => this.actions(one),
      decide: (call, waits) => this.decide(call, waits),
    };
  }

  actions(one) {
    if (this.path.end !== null) return null;
    const made = [];
    if (!this.chat.none) {
      if (one.role === "user") made.push(button("Edit", (event) => this.edit(one, event.target)));
      if (one.role === "assistant") made.push(button("Regenerate", () => this.again(one)));
    }
    made.push(button("Fork", () => this.fork(one), { title: "Go on from here: what is said next is a branch of its own" }));
    return el("span", { class: "actions" }, made);
  }

  async again(one) {
    const id = this.path.promptOf(one.id);
    if (!id) return tell("There are no words of a user before this answer.", true);
    await this.guarded(async () => this.chat.again(await get(thread(this.threadId, `/messages/${encoded(id)}`))));
  }

  edit(one, from) {
    const article = from.closest(".message");
    const words = (one.parts ?? []).filter((each) => each.type === "text").map((each) => each.text).join("\n\n");
    const box = el("textarea", { class: "editor", "aria-label": "Edit the message", rows: Math.min(12, words.split("\n").length + 1) });
    box.value = words;
    const body = article.querySelector(".body");
    const undo = () => form.replaceWith(body);
    const form = el("div", { class: "body" }, box, el("div", { class: "composer-row" }, el("span", { class: "grow" }), button("Cancel", undo), button("Send as a new branch", () => this.guarded(() => (undo(), this.chat.edit(one, box.value))), { class: "primary" })));
    body.replaceWith(form);
    box.focus();
  }

  fork(one) {
    return this.guarded(async () => {
      await post(thread(this.threadId, "/fork"), { messageId: one.id });
      await this.changed(this.threadId, one.id);
      tell("What you say next goes on from here. The other branch is kept.");
      if (!this.chat.none) this.chat.box.focus();
    });
  }

  checkout(id, show) {
    return this.guarded(async () => {
      await post(thread(this.threadId, "/checkout"), { messageId: id, tip: true });
      await this.changed(this.threadId, show);
    });
  }

  // All calls that wait are answered at once: a run goes on when nothing waits any more.
  decide(call, waits) {
    const id = call.toolCallId;
    const told = this.decisions.get(id);
    const set = (value) => this.guarded(async () => {
      this.decisions.set(id, value);
      if ([...this.pending.keys()].every((one) => this.decisions.has(one))) {
        const decisions = new Map(this.decisions);
        this.decisions.clear();
        await this.chat.answer(decisions);
      } else await this.conversation.redraw(this.context());
    });
    if (told) return el("footer", { class: "decide" }, el("span", { class: "dim" }, "Answered; other calls still wait."));
    if (waits.kind === "approval") return el("footer", { class: "decide" }, el("span", null, "May it run?"), el("span", { class: "grow" }), button("Deny", () => set({ approved: false })), button("Approve", () => set({ approved: true }), { class: "primary" }));
    const box = el("input", { type: "text", placeholder: "The result of this call", "aria-label": "Result of the call" });
    return el("footer", { class: "decide" }, box, button("Answer", () => set({ output: box.value }), { class: "primary" }));
  }

  tree() {
    drawTree(at("tree"), this.threadId, this.path, this.thread?.head, { go: (id) => this.checkout(id, id), close: () => this.toggleTree(false) });
  }

  compare(id) {
    return this.guarded(() => compareDialog(at("export"), this.threadId, this.path, id, this.context()));
  }

  toggleTree(on = at("tree").hidden) {
    at("tree").hidden = !on;
    at("show-tree").setAttribute("aria-expanded", String(on));
    document.body.classList.toggle("with-tree", on);
    if (on) this.tree();
  }

  // The other versions of the selected message, or of the nearest one before it that has some.
  sibling(by) {
    for (let i = this.path.place.get(this.conversation.selected) ?? this.path.ids.length - 1; i >= 0; i--) {
      const ids = this.path.siblings(this.path.ids[i]);
      if (!ids) continue;
      const other = ids[ids.indexOf(this.path.ids[i]) + by];
      if (other) this.checkout(other, other);
      return;
    }
  }

  async look() {
    if (document.hidden) return;
    await this.list.freshen();
    if (this.threadId === null || !this.thread || this.chat.busy) return;
    const id = this.threadId;
    const told = await get(thread(id));
    if (id === this.threadId && told.version !== this.thread.version && !this.chat.busy && this.path.end === null) await this.changed(id);
  }

  async guarded(act) {
    try {
      await act();
    } catch (error) {
      tell(error.message, true);
    }
  }
}

function wantToken(page) {
  const dialog = at("token");
  if (dialog.open) return;
  const box = el("input", { type: "password", "aria-label": "Token", autocomplete: "off" });
  const enter = () => {
    rememberToken(box.value.trim());
    dialog.close();
    begin(page);
  };
  box.addEventListener("keydown", (event) => event.key === "Enter" && enter());
  dialog.replaceChildren(el("h2", { id: "token-title" }, "This server asks for its token"), box, el("footer", null, button("Enter", enter, { class: "primary" })));
  dialog.showModal();
}

function keys(page) {
  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, textarea, select");
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const act = { j: () => page.conversation.step(1), k: () => page.conversation.step(-1), "[": () => page.sibling(-1), "]": () => page.sibling(1), "/": () => at("search").focus(), t: () => page.threadId !== null && page.toggleTree() }[event.key];
    if (!act) return;
    event.preventDefault();
    page.guarded(async () => act());
  });
}

async function begin(page) {
  const [agents] = await Promise.all([get("/api/agents").catch(() => []), page.list.start()]);
  page.chat.agents(agents);
  await page.route();
}

const page = new Page();
const given = /^#token=(.+)$/.exec(location.hash);
if (given) {
  rememberToken(decodeURIComponent(given[1]));
  history.replaceState(null, "", "/");
}
let typed = 0;
at("search").addEventListener("input", (event) => {
  clearTimeout(typed);
  typed = setTimeout(() => page.list.start(event.target.value.trim()), 150);
});
at("new-chat").addEventListener("click", () => {
  page.fresh = newId();
  page.go(page.fresh);
  page.chat.box.focus();
});
at("import").addEventListener("change", (event) => importFiles([...event.target.files], (id) => page.list.start("").then(() => page.go(id))));
at("import-label").addEventListener("keydown", (event) => (event.key === "Enter" || event.key === " ") && at("import").click());
document.querySelector(".skip").addEventListener("click", (event) => (event.preventDefault(), at("main").focus()));
at("back").addEventListener("click", () => page.go(null));
at("show-tree").addEventListener("click", () => page.toggleTree());
at("show-export").addEventListener("click", () => page.guarded(() => exportDialog(at("export"), page.threadId)));
dropZone(at("drop"), (id) => page.list.start("").then(() => page.go(id)));
document.addEventListener("token-wanted", () => wantToken(page));
addEventListener("hashchange", () => page.route());
keys(page);
setInterval(() => page.look().catch(() => {}), LOOK);
begin(page).catch((error) => tell(error.message, true));
