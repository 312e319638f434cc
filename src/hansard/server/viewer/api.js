// The API, asked as any client asks it. The token, if there is one, stays in this tab: it goes with each request as a
// header, so that no other page can use it.

const KEPT = "hansard-token";

export class Refused extends Error {
  constructor(status, fault) {
    super([fault?.error ?? `the server answered ${status}`, fault?.wayOut].filter(Boolean).join("; "));
    this.status = status;
  }
}

export function rememberToken(token) {
  sessionStorage.setItem(KEPT, token);
}

export function encoded(id) {
  return encodeURIComponent(String(id).toWellFormed?.() ?? String(id));
}

async function asked(method, path, body, signal) {
  const headers = {};
  const token = sessionStorage.getItem(KEPT);
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  if (response.status === 401) document.dispatchEvent(new CustomEvent("token-wanted"));
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

export function thread(id, rest = "") {
  return `/api/threads/${encoded(id)}${rest}`;
}

// The chunks of an answer as they come; null when nothing is being said.
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

// A ULID: time first, then chance.
export function newId() {
  let time = Date.now();
  let head = "";
  for (let i = 0; i < 10; i++) {
    head = CROCKFORD[time % 32] + head;
    time = Math.floor(time / 32);
  }
  return head + Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => CROCKFORD[byte % 32]).join("");
}
