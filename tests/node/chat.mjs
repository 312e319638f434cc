// A real chat client: `Chat` of @ai-sdk/react with `DefaultChatTransport` of ai, driven step by step against a live
// server. Chats are kept by name between questions, so that a server may be killed in the middle of an answer.
//
//   {"chat": name, "script": [{"op": ...}, ...]}          the first question opens it:
//   {"v", "url", "chatId", "messages"?, "autoSend"?: "tools"|"approvals", "headers"?, "body"?, "lastOnly"?: true}
//
//   send {text?, files?, messageId?, metadata?}   regenerate {messageId?}   resume   continue   stop
//   toolOutput {tool, toolCallId, output? | errorText?}   approve {id, approved, reason?}
//   until {chars}     wait until the last message has so many characters of text
//   idle              wait until nothing streams
//
// Each waits until nothing streams any more, unless it says "wait": false. The answer is the state: "status",
// "error", "messages", "requests" with their bodies and statuses, "chunks" of the last stream, "data" parts as they came.
const PATIENCE = 40_000;
const chats = new Map();
const plain = value => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
const pause = ms => new Promise(done => setTimeout(done, ms));

const WHEN = {
  tools: 'lastAssistantMessageIsCompleteWithToolCalls',
  approvals: 'lastAssistantMessageIsCompleteWithApprovalResponses',
};

class Client {
  static async open({ v, url, chatId, messages = [], autoSend, headers, body, lastOnly = false, ids = 'client' }) {
    const [ai, { Chat }] = await Promise.all([import(`ai${v}`), import(`react${v}`)]);
    return new Client(ai, Chat, { url, id: chatId, messages, autoSend, headers, body, lastOnly, ids });
  }

  constructor(ai, Chat, { url, id, messages, autoSend, headers, body, lastOnly, ids }) {
    Object.assign(this, { requests: [], data: [], chunks: [], finished: [], pending: Promise.resolve(), error: undefined });
    let made = 0;
    const last = ({ id, messages, trigger, messageId }) => ({ body: { id, message: messages.at(-1), trigger, messageId } });
    const transport = new ai.DefaultChatTransport({
      api: url,
      headers,
      body,
      fetch: (target, init) => this.fetch(target, init),
      ...(lastOnly ? { prepareSendMessagesRequest: last } : {}),
    });
    this.chat = new Chat({
      id,
      messages,
      transport,
      generateId: () => `${ids}-${++made}`,
      sendAutomaticallyWhen: autoSend ? ai[WHEN[autoSend]] : undefined,
      onData: part => this.data.push(plain(part)),
      onError: error => (this.error = `${error.name}: ${error.message}`),
      onFinish: event => this.finished.push({ isAbort: event.isAbort, isError: event.isError }),
    });
  }

  async fetch(target, init) {
    const request = { method: init.method ?? 'GET', url: String(target), body: init.body ? JSON.parse(init.body) : undefined };
    this.requests.push(request);
    const response = await fetch(target, init);
    request.status = response.status;
    if (!response.body || !response.ok) return response;
    this.chunks = [];
    let text = '';
    const letters = new TextDecoder();
    const note = bytes => {
      const events = (text + letters.decode(bytes, { stream: true })).split('\n\n');
      text = events.pop();
      for (const line of events.join('\n').split('\n')) // beside ids and comments
        if (line.startsWith('data: {')) this.chunks.push(JSON.parse(line.slice(6)));
    };
    const noted = new TransformStream({ transform: (bytes, out) => (note(bytes), out.enqueue(bytes)) });
    return new Response(response.body.pipeThrough(noted), { status: response.status, headers: response.headers });
  }

  begin({ op, wait, ...given }) {
    const { chat } = this;
    switch (op) {
      case 'send': {
        const { options, ...message } = given;
        return chat.sendMessage(message, options);
      }
      case 'continue':
        return chat.sendMessage();
      case 'regenerate':
        return chat.regenerate(given);
      case 'resume':
        return chat.resumeStream();
      case 'stop':
        return chat.stop();
      case 'toolOutput':
        return chat.addToolOutput('errorText' in given ? { state: 'output-error', ...given } : given);
      case 'approve':
        return chat.addToolApprovalResponse(given);
      case 'until':
        return this.until(given.chars);
      case 'idle':
        return this.pending;
      default:
        throw new Error(`no op ${JSON.stringify(op)}`);
    }
  }

  async until(chars) {
    const said = () => (this.chat.messages.at(-1)?.role === 'assistant' ? this.chat.messages.at(-1).parts : []);
    await this.patiently(() => said().reduce((sum, part) => sum + (part.text?.length ?? 0), 0) >= chars);
  }

  async patiently(condition) {
    for (const start = Date.now(); !condition(); await pause(3))
      if (Date.now() - start > PATIENCE) throw new Error(`waited ${PATIENCE} ms in vain; the chat is ${this.chat.status}`);
  }

  async run(script) {
    for (const step of script) {
      const begun = Promise.resolve(this.begin(step)).catch(error => (this.error = `${error.name}: ${error.message}`));
      if (step.wait === false) {
        this.pending = begun;
        continue;
      }
      await begun;
      if (step.op === 'until') continue;
      for (let quiet = 0; quiet < 3; quiet++) {
        await pause(4); // what sends itself begins a moment after the step that lets it
        if (['submitted', 'streaming'].includes(this.chat.status)) quiet = -1;
        await this.patiently(() => !['submitted', 'streaming'].includes(this.chat.status));
      }
    }
    const { status, messages } = this.chat;
    const { error, requests, data, chunks, finished } = this;
    return plain({ status, error, messages, requests, data, chunks, finished });
  }
}

export async function chat({ chat: name, script, ...options }) {
  if (!chats.has(name)) chats.set(name, await Client.open(options));
  return chats.get(name).run(script);
}
