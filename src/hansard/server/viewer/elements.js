// Element construction. Security rule of the viewer: content of the ledger becomes text nodes only. Markup is never
// parsed, and attributes that could load or run something are set only by the checked functions below.

const BARRED = /^(on|style$|src|href$|xlink|action$|formaction$|data$|poster$)/i;
const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (BARRED.test(name)) throw new Error(`the attribute ${name} is not set this way`);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : shown(child));
  }
  return element;
}

// Makes control characters and characters that reorder or hide text visible.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

export function shown(words) {
  const text = typeof words === "string" ? words : words === undefined ? "" : plain(words);
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (mark, at) => {
    const code = mark.codePointAt(0);
    if (code === 0x200d && /\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3))) return mark;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

export function plain(value) {
  try {
    return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
  } catch {
    return String(value);
  }
}

// An external link: allowed schemes only, without referrer.
export function link(url, ...children) {
  let to = null;
  try {
    to = new URL(String(url).trim());
  } catch {
    to = null;
  }
  if (to === null || !["http:", "https:", "mailto:"].includes(to.protocol)) {
    return el("span", { class: "dead-link", title: "not a web address" }, children);
  }
  const made = el("a", { rel: "noopener noreferrer nofollow", target: "_blank", title: shown(to.href) }, children);
  made.href = to.href;
  return made;
}

// "1 message", "2 messages".
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

// Base64 of any alphabet in the form that atob accepts.
export function base64(words) {
  return String(words ?? "").replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
}

const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

// An image stored in the ledger; any other image is shown by name and not loaded.
export function picture(mediaType, words, name) {
  const kind = String(mediaType ?? "").toLowerCase();
  const data = base64(words);
  if (!PICTURES.test(kind) || !/^[A-Za-z0-9+/]+=*$/.test(data)) return null;
  const made = el("img", { alt: shown(name ?? "image"), class: "picture", loading: "lazy" });
  made.src = `data:${kind};base64,${data}`;
  return made;
}

export function button(label, act, attributes) {
  return el("button", { type: "button", click: act, ...attributes }, label);
}

let leaving = 0;
export function tell(words, wrong = false) {
  const place = document.getElementById("told");
  place.replaceChildren(el("div", { class: wrong ? "toast wrong" : "toast" }, words));
  clearTimeout(leaving);
  leaving = setTimeout(() => place.replaceChildren(), wrong ? 9000 : 4000);
}

// Long text is shown in part until the user expands it, so that large tool output does not block the page.
const MUCH = 20000;
export function long(words, render) {
  const text = plain(words);
  if (text.length <= MUCH) return render(text);
  const box = el("div", { class: "long" }, render(text.slice(0, MUCH)));
  const more = button(`Show all ${text.length.toLocaleString()} characters`, () => {
    const whole = el("div", { class: "long" });
    for (let at = 0; at < text.length; at += MUCH) whole.append(el("pre", { class: "piece" }, text.slice(at, at + MUCH)));
    box.replaceWith(whole);
  }, { class: "more" });
  box.append(more);
  return box;
}
