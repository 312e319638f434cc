// API client. The session cookie is not readable by scripts; a browser without one is sent to the login page.

class Refused extends Error {
  constructor(status, fault) {
    super([fault?.error ?? `the server answered ${status}`, fault?.wayOut].filter(Boolean).join("; "));
    this.status = status;
  }
}

// Encodes lone surrogates, which ids may contain, as UTF-8 would: encodeURIComponent rejects them.
export function encoded(id) {
  return Array.from(String(id), (sign) => {
    const code = sign.codePointAt(0);
    if (code < 0xd800 || code > 0xdfff) return encodeURIComponent(sign);
    return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)].map((byte) => `%${byte.toString(16).toUpperCase()}`).join("");
  }).join("");
}

export function decoded(text) {
  const half = /%ED%([AB][0-9A-F])%([89AB][0-9A-F])/gi;
  return text.split(/((?:%ED%[AB][0-9A-F]%[89AB][0-9A-F]))/i).map((piece, i) => (i % 2 ? piece.replace(half, (_, one, two) => String.fromCharCode(0xd000 | ((Number.parseInt(one, 16) & 63) << 6) | (Number.parseInt(two, 16) & 63))) : decodeURIComponent(piece))).join("");
}

let leaving = false;

async function asked(method, path, body, signal) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  if (response.status === 401 && !leaving) {
    leaving = true; // several requests may fail at once; redirect only once
    location.replace("/login");
  }
  if (!response.ok) throw new Refused(response.status, await response.json().catch(() => null));
  return response;
}

export async function get(path, query = {}, signal = undefined) {
  return (await got(path, query, signal)).json();
}

export async function getText(path, query = {}) {
  return (await got(path, query)).text();
}

function got(path, query, signal) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const words = given.map(([key, value]) => `${key}=${encoded(value)}`).join("&");
  return asked("GET", words ? `${path}?${words}` : path, undefined, signal);
}

export async function post(path, body) {
  return (await asked("POST", path, body)).json();
}

// After logout the next request redirects to the login page, if the server requires a login.
export async function logOut() {
  await asked("POST", "/api/logout");
  sessionStorage.clear();
  await asked("GET", "/api/agents");
}

export function thread(id, rest = "") {
  return `/api/threads/${encoded(id)}${rest}`;
}

// Yields the chunks of a streaming answer; returns null without an active run.
export async function stream(method, path, body, take, signal) {
  const response = await asked(method, path, body, signal);
  if (response.status === 204) return false;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return true;
    const events = (rest + value).split(/\r?\n\r?\n/);
    rest = events.pop();
    for (const event of events) {
      const words = event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
      if (words && words !== "[DONE]") take(JSON.parse(words));
    }
  }
}

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

// A ULID: timestamp, then random bits.
export function newId() {
  let time = Date.now();
  let head = "";
  for (let i = 0; i < 10; i++) {
    head = CROCKFORD[time % 32] + head;
    time = Math.floor(time / 32);
  }
  return head + Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => CROCKFORD[byte % 32]).join("");
}
