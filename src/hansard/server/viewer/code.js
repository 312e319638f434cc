// Syntax highlighting for comments, strings, numbers and common keywords of many languages; and line diffs of edits.

import { button, counted, el, long, plain } from "/viewer/elements.js";

const KEYWORDS = new Set(
  ("abstract and as assert async await break case catch class const continue def default defer del do elif else end enum " +
    "except export extends false False final finally fn for foreach from func function go if impl implements import in " +
    "interface is lambda let loop match mod module mut namespace new nil None not null or package pass private protected " +
    "pub public raise return select self static struct super switch then this throw trait true True try type typeof union " +
    "unless until use using var void where while with yield SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE INTO " +
    "VALUES JOIN ON GROUP ORDER BY LIMIT AND OR NOT NULL echo fi done esac").split(" "),
);
const HASHES = /^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|perl|r|elixir|dockerfile)$/i;
const HASH_NOTE = "#[^\\n]*";
const SLASH_NOTE = "\\/\\/[^\\n]*|\\/\\*[^]{0,20000}?\\*\\/";
const REST = /("(?:\\.|[^"\\\n]){0,5000}"|'(?:\\.|[^'\\\n]){0,5000}'|`(?:\\.|[^`\\]){0,5000}`)|\b(\d[\w.]*)\b|([A-Za-z_$][\w$]*)/.source;

// In languages where // is division it is not a comment; in unnamed languages both // and # start one.
function tokens(language) {
  const notes = HASHES.test(language) ? HASH_NOTE : language ? SLASH_NOTE : `${HASH_NOTE}|${SLASH_NOTE}`;
  return new RegExp(`(${notes})|${REST}`, "g");
}

export function tinted(text, language = "") {
  const made = [];
  let at = 0;
  const push = (kind, found) => {
    if (found.index > at) made.push(text.slice(at, found.index));
    made.push(el("span", { class: kind }, found[0]));
    at = found.index + found[0].length;
  };
  for (const found of text.matchAll(tokens(language))) {
    if (found[1]) push("c-note", found);
    else if (found[2]) push("c-text", found);
    else if (found[3]) push("c-number", found);
    else if (found[4] && KEYWORDS.has(found[4])) push("c-word", found);
  }
  if (at < text.length) made.push(text.slice(at));
  return made;
}

export function code(text, language = "") {
  if (language === "diff" || language === "patch") return patch(text);
  const copy = button("Copy", () => navigator.clipboard?.writeText(text), { class: "copy", "aria-label": "Copy the code" });
  return el(
    "figure",
    { class: "code" },
    el("figcaption", null, el("span", null, language || "text"), copy),
    long(text, (some) => el("pre", { tabindex: 0 }, el("code", null, tinted(some, language)))),
  );
}

export function data(value) {
  return long(plain(value), (some) => el("pre", { class: "data", tabindex: 0 }, typeof value === "string" ? some : tinted(some, "json")));
}

export function looksLikePatch(text) {
  return /^(diff --git |--- \S|\*\*\* Begin Patch|@@ .*@@)/m.test(text.slice(0, 2000)) && /^[+-]/m.test(text);
}

// A patch, line by line, with line numbers where it has them.
export function patch(text) {
  let hunk = null; // the next old and new line number, and the remaining lines of each
  const line = (words) => {
    const place = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(words);
    if (place) hunk = { old: Number(place[1]), now: Number(place[3]), out: Number(place[2] ?? 1), in: Number(place[4] ?? 1) };
    if (words.startsWith("@@")) return row("d-place", words);
    if (hunk && hunk.out <= 0 && hunk.in <= 0) hunk = null;
    if (!hunk && /^(diff |index |--- |\+\+\+ |\*\*\* )/.test(words)) return row("d-file", words);
    if (words.startsWith("+")) return row("d-in", words, hunk && (hunk.in--, hunk.now++));
    if (words.startsWith("-")) return row("d-out", words, hunk && (hunk.out--, hunk.old++));
    if (!hunk || words.startsWith("\\")) return row("", words);
    hunk.out--;
    hunk.in--;
    hunk.old++;
    return row("", words, hunk.now++);
  };
  return long(text.replace(/\n$/, ""), (some) => el("pre", { class: "diff", tabindex: 0, "aria-label": "changes" }, some.split("\n").map(line)));
}

function row(kind, words, number = null) {
  return el("span", { class: `d ${kind}`, "data-n": number }, words, "\n");
}

const CELLS = 400000;

// Lines to delete from `before` and to insert for `after`, by the longest common subsequence.
function changes(before, after) {
  const old = before.split("\n");
  const now = after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let tail = 0;
  while (tail < old.length - start && tail < now.length - start && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const a = old.slice(start, old.length - tail);
  const b = now.slice(start, now.length - tail);
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(old.slice(0, start)), ...middle(a, b), ...same(old.slice(old.length - tail))];
}

function middle(a, b) {
  if (a.length * b.length > CELLS) return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const here = i * width + j;
      best[here] = a[i] === b[j] ? best[here + width + 1] + 1 : Math.max(best[here + width], best[here + 1]);
    }
  }
  const made = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) made.push([" ", (i++, b[j++])]);
    else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) made.push(["-", a[i++]]);
    else made.push(["+", b[j++]]);
  }
  return made;
}

const NEAR = 3;

// The diff of an edit; unchanged lines far from a change are collapsed to a count.
export function diff(before, after) {
  const [old, now] = [before, after].map((one) => plain(one).slice(0, 200000));
  const ended = old.endsWith("\n") && now.endsWith("\n");
  const lines = ended ? changes(old.slice(0, -1), now.slice(0, -1)) : changes(old, now);
  const most = 600;
  const kinds = { "+": "d-in", "-": "d-out", " ": "" };
  const near = new Set();
  lines.forEach(([mark], i) => {
    if (mark !== " ") for (let at = i - NEAR; at <= i + NEAR; at++) near.add(at);
  });
  const rows = [];
  let left = 0;
  const count = () => {
    if (left) rows.push(row("d-place", `⋯ ${counted(left, "unchanged line")}`));
    left = 0;
  };
  lines.forEach(([mark, words], i) => {
    if (near.size && !near.has(i)) left++;
    else {
      count();
      rows.push(row(kinds[mark], `${mark}${words}`));
    }
  });
  count();
  const made = el("pre", { class: "diff", tabindex: 0, "aria-label": "changes" }, rows.slice(0, most));
  if (rows.length > most) made.append(row("d-place", `… ${rows.length - most} more lines`));
  return made;
}
