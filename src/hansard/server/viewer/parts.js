// The parts of a message as elements. Unknown and malformed parts are shown as data.

import { base64, button, el, link, picture, plain, shown } from "/viewer/elements.js";
import { code, data, diff, looksLikePatch, patch } from "/viewer/code.js";
import { markdown } from "/viewer/markdown.js";

export function part(one, context) {
  try {
    return (PARTS[one?.type] ?? unknown)(one, context);
  } catch (error) {
    console.warn("a part could not be drawn", error);
    return folded("part", one);
  }
}

function folded(name, value, extra) {
  const kind = `fold ${extra ?? ""}`;
  return el("details", { class: kind }, el("summary", null, name), data(value));
}

function unknown(one) {
  const name = one?.type === "raw" ? `${shown(one.format ?? "raw")} · ${shown(one.value?.type ?? "part")}` : shown(one?.type ?? "part");
  return folded(name, one?.type === "raw" ? one.value : one, "raw");
}

function reasoning(one) {
  const words = one.text ?? "";
  if (!words) return el("p", { class: "note" }, one.encrypted ? "Reasoning, encrypted by its provider" : "Reasoning without text");
  const count = words.split(/\s+/).length;
  return el("details", { class: "fold reasoning" }, el("summary", null, `Reasoning · ${count.toLocaleString()} words`), markdown(words));
}

function file(one) {
  let { mimeType, data: inside, url, name } = one;
  const given = /^data:([^;,]*)(;[^,]*)?;base64,([^]*)$/i.exec(url ?? "");
  if (given) [mimeType, inside, url] = [mimeType ?? given[1], given[3], undefined];
  const label = name ?? mimeType ?? "file";
  const shownPicture = inside ? picture(mimeType, inside, name) : null;
  if (shownPicture) return el("figure", { class: "shown-picture" }, shownPicture, name ? el("figcaption", null, name) : null);
  const facts = [mimeType, inside ? `${Math.round((inside.length * 3) / 4).toLocaleString()} bytes` : null, one.fileId ? `id ${one.fileId}` : null];
  return el(
    "div",
    { class: "file" },
    el("span", { class: "file-name" }, url ? link(url, name ?? url.slice(0, 300)) : label),
    el("span", { class: "dim" }, facts.filter(Boolean).join(" · ")),
    inside ? button("Save", () => save(label, inside)) : null,
  );
}

function save(name, words) {
  try {
    const bytes = Uint8Array.from(atob(base64(words)), (one) => one.charCodeAt(0));
    download(name, new Blob([bytes], { type: "application/octet-stream" }));
  } catch {
    download(`${name}.base64.txt`, new Blob([words], { type: "application/octet-stream" }));
  }
}

export function download(name, blob) {
  const made = el("a", { download: name.replace(/[^\p{L}\p{N}._ -]/gu, "_").slice(0, 120) || "file" });
  made.href = URL.createObjectURL(blob);
  made.click();
  setTimeout(() => URL.revokeObjectURL(made.href), 10000);
}

function source(one) {
  const name = one.title ?? one.name ?? one.url ?? one.sourceId ?? "source";
  return el("p", { class: "source" }, "Source: ", one.url ? link(one.url, name) : name);
}

function compaction(one) {
  const words = one.text ? markdown(one.text) : el("p", { class: "note" }, "Encrypted by its provider");
  return el("details", { class: "fold compaction" }, el("summary", null, "Summary of everything before"), words);
}

function retry(one) {
  return el("div", { class: "note warn" }, el("strong", null, "Asked again"), one.toolName ? ` (${one.toolName})` : "", data(one.content ?? ""));
}

// -- tools ----------------------------------------------------------------------------------------------------------

const ELSEWHERE = "Approval was asked for where this was recorded; no run waits for it here.";
const STATES = { __proto__: null, success: "done", error: "failed", denied: "denied", interrupted: "interrupted", retried: "retried" };

function state(result) {
  const said = typeof result.status === "string" ? result.status : result.isError ? "error" : "success";
  return [said in STATES ? said : "success", STATES[said] ?? said];
}

// A call without a result: pending in this ledger, or with the recorded state of its approval.
function unanswered({ approval }, waits) {
  if (waits) return ["waits", waits.kind === "approval" ? "awaiting approval" : "awaiting an answer"];
  if (typeof approval?.approved === "boolean") return approval.approved ? ["open", "approved, no result"] : ["denied", "denied"];
  return typeof approval?.id === "string" ? ["waits", "awaiting approval"] : ["open", "no result"];
}

function toolCall(one, context) {
  const result = context.answers?.get(one);
  const waits = context.pending?.get(one.toolCallId);
  const input = one.input !== undefined ? one.input : one.inputText;
  const [kind, words] = result && !waits ? state(result) : unanswered(one, waits);
  const gist = summary(input);
  return el(
    "section",
    { class: `tool tool-${kind}`, "aria-label": `tool ${shown(one.toolName ?? "")}` },
    el(
      "header",
      null,
      el("span", { class: "tool-name" }, one.toolName ?? "tool"),
      gist ? el("span", { class: "tool-gist" }, gist) : null,
      el("span", { class: `badge ${kind}` }, words),
    ),
    el("div", { class: "sides" }, side("Input", given(input)), side("Result", yes(one, result), result ? output(result, context) : el("p", { class: "note" }, kind === "waits" && context.pending && !waits ? ELSEWHERE : words))),
    waits ? context.decide?.(one, waits) : null,
    typeof one.toolCallId === "string" ? context.subAgents?.(one.toolCallId) : null,
  );
}

function side(name, ...content) {
  return el("div", { class: "side" }, el("p", { class: "side-name" }, name), content);
}

// The reason of an approval; the reason of a denial is the result.
function yes(call, result) {
  const told = result?.extra?.["ai-sdk-ui"]?.approval ?? call.approval;
  if (told?.approved !== true || typeof told.reason !== "string") return null;
  return el("p", { class: "note reason" }, `approved: ${told.reason}`);
}

function summary(input) {
  if (typeof input !== "object" || input === null) return "";
  const found = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description", "city"].find((key) => typeof input[key] === "string");
  return found ? input[found].split("\n")[0].slice(0, 160) : "";
}

function given(input) {
  if (input === undefined || input === null) return el("p", { class: "note" }, "none");
  if (typeof input === "string") return looksLikePatch(input) ? patch(input) : data(input);
  if (typeof input !== "object" || Array.isArray(input)) return data(input);
  if (Array.isArray(input.todos)) return todos(input.todos);
  const edits = Array.isArray(input.edits) ? input.edits : [input];
  const pairs = edits.map(change).filter(Boolean);
  const rest = { ...input };
  if (pairs.length) for (const key of ["edits", ...OLD, ...NEW]) delete rest[key];
  return el("div", { class: "given" }, Object.entries(rest).slice(0, 60).map(([key, value]) => field(key, value)), pairs.map(([before, after]) => diff(before, after)));
}

const OLD = ["old_string", "old_str", "oldString", "oldText", "old_text"];
const NEW = ["new_string", "new_str", "newString", "newText", "new_text"];
function change(edit) {
  const before = OLD.find((key) => typeof edit?.[key] === "string");
  const after = NEW.find((key) => typeof edit?.[key] === "string");
  return before || after ? [edit[before] ?? "", edit[after] ?? ""] : null;
}

function field(key, value) {
  const inLine = typeof value !== "object" && !(typeof value === "string" && (value.includes("\n") || value.length > 120));
  if (inLine) return el("div", { class: "field" }, el("span", { class: "key" }, key), el("code", null, plain(value)));
  const shownValue = typeof value === "string" ? (looksLikePatch(value) ? patch(value) : code(value, key === "command" ? "bash" : language(key))) : data(value);
  return el("div", { class: "field tall" }, el("span", { class: "key" }, key), shownValue);
}

function language(key) {
  return ["code", "sql", "script"].includes(key) ? key : "text";
}

function output(result, context) {
  if (Array.isArray(result.content)) return el("div", null, result.content.map((one) => (one?.type === "text" ? data(one.text ?? "") : part(one, context))));
  if (result.output === undefined || result.output === null) return el("p", { class: "note" }, "nothing");
  if (typeof result.output === "string" && looksLikePatch(result.output)) return patch(result.output);
  return data(result.output);
}

function toolResult(one, context) {
  const [kind, words] = state(one);
  return el(
    "section",
    { class: `tool tool-${kind}` },
    el("header", null, el("span", { class: "tool-name" }, one.toolName ?? "result"), el("span", { class: `badge ${kind}` }, words)),
    output(one, context),
  );
}

export function todos(list) {
  const done = list.filter((one) => one?.status === "completed").length;
  const marks = { __proto__: null, completed: "✓", in_progress: "▸" };
  return el(
    "div",
    { class: "todos" },
    el("div", { class: "todo-head" }, el("progress", { max: list.length || 1, value: done, "aria-label": "todos done" }), el("span", { class: "dim" }, `${done} of ${list.length}`)),
    el("ul", null, list.slice(0, 200).map((one) => el("li", { class: `todo ${one?.status === "completed" ? "done" : one?.status === "in_progress" ? "now" : ""}` }, el("span", { "aria-hidden": "true" }, marks[one?.status] ?? "○"), " ", plain(one?.content ?? one).slice(0, 600)))),
  );
}

const PARTS = {
  __proto__: null,
  text: (one) => markdown(one.text ?? ""),
  reasoning,
  "tool-call": toolCall,
  "tool-result": toolResult,
  file,
  source,
  refusal: (one) => el("div", { class: "note wrong" }, el("strong", null, "Refused: "), one.text ?? ""),
  data: (one) => folded(shown(one.name ?? "data"), one.data ?? null),
  retry,
  compaction,
  raw: unknown,
};
