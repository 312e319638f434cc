// Entry point: the page, the keys, and polling for changes by others.

import { tell } from "/viewer/elements.js";
import { get, logOut, newId } from "/viewer/api.js";
import { dropZone, exportDialog, importFiles } from "/viewer/documents.js";
import { Filters } from "/viewer/filters.js";
import { helpDialog } from "/viewer/help.js";
import { Page } from "/viewer/page.js";

const at = (id) => document.getElementById(id);
const page = new Page();
const filters = new Filters(at("filters"), at("show-filters"), (only) => page.list.narrow(only));

// -- the keys ------------------------------------------------------------------------------------------------------

const KEYS = {
  j: () => page.conversation.step(1),
  k: () => page.conversation.step(-1),
  "[": () => page.sibling(-1),
  "]": () => page.sibling(1),
  u: () => page.files.ask("undo"),
  r: () => page.files.ask("redo"),
  t: () => page.toggle("tree"),
  f: () => page.toggle("files"),
  e: () => page.threadId !== null && exportDialog(at("dialog"), page.threadId),
  "/": () => at("search").focus(),
  "?": () => helpDialog(at("dialog")),
  Escape: () => page.panel(null),
};

addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, textarea, select");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  page.guarded(async () => act());
});

// -- changes by others ---------------------------------------------------------------------------------------------

const SOON = 2000; // milliseconds between two polls while something changes
const LATE = 20000; // and after a while without changes
let pause = SOON;
let timer = 0;

async function look() {
  clearTimeout(timer);
  if (!document.hidden) {
    const news = await page.look().catch(() => false);
    pause = news ? SOON : Math.min(LATE, pause * 1.3);
  }
  clearTimeout(timer);
  timer = setTimeout(look, pause);
}

// Poll immediately when the tab becomes visible again or the user acts after a pause.
function awake() {
  const slow = pause > SOON * 3;
  pause = SOON;
  if (slow && !document.hidden) look();
}

document.addEventListener("visibilitychange", () => !document.hidden && ((pause = LATE), awake()));
addEventListener("pointerdown", awake);
addEventListener("keydown", awake);

// -- the buttons ---------------------------------------------------------------------------------------------------

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
const imported = (id) => {
  at("search").value = "";
  return page.list.start("").then(() => page.go(id));
};
at("import").addEventListener("change", (event) => importFiles([...event.target.files], imported).finally(() => (event.target.value = "")));
at("import-button").addEventListener("click", () => at("import").click());
document.querySelector(".skip").addEventListener("click", (event) => (event.preventDefault(), at("main").focus()));
at("back").addEventListener("click", () => page.go(null));
at("show-tree").addEventListener("click", () => page.toggle("tree"));
at("undo").addEventListener("click", () => page.guarded(() => page.files.ask("undo")));
at("show-files").addEventListener("click", () => page.toggle("files"));
at("show-help").addEventListener("click", () => helpDialog(at("dialog")));
at("show-export").addEventListener("click", () => page.guarded(() => exportDialog(at("dialog"), page.threadId)));
at("log-out").addEventListener("click", () => page.guarded(() => logOut().then(() => tell("This server needs no login."))));
dropZone(at("drop"), imported);
addEventListener("hashchange", () => page.route());
// A page from the back/forward cache may be from before a logout.
addEventListener("pageshow", (event) => event.persisted && location.reload());

async function begin() {
  const [agents] = await Promise.all([get("/api/agents").catch(() => []), page.list.start(), filters.restore()]);
  page.chat.agents(agents);
  await page.route();
  timer = setTimeout(look, SOON);
}

begin().catch((error) => tell(error.message, true));
