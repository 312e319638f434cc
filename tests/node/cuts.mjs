// Real transports whose connections are cut after every chunk: what a client has received when its stream has ended.
//
//   {"transport": "workflow", "url", "other", "chatId", "text", "headers", "after": k}
//        WorkflowChatTransport: the POST is cut after k chunks, each GET after one more; it resumes by `startIndex`
//   {"transport": "workflow", "other", "chatId", "headers", "startIndex": -n}        it reconnects n chunks from the end
//   {"transport": "default", "v", "other", "chatId", "headers", "query": {...}}      DefaultChatTransport reconnects
//   {"transport": "eventsource", "other", "chatId", "headers"}                       EventSource: `Last-Event-ID`
//   {"transport": "durable", "url", "chatId", "text"?, "headers"}    createDurableChatTransport: it sends, or reconnects
//
// "chunks" as they came, "gets" what was asked of the server. `other` is the address of a second process.
const text = new TextDecoder();

/** The response, cut after a number of chunks. */
function cut(response, chunks, before = '') {
  if (!response.body) return response;
  let held = before;
  let left = chunks;
  const some = new TransformStream({
    transform(bytes, out) {
      const events = (held + text.decode(bytes, { stream: true })).split('\n\n');
      held = events.pop();
      for (const event of events) {
        if (left-- > 0) out.enqueue(new TextEncoder().encode(event + '\n\n'));
        if (left <= 0) return out.terminate();
      }
    },
  });
  return new Response(response.body.pipeThrough(some), { status: response.status, headers: response.headers });
}

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream ?? []) chunks.push(chunk);
  return chunks;
}

export async function cuts({ transport, v = 6, url, other, chatId, text: said, headers, after, startIndex, query }) {
  const gets = [];
  const fetched = async (target, init = {}) => {
    if (init.method === 'POST') {
      const response = await fetch(target, { ...init, headers: { ...init.headers, ...headers } });
      return after === 0 ? new Response(new ReadableStream({ start: out => out.close() }), response) : cut(response, after);
    }
    const there = new URL(target);
    gets.push([there.pathname.split('/').at(-2), there.search, new Headers(init.headers).get('last-event-id')]);
    const address = new URL(there.pathname + there.search, other);
    const response = await fetch(address, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } });
    if (transport === 'default' || !response.ok) return response;
    return cut(response, 1, transport === 'eventsource' ? 'retry: 1\n' : '');
  };
  if (transport === 'eventsource') {
    const { EventSource } = await import('eventsource');
    const chunks = [];
    const source = new EventSource(`${other}/api/chat/${chatId}/stream?startIndex=0`, { fetch: fetched });
    await new Promise(done => {
      source.onmessage = event => chunks.push(event.data === '[DONE]' ? event.data : JSON.parse(event.data));
      source.onerror = () => (source.readyState === 2 || chunks.length > 1000) && done(source.close());
    });
    return { chunks: chunks.filter(chunk => chunk !== '[DONE]'), gets };
  }
  if (transport === 'default') {
    const { DefaultChatTransport } = await import(`ai${v}`);
    const api = `${other}/api/chat/${chatId}/stream?${new URLSearchParams(query)}`;
    const real = new DefaultChatTransport({ fetch: fetched, prepareReconnectToStreamRequest: () => ({ api }) });
    return { chunks: await all(await real.reconnectToStream({ chatId })), gets };
  }
  const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: said }] }];
  if (transport === 'durable') {
    const { createDurableChatTransport } = await import('@durable-streams/aisdk-transport');
    const real = createDurableChatTransport({ api: `${url}/api/chat`, headers });
    const plain = globalThis.fetch; // its reader takes no headers
    globalThis.fetch = (target, init = {}) =>
      (gets.push([String(target), init.method]), plain(target, { ...init, headers: { ...init.headers, ...headers } }));
    const stream = said ? real.sendMessages({ trigger: 'submit-message', chatId, messages }) : real.reconnectToStream({ chatId });
    return { chunks: await all(await stream).finally(() => (globalThis.fetch = plain)), gets };
  }
  const { WorkflowChatTransport } = await import('@ai-sdk/workflow/client');
  const real = new WorkflowChatTransport({
    api: `${url ?? other}/api/chat`,
    fetch: fetched,
    prepareSendMessagesRequest: ({ id, messages }) => ({
      body: { id, messages },
      headers: { 'content-type': 'application/json' },
    }),
  });
  if (startIndex !== undefined) return { chunks: await all(await real.reconnectToStream({ chatId, startIndex })), gets };
  return { chunks: await all(await real.sendMessages({ trigger: 'submit-message', chatId, messages })), gets };
}
