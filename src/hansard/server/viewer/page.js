// The page: the open thread, its view and its updates. Viewing another version, a search hit or a node of the tree does
// not move the thread's head; only check out, fork, edit, regenerate and undo do.

import { button, counted, el, shown, tell } from "/viewer/elements.js";
import { decoded, encoded, get, thread } from "/viewer/api.js";
import { actions, checkout, decide } from "/viewer/branching.js";
import { Chat } from "/viewer/chat.js";
import { compareDialog } from "/viewer/compare.js";
import { Conversation } from "/viewer/conversation.js";
import { Files } from "/viewer/files.js";
import { siblingSwitch, tokens } from "/viewer/message.js";
import { Path } from "/viewer/path.js";
import { ThreadList } from "/viewer/threads.js";
import { Tree } from "/viewer/tree.js";

const at = (id) => document.getElementById(id);

export class Page {
  constructor() {
    this.threadId = null;
    this.thread = null;
    this.path = new Path([]);
    this.runs = [];
    this.pending = new Map();
    this.decisions = new Map();
    this.conversation = new Conversation(at("conversation"));
    this.chat = new Chat(at("composer"), this);
    this.list = new ThreadList(at("threads"), { openThread: (id, messageId) => this.go(id, messageId) });
    this.tree = new Tree(at("tree"), this);
    this.files = new Files(at("files"), this, at("undo"));
    this.panels = { tree: this.tree, files: this.files };
  }

  place(id, messageId) {
    return id === null ? "#" : `#/t/${encoded(id)}${messageId ? `/m/${encoded(messageId)}` : ""}`;
  }

  go(id, messageId = null) {
    const place = this.place(id, messageId);
    if (location.hash === place || (place === "#" && !location.hash)) this.route();
    else location.hash = place;
  }

  route() {
    const found = /^#\/t\/([^/]+)(?:\/m\/([^/]+))?$/.exec(location.hash);
    if (!found) return this.shut();
    return this.open(decoded(found[1]), found[2] ? decoded(found[2]) : null).catch((error) => this.failed(error));
  }

  shut() {
    this.threadId = null;
    this.list.mark(null);
    this.chat.leave();
    document.body.classList.remove("reading");
    at("thread-bar").hidden = at("composer").hidden = at("conversation").hidden = at("elsewhere").hidden = true;
    this.panel(null);
    at("nothing").hidden = false;
    const key = (name, does) => el("li", null, el("kbd", null, name), does);
    at("nothing").replaceChildren(
      el("p", { class: "empty-title" }, "One ledger for every conversation"),
      el("p", { class: "dim" }, "Choose a thread, search, or start a chat. Drop a file anywhere to import it."),
      el("ul", { class: "keys" }, key("/", "search"), key("j k", "next, previous message"), key("[ ]", "other versions"), key("?", "all keys")),
    );
    document.title = "Hansard";
  }

  failed(error) {
    at("nothing").hidden = false;
    at("conversation").hidden = at("composer").hidden = at("elsewhere").hidden = at("thread-acts").hidden = true;
    this.panel(null);
    at("title").textContent = "Not shown";
    at("nothing").replaceChildren(el("p", { class: "empty-title" }, "This thread cannot be shown"), el("p", { class: "wrong" }, error.message), el("p", null, button("Back to the threads", () => this.go(null))));
  }

  async open(id, messageId) {
    const other = id !== this.threadId;
    if (other) this.chat.leave();
    this.threadId = id;
    this.list.mark(id);
    document.body.classList.add("reading");
    at("nothing").hidden = true;
    at("thread-bar").hidden = at("thread-acts").hidden = at("conversation").hidden = at("composer").hidden = false;
    if (other || !this.thread) {
      this.decisions.clear();
      this.conversation.wait(this.fresh === id ? 0 : 3);
      at("title").textContent = shown(this.list.nameNow(id) ?? "…");
      at("facts").textContent = "";
      if (!(await this.load(id))) return;
    }
    const stray = messageId && !this.path.place.has(messageId) && this.path.byId.has(messageId);
    if (stray) this.path = this.pathTo(messageId);
    this.elsewhere();
    if (other || stray || !this.conversation.path) await this.conversation.open(id, this.path, this.context(), { at: messageId });
    else if (messageId) await this.conversation.jump(messageId);
    this.head();
    this.drawPanels();
    if (other && this.runs.some((run) => run.status === "active")) this.chat.resume();
  }

  // The path a message is on: the active one, or that to the end of its branch.
  pathTo(id) {
    return this.path.byId.get(id)?.active ? new Path(this.path.nodes, null, this.path.agents) : new Path(this.path.nodes, this.path.tip(id), this.path.agents);
  }

  // Shows a message and the branch it is on; the thread's head stays where it is.
  async lookAt(id) {
    if (!this.path.byId.has(id)) return;
    this.path = this.pathTo(id);
    history.replaceState(null, "", this.place(this.threadId, this.path.end === null ? null : id));
    this.elsewhere();
    await this.conversation.open(this.threadId, this.path, this.context(), { keep: true, at: id });
    await this.conversation.redraw(this.context());
    this.drawPanels();
  }

  elsewhere() {
    const { end } = this.path;
    at("elsewhere").hidden = end === null;
    at("composer").hidden = end !== null;
    const go = button("Check out", () => checkout(this, end, this.conversation.selected), { class: "primary", title: "Make this the active branch: the conversation continues from its end" });
    const back = button("Back to the active branch", () => this.guarded(() => this.back()));
    at("elsewhere").replaceChildren(el("span", null, el("strong", null, "This is another branch."), " You are only looking."), el("span", { class: "grow" }), back, go);
  }

  back() {
    this.path = new Path(this.path.nodes, null, this.path.agents);
    history.replaceState(null, "", this.place(this.threadId, null));
    return this.changed(this.threadId);
  }

  // Loads the thread; false if another thread was opened in the meantime.
  async load(id) {
    let found;
    try {
      found = await Promise.all([get(thread(id)), get(thread(id, "/tree")), get(thread(id, "/runs")), get(thread(id, "/pending")), get(thread(id, "/sub-agents"))]);
    } catch (error) {
      if (error.status !== 404 || this.fresh !== id) throw error;
      found = [{ id, messages: 0, agents: {}, version: 0, head: null }, [], [], [], []];
    }
    if (this.threadId !== id) return false;
    const [told, nodes, runs, pending, started] = found;
    const agents = new Map(started.map((one) => [one.id, one]));
    const { end } = this.path;
    const known = this.thread?.id === id && end !== null && nodes.some((node) => node.id === end && !node.active);
    Object.assign(this, { thread: told, path: new Path(nodes, null, agents), runs, pending: new Map(pending.map((one) => [one.toolCallId, one])) });
    if (known) this.path = new Path(nodes, this.path.tip(end), agents);
    return true;
  }

  // Shows the current path after a change and keeps the scroll position.
  async changed(id = this.threadId, messageId = null) {
    if (id === null || id !== this.threadId || !(await this.load(id))) return;
    this.elsewhere();
    await this.conversation.open(id, this.path, this.context(), { keep: true, at: messageId });
    await this.conversation.redraw(this.context());
    this.head();
    this.drawPanels();
    this.list.freshen().catch(() => {});
  }

  head() {
    const { thread: told } = this;
    const title = told.title || this.list.titles.get(told.id) || (told.messages ? "…" : "New chat");
    if (title === "…") this.list.nameOf(told.id).then(() => this.thread === told && this.list.titles.has(told.id) && this.head()).catch(() => {});
    at("title").textContent = shown(title);
    at("undo").disabled = !told.messages;
    document.title = `${shown(title).slice(0, 80)} · Hansard`;
    const agents = Object.values(told.agents ?? {}).map((one) => one.name ?? one.id);
    const ends = this.path.ends();
    at("facts").textContent = shown([counted(told.messages, "message"), ends > 1 ? counted(ends, "branch", "branches") : "", tokens(told.usage), agents.slice(0, 4).join(", ")].filter(Boolean).join(" · "));
  }

  // What a sub-agent did; a click shows its messages.
  subAgent(one) {
    const took = one.seconds === null ? "" : one.seconds < 60 ? `${Math.round(one.seconds)} s` : `${Math.floor(one.seconds / 60)} min ${Math.round(one.seconds % 60)} s`;
    const told = [`sub-agent: ${counted(one.messages, "message")}`, tokens(one.usage), took].filter(Boolean).join(" · ");
    return el("p", { class: "note sub-agent" }, button(told, () => this.guarded(() => this.lookAt(one.last)), { title: "Show the messages of this sub-agent" }));
  }

  context() {
    return {
      agents: this.thread?.agents ?? {},
      pending: this.pending,
      node: (id) => this.path.byId.get(id),
      subAgents: (call) => [...this.path.agents.values()].filter((one) => one.toolCallId === call).map((one) => this.subAgent(one)),
      siblings: (id) => {
        const ids = this.path.siblings(id);
        return ids ? siblingSwitch(ids, id, (other) => this.guarded(() => this.lookAt(other)), () => this.compare(id)) : null;
      },
      changes: (id) => this.files.badge(id),
      actions: (one) => actions(this, one),
      decide: (call, waits) => decide(this, call, waits),
    };
  }

  compare(one, other) {
    return this.guarded(() => compareDialog(at("dialog"), this, one, other));
  }

  // At most one panel is open beside the conversation.
  panel(name) {
    for (const [own, panel] of Object.entries(this.panels)) {
      const on = own === name;
      panel.place.hidden = !on;
      at(`show-${own}`).setAttribute("aria-expanded", String(on));
      if (on) panel.draw();
    }
    document.body.classList.toggle("with-panel", name !== null);
  }

  toggle(name) {
    if (this.threadId !== null) this.panel(this.panels[name].place.hidden ? name : null);
  }

  drawPanels() {
    for (const panel of Object.values(this.panels)) if (!panel.place.hidden) panel.draw();
    this.files.look().catch(() => {});
  }

  // The other versions of the selected message, or of the nearest one before it that has some.
  async sibling(by) {
    for (let i = this.path.place.get(this.conversation.selected) ?? this.path.ids.length - 1; i >= 0; i--) {
      const ids = this.path.siblings(this.path.ids[i]);
      if (!ids) continue;
      const other = ids[ids.indexOf(this.path.ids[i]) + by];
      if (other !== undefined) await this.lookAt(other);
      return;
    }
  }

  // Polls for changes by others; true if there were any.
  async look() {
    const news = await this.list.freshen();
    const id = this.threadId;
    if (id === null || !this.thread || this.chat.busy) return news;
    const told = await get(thread(id)).catch((error) => {
      if (error.status === 404 && this.fresh === id) return this.thread;
      throw error;
    });
    if (id !== this.threadId || told.version === this.thread.version || this.chat.busy) return news;
    await this.changed(id);
    if (this.runs.some((run) => run.status === "active") && this.path.end === null && !this.chat.busy) this.chat.resume();
    return true;
  }

  async guarded(act) {
    try {
      return await act();
    } catch (error) {
      tell(error.message, true);
      return undefined;
    }
  }
}
