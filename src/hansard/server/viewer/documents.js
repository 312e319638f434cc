// Export, which shows the losses before it saves, and import of dropped files.

import { button, counted, el, shown, tell } from "/viewer/elements.js";
import { get, getText, post, thread } from "/viewer/api.js";
import { download } from "/viewer/parts.js";

const SHOWN = 300;

export async function exportDialog(dialog, threadId) {
  const formats = await get("/api/formats");
  const report = el("div", { class: "report", role: "status", "aria-live": "polite" });
  const choice = el("select", { id: "export-format", change: () => (profiles(), look()) }, formats.map((one) => el("option", { value: one.name }, `${one.name} — ${one.title}`)));
  const profile = el("select", { id: "export-profile", "aria-label": "Profile", change: () => look() });
  const keep = button("Save", () => written && store(threadId, written), { class: "primary", disabled: true });
  let written = null;
  let turn = 0;

  function profiles() {
    const own = formats.find((one) => one.name === choice.value)?.profiles ?? [];
    profile.replaceChildren(el("option", { value: "" }, "usual profile"), ...own.map((name) => el("option", { value: name }, name)));
    profile.hidden = !own.length;
  }

  async function look() {
    const mine = ++turn;
    keep.disabled = true;
    report.replaceChildren(el("p", { class: "dim" }, "Writing…"));
    try {
      const text = await getText(thread(threadId, "/export"), { format: choice.value, target: profile.value || undefined });
      if (mine !== turn) return;
      const found = JSON.parse(text);
      written = { ...found, exact: exactDocument(text) };
      keep.disabled = false;
      report.replaceChildren(...losses(found.losses));
    } catch (error) {
      if (mine === turn) report.replaceChildren(el("p", { class: "wrong" }, error.message));
    }
  }

  dialog.replaceChildren(
    el("h2", { id: "dialog-title" }, "Export"),
    el("div", { class: "choices" }, el("label", { for: "export-format" }, "Format"), choice, profile),
    report,
    el("footer", null, button("Close", () => dialog.close()), keep),
  );
  profiles();
  dialog.showModal();
  await look();
}

// The document's text as the server sent it: parsing and writing it here could change numbers. The key comes after the
// losses, which have other keys; inside a string its quotes would be escaped.
function exactDocument(text) {
  const found = /"document"\s*:\s*/.exec(text);
  return found ? text.slice(found.index + found[0].length, text.lastIndexOf("}")) : null;
}

// What matters first.
const KINDS = ["text", "files", "calls", "instructions", "settings", "metadata", "spelling", "repair"];

function losses(list) {
  if (!list.length) return [el("p", { class: "fine" }, "✓ Nothing is lost: reading it back gives the same conversation.")];
  list = KINDS.flatMap((kind) => list.filter((loss) => loss.kind === kind));
  const kinds = new Map();
  for (const loss of list) kinds.set(loss.kind, (kinds.get(loss.kind) ?? 0) + 1);
  const counts = [...kinds].map(([kind, count]) => el("span", { class: "badge" }, `${count.toLocaleString()} ${kind}`));
  const rows = list.slice(0, SHOWN).map((loss) => el("li", null, el("code", null, loss.path), el("span", null, loss.what), el("span", { class: "dim" }, loss.why)));
  const rest = list.length > SHOWN ? el("p", { class: "dim" }, `… and ${(list.length - SHOWN).toLocaleString()} more`) : null;
  return [el("p", null, el("strong", null, `${counted(list.length, "thing")} this format cannot carry `), counts), el("ul", { class: "losses", tabindex: 0, "aria-label": "Losses" }, rows), rest].filter(Boolean);
}

function ending({ format, text }) {
  const own = { markdown: "md", html: "html" }[format];
  if (own) return own;
  try {
    JSON.parse(text);
    return "json";
  } catch {
    return "jsonl";
  }
}

function store(threadId, written) {
  const name = `${threadId.slice(0, 60)}.${written.format}`;
  if (written.text !== undefined) download(`${name}.${ending(written)}`, new Blob([written.text]));
  else if (written.base64 !== undefined) download(name, new Blob([Uint8Array.from(atob(written.base64), (one) => one.charCodeAt(0))]));
  else download(`${name}.json`, new Blob([written.exact]));
}

export async function importFiles(files, done) {
  let last = null;
  for (const file of files) {
    try {
      const made = await imported(wire(new Uint8Array(await file.arrayBuffer())), file.name);
      if (!made) continue;
      const added = made.reduce((sum, one) => sum + one.added, 0);
      tell(`${shown(file.name)}: ${counted(made.length, "thread")}, ${counted(added, "new message")}`);
      last = made[0]?.threadId ?? last;
    } catch (error) {
      tell(`${shown(file.name)}: ${error.message}`, true);
    }
  }
  if (last !== null) done(last);
}

// If a file matches several formats, the user chooses one.
async function imported(body, name) {
  try {
    return await post("/api/import", body);
  } catch (error) {
    if (!/name the right one/.test(error.message)) throw error;
    const format = await chosenFormat(name, error.message);
    return format ? post("/api/import", { ...body, format }) : null;
  }
}

async function chosenFormat(name, why) {
  const readable = (await get("/api/formats")).filter((one) => one.read);
  readable.sort((a, b) => Number(why.includes(b.name)) - Number(why.includes(a.name)));
  const dialog = document.getElementById("dialog");
  const choice = el("select", { id: "import-format", "aria-label": "Format" }, readable.map((one) => el("option", { value: one.name }, `${one.name} — ${one.title}`)));
  const answer = new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue), { once: true }));
  dialog.replaceChildren(
    el("h2", { id: "dialog-title" }, "Which format is ", name, "?"),
    el("div", { class: "choices" }, choice),
    el("footer", null, button("Cancel", () => dialog.close("")), button("Import", () => dialog.close(choice.value), { class: "primary" })),
  );
  dialog.returnValue = "";
  dialog.showModal();
  return answer;
}

function wire(bytes) {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    let words = "";
    for (let at = 0; at < bytes.length; at += 8192) words += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return { base64: btoa(words) };
  }
}

export function dropZone(cover, done) {
  let inside = 0;
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const leave = () => {
    inside = 0;
    cover.hidden = true;
  };
  addEventListener("dragenter", (event) => files(event) && (inside++, (cover.hidden = false)));
  addEventListener("dragleave", (event) => files(event) && --inside <= 0 && leave());
  addEventListener("dragover", (event) => files(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    leave();
    importFiles([...event.dataTransfer.files], done);
  });
}
