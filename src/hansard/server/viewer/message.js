// One message: author, model, time and price; its parts; its actions.

import { button, counted, el, plain, shown } from "/viewer/elements.js";
import { part, todos } from "/viewer/parts.js";

const NAMES = { __proto__: null, user: "You", assistant: "Assistant", tool: "Tool", system: "System", developer: "Developer", event: "Event" };
const COLOURS = 6;

// Matches results to calls: the latest call before it with its id, or the first open call of its name.
export function answered(messages) {
  const answers = new Map();
  const home = new Map();
  const byId = new Map();
  const nameless = [];
  const taken = new Set();
  for (const message of messages) {
    for (const one of message.parts ?? []) {
      if (one?.type === "tool-call") {
        home.set(one, message);
        if (typeof one.toolCallId === "string") byId.set(one.toolCallId, [...(byId.get(one.toolCallId) ?? []), one]);
        else nameless.push(one);
      } else if (one?.type === "tool-result") {
        const open = byId.get(one.toolCallId);
        const at = nameless.findIndex((call) => call.toolName === one.toolName);
        const call = open?.length ? (one.preliminary ? open.at(-1) : open.pop()) : one.toolCallId === undefined && at >= 0 ? nameless.splice(at, 1)[0] : null;
        if (!call) continue;
        answers.set(call, one);
        taken.add(one);
      }
    }
  }
  return { answers, home, taken };
}

// The author of a message or of a node of the tree.
export function speaker(agents, { agentId, role }) {
  const known = agents && typeof agentId === "string" && Object.hasOwn(agents, agentId) ? agents[agentId] : null;
  return known?.name ?? agentId ?? NAMES[role] ?? role;
}

export function agentClass(agents, id) {
  const known = Object.keys(agents ?? {});
  const at = known.length ? known.indexOf(id) : 0; // the first author in a new thread is listed first
  return typeof id !== "string" ? "" : `agent agent-${(at < 0 ? [...id].reduce((sum, one) => sum + one.codePointAt(0), 0) : at) % COLOURS}`;
}

export function when(text) {
  const time = new Date(text);
  if (typeof text !== "string" || Number.isNaN(time.getTime())) return text ?? "";
  const today = new Date().toDateString() === time.toDateString();
  return time.toLocaleString(undefined, today ? { hour: "2-digit", minute: "2-digit" } : { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

export function tokens(usage) {
  if (!usage || typeof usage !== "object") return "";
  const number = (count) => (count >= 1e7 ? `${Math.round(count / 1e6).toLocaleString()}M` : count >= 10000 ? `${Math.round(count / 1000).toLocaleString()}k` : Number(count).toLocaleString());
  const told = [];
  if (usage.inputTokens) told.push(`${number(usage.inputTokens)} in`);
  if (usage.outputTokens) told.push(`${number(usage.outputTokens)} out`);
  if (usage.cacheReadTokens) told.push(`${number(usage.cacheReadTokens)} cached`);
  return told.join(" · ");
}

// The recorded cost; it is never computed from prices. A sum is in dollars if its key says so.
function cost(one) {
  const places = [one.usage, ...Object.values(one.usage?.extra ?? {}), one.metadata, ...Object.values(one.extra ?? {})];
  for (const place of places.filter((each) => each && typeof each === "object")) {
    for (const inside of [place, place.usage].filter((each) => each && typeof each === "object")) {
      for (const name of COSTS) {
        const told = inside[name];
        const sum = typeof told === "object" && told !== null ? told.total : told;
        if (typeof sum === "number" && sum >= 0) return { sum, dollars: /usd/i.test(name) };
      }
    }
  }
  return null;
}
const COSTS = ["costUSD", "costUsd", "cost_usd", "total_cost_usd", "totalCostUsd", "cost", "totalCost", "total_cost"];

function price(paid) {
  if (!paid) return "";
  const digits = paid.sum > 0 && paid.sum < 0.01 ? 5 : paid.sum < 1 ? 4 : 2;
  const number = paid.sum.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: digits });
  return paid.dollars ? `$${number}` : `cost ${number}`;
}

// Totals of a turn, if more than one of its answers has usage.
export function turnFacts(turn) {
  const told = turn.filter((one) => one.role === "assistant" && (one.usage || cost(one)));
  if (told.length < 2) return [];
  const sum = {};
  for (const one of told) for (const [name, count] of Object.entries(one.usage ?? {})) if (typeof count === "number") sum[name] = (sum[name] ?? 0) + count;
  const paid = told.map(cost).filter(Boolean);
  const calls = turn.flatMap((one) => one.parts ?? []).filter((each) => each?.type === "tool-call").length;
  const all = paid.length ? price({ sum: paid.reduce((total, each) => total + each.sum, 0), dollars: paid.every((each) => each.dollars) }) : "";
  const models = [...new Set(told.map((one) => one.model?.name).filter(Boolean))];
  const facts = [`${told.length} answers`, calls ? counted(calls, "call") : "", models.join(", "), tokens(sum), all, lasted(turn)];
  return [el("p", { class: "turn" }, el("span", null, "This turn: ", facts.filter(Boolean).join(" · ")))];
}

function lasted(turn) {
  const seconds = Math.round((new Date(turn.at(-1).createdAt) - new Date(turn[0].createdAt)) / 1000);
  if (!(seconds > 0)) return "";
  return seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

export function message(one, context, before) {
  const { agents, taken } = context;
  const parts = (one.parts ?? []).filter((each) => !taken?.has(each));
  if (one.role === "event") return event(one, parts, context);
  const same = before && before.role === one.role && before.agentId === one.agentId && one.role === "assistant" && !context.siblings?.(one.id);
  const kind = one.role in NAMES ? one.role : "event";
  const name = speaker(agents, one);
  const made = el(
    "article",
    { class: `message role-${kind} ${same ? "continued" : ""} ${one.sidechain ? "sidechain" : ""} ${gone(context.node?.(one.id)) ? "gone" : ""}`, tabindex: -1, "data-id": one.id, "aria-label": `${shown(name)}, ${shown(one.role)}` },
    el("span", { class: `avatar ${agentClass(agents, one.agentId)}`, "aria-hidden": "true" }, [...shown(name)].find((sign) => /[\p{L}\p{N}]/u.test(sign)) ?? "·"),
    el("header", null, el("span", { class: `who ${agentClass(agents, one.agentId)}` }, name), badges(one, context), context.siblings?.(one.id), facts(one), context.changes?.(one.id), context.actions?.(one)),
  );
  const body = el("div", { class: "body" }, parts.map((each) => part(each, context)), one.todos?.length ? todos(one.todos) : null);
  const folds = one.role === "system" || one.role === "developer";
  made.append(folds ? el("details", { class: "fold" }, el("summary", null, gist({ parts }, 140)), body) : body);
  return made;
}

// The beginning of a message without Markdown syntax, limited to a number of characters.
export function gist({ parts = [] }, most) {
  const signs = [...shown(firstWords(parts))];
  return signs.length > most ? `${signs.slice(0, most - 1).join("").trimEnd()}…` : signs.join("");
}

function firstWords(parts) {
  for (const one of parts) {
    if (typeof one?.text !== "string" || one.type !== "text" || !one.text.trim()) continue;
    return one.text.slice(0, 600).replace(/^\s*(#{1,6}|>|[-*+])\s+/gm, "").replace(/\*\*|__|`+/g, "").trim().replace(/\s+/g, " ");
  }
  const tool = parts.find((one) => one?.toolName);
  return tool ? `${tool.type === "tool-call" ? "calls" : "answer of"} ${tool.toolName}` : `(${parts[0]?.type ?? "nothing"})`;
}

// Whether a run's messages are not on the active path; what was seen of an unfinished run may be on it.
export function gone(node) {
  return !node?.active && ["superseded", "aborted", "failed"].includes(node?.status);
}

function badges(one, context) {
  const made = [];
  const node = context.node?.(one.id);
  if (gone(node)) made.push(el("span", { class: "badge", title: "This run is not on the active path" }, node.status));
  if (one.state && one.state !== "complete") made.push(el("span", { class: "badge partial" }, one.state));
  if (one.sidechain) made.push(el("span", { class: "badge" }, "sidechain"));
  if (one.finishReason && !["stop", "tool_call", "tool-calls", "end_turn", "tool_use"].includes(one.finishReason)) made.push(el("span", { class: "badge" }, one.finishReason));
  return made;
}

function facts(one) {
  const told = [one.model?.name, tokens(one.usage), price(cost(one)), one.createdAt ? when(one.createdAt) : null].filter(Boolean);
  return el("span", { class: "facts", title: shown([one.createdAt, one.model?.provider, one.context?.cwd, one.context?.gitBranch].filter(Boolean).join(" · ")) }, told.join(" · "));
}

function event(one, parts, context) {
  const name = parts.map((each) => each?.name ?? each?.text ?? each?.value?.subtype ?? each?.value?.type ?? each?.type).filter(Boolean).map(plain).join(", ").slice(0, 200);
  return el("article", { class: "message role-event", tabindex: -1, "data-id": one.id }, el("details", { class: "fold" }, el("summary", null, name || "event", " ", el("span", { class: "dim" }, when(one.createdAt))), el("div", { class: "body" }, parts.map((each) => part(each, context)))));
}

export function siblingSwitch(ids, id, go, compare) {
  const at = ids.indexOf(id);
  return el(
    "span",
    { class: "siblings", role: "group", "aria-label": "versions of this message" },
    button("‹", () => go(ids[at - 1]), { disabled: at <= 0, "aria-label": "Earlier version" }),
    `${at + 1}/${ids.length}`,
    button("›", () => go(ids[at + 1]), { disabled: at >= ids.length - 1, "aria-label": "Later version" }),
    button("Compare", compare, { title: "Two versions, side by side" }),
  );
}
