// Markdown of chat messages to elements. Unknown syntax and HTML stay text; images become links and are never loaded.

import { el, link, long } from "/viewer/elements.js";
import { code } from "/viewer/code.js";

const DEEPEST = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ROW = /^\s*\|.*\|\s*$/;
const DASHES = /^\s*\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?$/;

export function markdown(text) {
  return long(text, (some) => el("div", { class: "prose" }, blocks(some.replace(/\r\n?/g, "\n").split("\n"), 0)));
}

function blocks(lines, depth) {
  const made = [];
  let words = [];
  const flush = () => {
    if (words.length) made.push(el("p", null, inline(words.join("\n"))));
    words = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    let found;
    if ((found = FENCE.exec(line))) {
      flush();
      const inside = [];
      const mark = found[1];
      while (++i < lines.length && !(lines[i].trim().startsWith(mark) && /^[`~]+$/.test(lines[i].trim()))) inside.push(lines[i]);
      made.push(code(inside.join("\n"), found[2]));
    } else if (!line.trim()) {
      flush();
    } else if ((found = HEADING.exec(line))) {
      flush();
      made.push(el("p", { class: `head head-${found[1].length}`, role: "heading", "aria-level": Math.min(6, found[1].length + 2) }, inline(found[2])));
    } else if (RULE.test(line)) {
      flush();
      made.push(el("hr"));
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      flush();
      const inside = [];
      for (; i < lines.length && (found = QUOTE.exec(lines[i])); i++) inside.push(found[1]);
      i--;
      made.push(el("blockquote", null, blocks(inside, depth + 1)));
    } else if (ROW.test(line) && DASHES.test(lines[i + 1] ?? "")) {
      flush();
      const rows = [cells(line)];
      for (i += 2; i < lines.length && ROW.test(lines[i]); i++) rows.push(cells(lines[i]));
      i--;
      made.push(table(rows));
    } else if (ITEM.test(line) && depth < DEEPEST) {
      flush();
      let end = i;
      while (end < lines.length && (ITEM.test(lines[end]) || /^\s{2,}\S/.test(lines[end]) || (!lines[end].trim() && /^\s*([-*+]|\d+[.)])\s|^\s{2,}\S/.test(lines[end + 1] ?? "")))) end++;
      made.push(list(lines.slice(i, end), depth));
      i = end - 1;
    } else words.push(line);
  }
  flush();
  return made;
}

function list(lines, depth) {
  const first = ITEM.exec(lines[0]);
  const indent = first[1].length;
  const ordered = /\d/.test(first[2]);
  const items = [];
  for (const line of lines) {
    const found = ITEM.exec(line);
    if (found && found[1].length <= indent + 1) items.push([found[3]]);
    else items[items.length - 1].push(line.replace(new RegExp(`^\\s{0,${indent + 2}}`), ""));
  }
  const start = ordered ? Number.parseInt(first[2], 10) : null;
  return el(ordered ? "ol" : "ul", { start: start === 1 ? null : start }, items.map((own) => el("li", null, item(own, depth))));
}

function item(own, depth) {
  const task = /^\[([ xX])\]\s+(.*)$/.exec(own[0]);
  const lead = task ? [task[2], ...own.slice(1)] : own;
  const box = task ? el("span", { role: "img", "aria-label": task[1] === " " ? "open" : "done" }, task[1] === " " ? "☐ " : "☑ ") : null;
  if (lead.length === 1) return [box, inline(lead[0])];
  return [box, blocks(lead, depth + 1)];
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
}

function table([head, ...rows]) {
  const line = (kind, row) => el("tr", null, row.map((cell) => el(kind, null, inline(cell))));
  return el("div", { class: "table", tabindex: 0, role: "group", "aria-label": "table" }, el("table", null, el("thead", null, line("th", head)), el("tbody", null, rows.map((row) => line("td", row)))));
}

// One attempt per position; every alternative is bounded, so that the time is linear.
const INLINE = new RegExp(
  [
    "(?<tick>`+)(?<code>[^]{1,2000}?)\\k<tick>(?!`)",
    "\\\\(?<escaped>[!-/:-@[-`{-~])",
    "!?\\[(?<label>[^\\]\\n]{0,500})\\]\\((?<url>[^()\\s]{1,2000}(?:\\([^()\\s]{0,200}\\))?)(?:\\s+\"[^\"\\n]{0,300}\")?\\)",
    "(?<bare>https?://[^\\s<>\"'`)\\]]{1,2000})",
    "\\*\\*(?<bold>(?=\\S)[^]{1,1000}?\\S?)\\*\\*(?!\\*)",
    "~~(?<gone>(?=\\S)[^]{1,500}?)~~",
    "\\*(?<slant>(?=[^\\s*])[^*]{1,500}?)\\*(?!\\*)",
    "(?<![\\w_])_(?<lean>(?=[^\\s_])[^_]{1,500}?)_(?![\\w_])",
  ].join("|"),
  "g",
);

function inline(text, depth = 0) {
  if (text.length > 20000 || depth > 4) return [text];
  const made = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    if (found.index > at) made.push(text.slice(at, found.index));
    at = found.index + found[0].length;
    made.push(piece(found, depth + 1));
  }
  if (at < text.length) made.push(text.slice(at));
  return made;
}

function piece(found, depth) {
  const { code: words, escaped, label, url, bare, bold, gone, slant, lean } = found.groups;
  if (words !== undefined) return el("code", null, words.trim() || words);
  if (escaped !== undefined) return escaped;
  if (url !== undefined) {
    const picture = found[0].startsWith("!");
    return link(url, picture ? `🖼 ${label || url}` : inline(label || url, depth));
  }
  if (bare !== undefined) {
    const end = /[.,;:!?]+$/.exec(bare)?.[0] ?? "";
    const to = end ? bare.slice(0, -end.length) : bare;
    return [link(to, to), end];
  }
  if (bold !== undefined) return el("strong", null, inline(bold, depth));
  if (gone !== undefined) return el("s", null, inline(gone, depth));
  return el("em", null, inline(slant ?? lean, depth));
}
