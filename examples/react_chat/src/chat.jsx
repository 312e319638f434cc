import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { useState } from 'react';

// A question without an answer: all of the last answer is wanted, also if it ended since the messages were loaded.
const transportOf = initial => new DefaultChatTransport({
  api: '/api/chat',
  prepareReconnectToStreamRequest: ({ id }) => ({
    api: `/api/chat/${id}/stream${initial.at(-1)?.role === 'user' ? '?startIndex=0' : ''}`,
  }),
});

export function Chat({ id, initial }) {
  const [text, setText] = useState('');
  const [transport] = useState(() => transportOf(initial));
  const { messages, sendMessage, regenerate, status, error } = useChat({ id, messages: initial, transport, resume: true });
  const busy = status === 'submitted' || status === 'streaming';

  const send = event => {
    event.preventDefault();
    sendMessage({ text });
    setText('');
  };
  // A closed page does not stop an answer, so stopping is something to be asked for: the stream then ends by itself.
  const stop = () => fetch(`/api/chat/${id}/stop`, { method: 'POST' });

  return (
    <>
      {messages.map(message => (
        <article key={message.id} id={message.id} data-role={message.role} title={message.metadata?.agent?.name}>
          {message.parts.map((part, i) => <Part key={i} part={part} />)}
          {message.metadata?.interrupted && <small>interrupted, try again</small>}
        </article>
      ))}
      <form onSubmit={send}>
        <input autoFocus value={text} onChange={event => setText(event.target.value)} placeholder="Say something" />
        <button disabled={busy || !text}>Send</button>
        <button type="button" disabled={busy || !messages.length} onClick={() => regenerate()}>Regenerate</button>
        <button type="button" disabled={!busy} onClick={stop}>Stop</button>
      </form>
      <output data-status={status}>{error ? `interrupted, try again (${error.message})` : ''}</output>
    </>
  );
}

function Part({ part }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type === 'reasoning') return <details><summary>Thought</summary>{part.text}</details>;
  if (part.type === 'file') return <a href={part.url}>{part.filename ?? part.mediaType}</a>;
  return part.type === 'step-start' ? null : <pre>{JSON.stringify(part, null, 2)}</pre>;
}
