// File changes of each message as diffs; undo and redo, whose plan is shown first. The server runs exactly the plan
// that was shown and rejects an outdated one.

import { button, counted, el, shown, tell } from "/viewer/elements.js";
import { encoded, get, post, thread } from "/viewer/api.js";
import { patch } from "/viewer/code.js";
import { gist, when } from "/viewer/message.js";
import { todos } from "/viewer/parts.js";

const SCOPES = [
  ["both", "Files and conversation"],
  ["files", "Files only"],
  ["conversation", "Conversation only"],
];
const ACTIONS = { __proto__: null, write: "put back", delete: "delete", merge: "merge", keep: "keep" };
const SOURCES = { __proto__: null, undo: "Undo", redo: "Redo", restore: "Restored" };
const DOING = { undo: "Undo", redo: "Redo" };
const UNDONE = "hansard-undone";
const ALONE = "No files are recorded here: only the conversation moves, and the turn is kept as a branch.";

export class Files {
  constructor(place, page, opener) {
    Object.assign(this, { place, page, opener, threadId: null, version: null, workspaces: [], changes: [], byMessage: new Map(), gists: new Map(), undone: new Undone() });
    this.root = el("span", { class: "dim root" });
    this.choice = el("select", { "aria-label": "Workspace", hidden: true, change: () => this.use(Number(this.choice.value)) });
    this.scope = el("select", { "aria-label": "What to undo" }, SCOPES.map(([value, label]) => el("option", { value }, label)));
    this.alone = el("p", { class: "note", hidden: true }, ALONE);
    this.undo = button("Undo a turn", () => this.ask("undo"), { id: "ask-undo", title: "u" });
    this.redo = button("Redo", () => this.ask("redo"), { id: "ask-redo", title: "r" });
    this.plan = el("section", { class: "plan", "aria-label": "Plan", "aria-live": "polite", hidden: true });
    this.list = el("div", { class: "changes" });
    place.replaceChildren(
      el("header", { class: "bar" }, el("h2", null, "Files"), this.root, el("span", { class: "grow" }), button("×", () => page.panel(null), { "aria-label": "Close the files" })),
      el("div", { class: "tools" }, this.choice, this.undo, this.redo, this.scope, this.alone),
      el("div", { class: "panel-box", tabindex: 0, role: "region", "aria-label": "Changes" }, this.plan, this.list),
    );
  }

  path(rest = "") {
    return thread(this.threadId, `/workspaces/${this.current.id}${rest}`);
  }

  // Loads the changes when another thread is opened or it changed; messages then show their number of files. Concurrent
  // callers await the same request: an undo must not miss files.
  async look(again = false) {
    const { threadId, thread: told } = this.page;
    if (threadId === null || !told || told.id !== threadId) return;
    if (again || this.threadId !== threadId || this.version !== told.version) this.looking = this.find(threadId, told);
    await this.looking;
  }

  async find(threadId, told) {
    if (this.threadId !== threadId) {
      this.dismiss();
      Object.assign(this, { workspaces: [], changes: [], byMessage: new Map() });
    }
    Object.assign(this, { threadId, version: told.version });
    const found = told.version ? await get(thread(threadId, "/workspaces")).catch(() => null) : [];
    if (this.threadId !== threadId) return;
    if (found === null) {
      this.threadId = null; // unknown whether there are files
      return;
    }
    this.workspaces = found;
    this.choice.hidden = found.length < 2;
    this.choice.replaceChildren(...found.map((one) => el("option", { value: one.id }, one.root)));
    this.opener.title = `Undo a turn of the conversation${this.current ? " and of its files" : " (no files are recorded)"}: the plan is shown first (u)`;
    await this.use(this.current?.id ?? found[0]?.id);
  }

  get current() {
    return this.workspaces.find((one) => one.id === this.chosen) ?? this.workspaces[0];
  }

  async use(id) {
    this.chosen = id;
    const had = this.byMessage.size;
    const { threadId } = this;
    const page = this.current ? await get(this.path("/changes"), { limit: 300 }).catch(() => ({ items: [] })) : { items: [] };
    if (this.threadId !== threadId) return;
    this.changes = page.items;
    this.byMessage = new Map();
    for (const one of this.changes) if (one.messageId) this.byMessage.set(one.messageId, (this.byMessage.get(one.messageId) ?? 0) + one.files.length + (one.more ?? 0));
    if (this.byMessage.size || had) await this.page.conversation.redraw(this.page.context());
    if (!this.place.hidden) this.draw();
  }

  badge(id) {
    const count = this.byMessage.get(id);
    if (!count) return null;
    return button(counted(count, "file"), () => this.reveal(id), { class: "touched", title: "File changes of this message" });
  }

  reveal(id) {
    this.page.panel("files");
    const found = [...this.list.querySelectorAll(".change")].find((one) => one.dataset.message === id);
    found?.scrollIntoView({ block: "start" });
    for (const each of found?.querySelectorAll("details") ?? []) each.open = true;
    found?.querySelector("summary")?.focus();
  }

  draw() {
    const { current } = this;
    this.root.textContent = current ? shown(current.root.length > 36 ? `…${current.root.slice(-35)}` : current.root) : "";
    this.root.title = current ? shown(current.root) : "";
    this.undo.disabled = current ? !current.touchable : !this.page.thread?.messages;
    this.redo.disabled = current ? !current.touchable : !this.undone.last(this.page);
    this.scope.hidden = !current;
    this.alone.hidden = Boolean(current) || !this.page.thread?.messages;
    const open = new Set([...this.list.querySelectorAll("details[open]")].map((one) => one.dataset.key));
    const note = current && !current.touchable ? el("p", { class: "note warn" }, current.why) : null;
    const none = current ? null : el("div", { class: "empty small" }, el("p", { class: "empty-title" }, "No files are recorded"), el("p", null, "Agents that record their work, and ", el("code", null, "hansard snapshot"), " in a folder, show here what each message did to files."));
    this.list.replaceChildren(...[note, none].filter(Boolean), ...this.changes.map((one) => this.change(one)));
    if (open.size) for (const each of this.list.querySelectorAll("details")) if (open.has(each.dataset.key)) each.open = true;
  }

  change(one) {
    const words = el("span", { class: "change-words" }, SOURCES[one.source] ?? this.gists.get(one.messageId) ?? "…");
    if (one.messageId && words.textContent === "…") this.learn(one.messageId, words);
    const go = one.messageId && this.page.path.byId.has(one.messageId) ? button("Show", () => this.page.guarded(() => this.page.lookAt(one.messageId)), { class: "quiet", "aria-label": "Show the message" }) : null;
    const files = one.files.map((file) => this.file(one, file));
    return el(
      "article",
      { class: `change ${one.undone ? "undone" : ""}`, "data-message": one.messageId },
      el("header", null, words, one.undone ? el("span", { class: "badge" }, "undone") : null, one.partial ? el("span", { class: "badge partial" }, "partial") : null, go),
      el("p", { class: "dim" }, [one.agentId, one.source, when(one.at)].filter(Boolean).join(" · ")),
      files,
      one.more ? el("p", { class: "note" }, `… and ${one.more.toLocaleString()} more paths`) : null,
    );
  }

  file(one, file) {
    const made = el("details", { class: "changed-file", "data-key": `${one.snapshot} ${file.path}` }, el("summary", null, changeBadge(file.what), el("span", { class: "file-path" }, file.path)));
    made.addEventListener("toggle", () => made.open && this.fill(made, one, file), { once: true });
    return made;
  }

  async fill(made, one, file) {
    one.diffs ??= get(this.path(`/changes/${one.snapshot}`));
    await this.page.guarded(async () => {
      const found = (await one.diffs).find((each) => each.path === file.path);
      made.append(found ? shownDiff(found.diff) : el("p", { class: "note" }, "Not shown."));
    });
  }

  async learn(id, words) {
    try {
      this.gists.set(id, gist(await get(thread(this.threadId, `/messages/${encoded(id)}`)), 120));
      words.textContent = this.gists.get(id);
    } catch {
      words.textContent = "a deleted message";
    }
  }

  // -- undo and redo ---------------------------------------------------------------------------------------------

  dismiss() {
    this.plan.hidden = true;
    this.plan.replaceChildren();
  }

  async ask(kind, note = null) {
    if (this.page.threadId === null) return;
    this.page.panel("files");
    await this.look();
    if (this.threadId !== this.page.threadId) {
      tell("The files of this conversation are still loading; try again.", true);
      return;
    }
    this.plan.hidden = false;
    this.plan.replaceChildren(el("p", { class: "dim" }, "Loading the plan…"));
    const order = { kind, scope: kind === "undo" ? this.scope.value : "both" };
    try {
      this.show(this.current ? await get(this.path("/plan"), order) : this.ownPlan(kind), order, note);
    } catch (error) {
      this.plan.replaceChildren(el("h3", null, DOING[kind]), el("p", { class: "note warn" }, error.message), el("footer", null, button("Close", () => this.dismiss())));
    }
  }

  show(plan, order, note) {
    const { kind, files, conflicts } = plan;
    const moves = plan.fromHead !== plan.toHead;
    const target = el("q", null, "…");
    const where = plan.toHead === null ? "before the first message" : target;
    if (plan.toHead !== null) get(thread(this.page.threadId, `/messages/${encoded(plan.toHead)}`)).then((found) => (target.textContent = gist(found, 90))).catch(() => {});
    const count = files.length;
    const act = button(count ? `${DOING[kind]} ${counted(count, "file")}` : `${DOING[kind]} in the conversation`, () => this.carryOut(plan, order), { class: "primary", disabled: !count && !moves });
    this.plan.replaceChildren(
      el("h3", null, `${DOING[kind]}: the plan`),
      note ? el("p", { class: "note warn" }, note) : "",
      el("p", null, moves ? ["The conversation moves ", kind === "undo" ? "back to " : "forward to ", where] : "The conversation stays as it is."),
      el("ul", { class: "plan-files" }, files.map((file) => planned(file))),
      conflicts.length ? el("div", { class: "plan-conflicts" }, el("p", { class: "kept-name" }, `Kept: ${counted(conflicts.length, "path")} changed by others since`), el("ul", { class: "plan-files" }, conflicts.map((file) => planned(file)))) : "",
      this.current && !count && !conflicts.length ? el("p", { class: "note" }, "No file changes.") : "",
      plan.todos.length ? el("details", { class: "fold" }, el("summary", null, "Todo list after this"), todos(plan.todos)) : "",
      el("footer", null, button("Cancel", () => this.dismiss()), act),
    );
    this.plan.scrollIntoView({ block: "nearest" });
    act.focus();
  }

  async carryOut(plan, order) {
    try {
      const done = this.current ? await post(this.path("/apply"), { ...order, plan: plan.id }) : await this.carryOutOwn(plan);
      this.dismiss();
      tell(outcome(done, Boolean(this.current)));
      this.page.path.end = null;
      await this.page.changed(this.page.threadId);
      await this.look(true);
    } catch (error) {
      if (error.status === 409) await this.ask(order.kind, "Something changed while you were looking. Nothing was done; this is the plan as it is now.");
      else tell(error.message, true);
    }
  }

  // In a thread without files, only the conversation moves, by the same number of turns.
  ownPlan(kind) {
    const { path, thread: told } = this.page;
    if (kind === "redo") {
      const last = this.undone.last(this.page);
      if (!last) throw new Error("Nothing to redo: the conversation is not where an undo in this tab left it.");
      return { kind, fromHead: told.head, toHead: last.fromHead, files: [], conflicts: [], todos: [] };
    }
    const active = path.nodes.filter((node) => node.active).sort((a, b) => b.depth - a.depth);
    const asked = active.find((node) => node.role === "user");
    if (!asked) throw new Error("Nothing to undo: no user message on this branch.");
    return { kind, fromHead: told.head, toHead: asked.parentId, files: [], conflicts: [], todos: [] };
  }

  async carryOutOwn(plan) {
    const { threadId } = this.page;
    const told = await get(thread(threadId));
    if (told.head !== plan.fromHead) throw Object.assign(new Error("the head has moved"), { status: 409 });
    await post(thread(threadId, "/checkout"), { messageId: plan.toHead });
    this.undone.note(threadId, plan);
    return plan;
  }
}

// Undone turns of threads without files, kept in the tab's session storage, so that redo works after a reload.
class Undone {
  constructor() {
    try {
      this.plans = new Map(JSON.parse(sessionStorage.getItem(UNDONE)));
    } catch {
      this.plans = new Map();
    }
  }

  // The last undo, if the head is still where that undo put it.
  last({ threadId, thread: told, path }) {
    const last = this.plans.get(threadId)?.at(-1);
    return last && last.toHead === told?.head && path.byId.has(last.fromHead) ? last : null;
  }

  note(threadId, { kind, fromHead, toHead }) {
    const done = this.plans.get(threadId) ?? [];
    this.plans.set(threadId, kind === "undo" ? [...done, { fromHead, toHead }] : done.slice(0, -1));
    sessionStorage.setItem(UNDONE, JSON.stringify([...this.plans]));
  }
}

function outcome({ kind, files, conflicts }, withFiles) {
  const words = { undo: "Undone", redo: "Redone" }[kind];
  if (!withFiles) return `${words}: the conversation went ${kind === "undo" ? "back" : "forward"} by a turn.`;
  const kept = conflicts.length ? `, ${conflicts.length} kept as ${conflicts.length === 1 ? "it is" : "they are"}` : "";
  return `${words}: ${counted(files.length, "file")} changed${kept}.`;
}

function changeBadge(what) {
  const [kind] = what.split(" ");
  return el("span", { class: `badge action ${kind}` }, what);
}

function planned(file) {
  const head = [el("span", { class: `badge action ${file.action}` }, ACTIONS[file.action] ?? file.action), el("span", { class: "file-path" }, file.path)];
  if (file.why) return el("li", null, el("div", { class: "kept" }, head), el("p", { class: "dim" }, file.why));
  return el("li", null, el("details", { class: "changed-file", open: (file.diff ?? "").length < 4000 }, el("summary", null, head), shownDiff(file.diff ?? "")));
}

function shownDiff(text) {
  return patch(text.replace(/^--- [^\n]*\n\+\+\+ [^\n]*\n/, ""));
}
