// Chat with an agent: posts messages like an AI SDK client and draws the answer while it streams. The answer belongs to
// the server: leaving the page does not stop it, and a reload replays it from its start.

import { button, el, tell } from "/viewer/elements.js";
import { encoded, get, newId, post, stream } from "/viewer/api.js";
import { message } from "/viewer/message.js";

const EVERY = 60; // milliseconds between two renderings of a streaming answer

// Folds the chunks of a stream into parts, as the ledger will store them.
class Growing {
  constructor() {
    this.parts = [];
    this.answers = new Map();
    this.open = new Map();
    this.error = null;
    this.ended = null;
  }

  take(chunk) {
    const { type, id, toolCallId } = chunk;
    const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
    if (kind) {
      const key = `${kind} ${id}`;
      if (step === "start") this.begin(key, { type: kind, text: "" });
      else if (step === "delta" && this.open.has(key)) this.open.get(key).text += chunk.delta;
      return;
    }
    if (type === "tool-input-start") this.begin(toolCallId, { type: "tool-call", toolCallId, toolName: chunk.toolName, inputText: "" });
    else if (type === "tool-input-delta" && this.open.has(toolCallId)) this.open.get(toolCallId).inputText += chunk.inputTextDelta;
    else if (type === "tool-input-available") Object.assign(this.call(chunk), { input: chunk.input });
    else if (type === "tool-output-available") this.answers.set(this.call(chunk), { type: "tool-result", output: chunk.output });
    else if (type === "tool-output-error" || type === "tool-input-error") this.answers.set(this.call(chunk), { type: "tool-result", output: chunk.errorText, isError: true });
    else if (type === "tool-output-denied") this.answers.set(this.call(chunk), { type: "tool-result", status: "denied" });
    else if (type === "tool-approval-request") this.call(chunk).approval = { id: chunk.approvalId };
    else if (type === "file") this.parts.push({ type: "file", url: chunk.url, mimeType: chunk.mediaType });
    else if (type === "source-url") this.parts.push({ type: "source", url: chunk.url, title: chunk.title });
    else if (type === "error") this.error = chunk.errorText ?? "the answer failed";
    else if (type === "abort") this.ended = "interrupted";
    else if (type?.startsWith("data-") && type !== "data-error") this.parts.push({ type: "data", name: type.slice(5), data: chunk.data });
  }

  begin(key, one) {
    this.open.set(key, one);
    this.parts.push(one);
  }

  call(chunk) {
    if (!this.open.has(chunk.toolCallId)) this.begin(chunk.toolCallId, { type: "tool-call", toolCallId: chunk.toolCallId, toolName: chunk.toolName });
    return this.open.get(chunk.toolCallId);
  }
}

export class Chat {
  constructor(place, page) {
    this.place = place;
    this.page = page;
    this.busy = null;
    this.box = el("textarea", { rows: 1, placeholder: "Send a message…", "aria-label": "Message", keydown: (event) => this.key(event), input: () => this.grow() });
    this.agent = el("select", { "aria-label": "Agent" });
    this.send = button("Send", () => this.say(), { class: "primary" });
    this.stop = button("Stop", () => this.halt(), { hidden: true });
    place.replaceChildren(el("div", { class: "composer" }, this.box, el("div", { class: "composer-row" }, this.agent, el("span", { class: "hint dim" }, "Enter sends · Shift+Enter new line"), el("span", { class: "grow" }), this.stop, this.send)));
  }

  agents(list) {
    this.agent.replaceChildren(...list.map((one) => el("option", { value: one.name }, one.name)));
    this.agent.hidden = list.length < 2;
    this.none = !list.length;
    this.box.disabled = this.send.disabled = this.none;
    if (this.none) this.box.placeholder = "This server has no agent";
  }

  grow() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight + 2, 220)}px`;
  }

  key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.say();
    }
  }

  say() {
    const text = this.box.value.trim();
    if (!text || this.none) return;
    this.box.value = "";
    this.grow();
    const said = { id: newId(), role: "user", parts: [{ type: "text", text }] };
    this.ask({ trigger: "submit-message", messages: [said] }, [said]);
  }

  again(prompt) {
    return this.ask({ trigger: "regenerate-message", messageId: wireId(prompt), messages: [] }, []);
  }

  edit(prompt, text) {
    const id = wireId(prompt);
    const kept = (prompt.parts ?? []).filter((one) => one.type === "file" && (one.url || one.data)).map(sent);
    const said = { id, role: "user", parts: [...kept, { type: "text", text }] };
    return this.ask({ trigger: "submit-message", messageId: id, messages: [said] }, [said]);
  }

  // Sends an approval, denial or result for every pending call; the answer continues.
  async answer(decisions) {
    const messages = await get(`/api/chat/${encoded(this.page.threadId)}`);
    const last = messages.at(-1);
    for (const one of last?.parts ?? []) {
      const told = decisions.get(one.toolCallId);
      if (!told) continue;
      if ("approved" in told) Object.assign(one, { state: "approval-responded", approval: { ...one.approval, approved: told.approved } });
      else Object.assign(one, { state: "output-available", output: told.output });
    }
    return this.ask({ trigger: "submit-message", messages: [last] }, []);
  }

  async ask(body, said) {
    const agent = this.agent.value || undefined;
    await this.follow("POST", "/api/chat", { id: this.page.threadId, agent, ...body }, said);
  }

  resume() {
    return this.follow("GET", `/api/chat/${encoded(this.page.threadId)}/stream`, undefined, []);
  }

  async follow(method, path, body, said) {
    this.leave();
    const leaving = new AbortController();
    const threadId = this.page.threadId;
    this.busy = leaving;
    this.mark(true);
    const { conversation } = this.page;
    const growing = new Growing();
    const context = { ...this.page.context(), actions: null, siblings: null, answers: growing.answers, pending: null };
    const words = said.map((one) => message(one, context));
    let drawing = 0;
    const draw = () => {
      drawing = 0;
      if (this.busy !== leaving) return;
      const low = conversation.atEnd();
      const answer = message({ role: "assistant", parts: growing.parts, state: growing.ended ?? "complete", agentId: this.agent.value || undefined }, context);
      answer.classList.add("growing");
      if (!growing.parts.length) answer.append(el("p", { class: "dim waiting" }, "…"));
      conversation.live.replaceChildren(...words, answer);
      if (low) conversation.toEnd();
    };
    draw();
    conversation.toEnd();
    try {
      const any = await stream(method, path, body, (chunk) => {
        growing.take(chunk);
        drawing ||= setTimeout(draw, EVERY);
      }, leaving.signal);
      if (any && growing.error) tell(growing.error, true);
    } catch (error) {
      if (error.name !== "AbortError") tell(error.message, true);
    } finally {
      clearTimeout(drawing);
      if (this.busy === leaving) {
        draw();
        this.busy = null;
        this.mark(false);
        await this.page.changed(threadId);
        conversation.live.replaceChildren();
      }
    }
  }

  // Stops following; the answer continues on the server.
  leave() {
    this.busy?.abort();
    this.busy = null;
    this.page.conversation.live.replaceChildren();
    this.mark(false);
  }

  async halt() {
    try {
      await post(`/api/chat/${encoded(this.page.threadId)}/stop`);
    } catch (error) {
      tell(error.message, true);
    }
  }

  mark(busy) {
    this.stop.hidden = !busy;
    this.place.classList.toggle("busy", busy);
  }
}

function sent({ mimeType = "application/octet-stream", name, url, data }) {
  return { type: "file", mediaType: mimeType, filename: name, url: url ?? `data:${mimeType};base64,${data}` };
}

// The id of a message in the chat protocol: an edited message keeps its old id there.
function wireId(one) {
  const known = one.extra?.["ai-sdk-ui"]?.id;
  return typeof known === "string" ? known : one.id;
}
