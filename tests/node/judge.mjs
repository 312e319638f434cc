// The real `ai` packages as judges of what Hansard writes; tests/node_judge.py starts and asks this program.
//
// One JSON request a line on stdin, one JSON answer a line on stdout, in the same order:
//
//   {"id", "cmd", "v": 5|6|7, "oldest": bool, "messages": [...], ...}
//   {"id", "ok": true, ...}  or  {"id", "ok": false, "error": "..."}  when the package refuses
//   {"id", "ok": false, "error": "...", "misuse": true}               when the question itself is wrong
//
//   versions      the installed versions, by alias
//   validate      UIMessages through validateUIMessages: what it returned, and the paths "lost" and "changed"
//   to-model      UIMessages through convertToModelMessages: the ModelMessages as JSON, and "unstorable": what that
//                 JSON, read again, would be refused for; option ignoreIncompleteToolCalls
//   check-model   ModelMessages, each against modelMessageSchema; option revive
//   to-prompt     ModelMessages to the prompt a provider would get; options system, revive
//   stream-text   ModelMessages to `streamText` itself, with a model that only listens: the prompt it got
//   read-sse      a stream's text "sse" (or its bytes in base64, "bytes") through the client: DefaultChatTransport and
//                 readUIMessageStream; "message" as the client has it, and "chunks" as they were understood. Of a stream
//                 that is refused, or says an error, ok is false, "errors" says why, and "message" is what came before;
//                 option message: the answer that goes on
//   chat          a real client that talks to a live server; see chat.mjs
//   cuts          real transports whose connections are cut; see cuts.mjs
//
// JSON has no URL and no bytes. A prompt spells them {"$url": "..."} and {"$bytes": "base64"}; with "revive": true
// the same spelling is understood in the messages asked about.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { chat } from './chat.mjs';
import { cuts } from './cuts.mjs';

const ALIASES = ['ai5', 'ai5oldest', 'ai6', 'ai6oldest', 'ai7', 'ai7oldest'];
const MODEL_SPECIFICATION = { 5: 'v2', 6: 'v3', 7: 'v4' };

class Misuse extends Error {
  name = 'Misuse';
}

async function load({ v, oldest = false }) {
  if (!(v in MODEL_SPECIFICATION)) throw new Misuse(`no version ${JSON.stringify(v)}; there are 5, 6, 7`);
  const alias = `ai${v}${oldest ? 'oldest' : ''}`;
  try {
    return await import(alias);
  } catch (error) {
    throw new Misuse(`cannot load ${alias}: ${error.message}`); // not a refusal: nobody was asked
  }
}

function installed(alias) {
  return JSON.parse(readFileSync(new URL(`node_modules/${alias}/package.json`, import.meta.url))).version;
}

// ---- values

const asJson = value => JSON.parse(JSON.stringify(value));

function spell(value) {
  if (value instanceof URL) return { $url: value.href };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map(spell);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spell(item)]));
}

function revive(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(revive);
  const entries = Object.entries(value);
  if (entries.length === 1 && entries[0][0] === '$url') return new URL(entries[0][1]);
  if (entries.length === 1 && entries[0][0] === '$bytes') return new Uint8Array(Buffer.from(entries[0][1], 'base64'));
  return Object.fromEntries(entries.map(([key, item]) => [key, revive(item)]));
}

const isContainer = value => value !== null && typeof value === 'object';

// What `before` had and `after` has not, as paths: keys that are gone, and plain values that differ.
function compare(before, after, path = '$', found = { lost: [], changed: [] }) {
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) {
    if (before !== after) found.changed.push(path);
    return found;
  }
  for (const [key, value] of Object.entries(before)) {
    const place = Array.isArray(before) ? `${path}[${key}]` : `${path}.${key}`;
    if (Object.hasOwn(after, key)) compare(value, after[key], place, found);
    else found.lost.push(place);
  }
  return found;
}

// ---- commands

function versions() {
  return { versions: Object.fromEntries(ALIASES.map(alias => [alias, installed(alias)])) };
}

async function validate({ messages, ...request }) {
  const { validateUIMessages } = await load(request);
  if (!validateUIMessages) throw new Misuse('ai 5.0.0 has no validateUIMessages');
  const valid = asJson(await validateUIMessages({ messages: structuredClone(messages) }));
  return { messages: valid, ...compare(messages, valid) };
}

function schemaProblems(ai, messages) {
  return messages.flatMap((message, index) => {
    const result = ai.modelMessageSchema.safeParse(message);
    return result.success ? [] : [`$[${index}]: ${result.error.message}`];
  });
}

async function toModel({ messages, ignoreIncompleteToolCalls, ...request }) {
  const ai = await load(request);
  const converted = await ai.convertToModelMessages(messages, { ignoreIncompleteToolCalls }); // v5 answers at once
  const problems = schemaProblems(ai, converted);
  if (problems.length) throw new Error(problems.join('\n'));
  return { messages: asJson(converted), unstorable: schemaProblems(ai, asJson(converted)) };
}

async function checkModel({ messages, revive: reviving = false, ...request }) {
  const problems = schemaProblems(await load(request), reviving ? revive(messages) : messages);
  if (problems.length) throw new Error(problems.join('\n'));
  return {};
}

async function toPrompt({ messages, system, revive: reviving = false, ...request }) {
  const { generateText } = await load(request);
  let prompt;
  const model = {
    specificationVersion: MODEL_SPECIFICATION[request.v],
    provider: 'judge',
    modelId: 'judge',
    supportedUrls: { '*/*': [/.*/] }, // so that nothing is downloaded
    doGenerate: async options => {
      prompt = options.prompt;
      throw new Error('the prompt is all that was wanted');
    },
  };
  try {
    await generateText({
      model,
      maxRetries: 0,
      messages: reviving ? revive(messages) : messages,
      ...(request.v === 7 ? { instructions: system } : { system }),
      allowSystemInMessages: true,
    });
  } catch (error) {
    if (prompt === undefined) throw error; // refused before the model was asked
  }
  return { prompt: asJson(spell(prompt)) };
}

async function askStreamText({ messages, ...request }) {
  const { streamText } = await load(request);
  let prompt;
  let refusal = new Error('streamText did not ask the model');
  const model = {
    specificationVersion: MODEL_SPECIFICATION[request.v],
    provider: 'judge',
    modelId: 'judge',
    supportedUrls: { '*/*': [/.*/] },
    doStream: async options => {
      prompt = options.prompt;
      throw new Error('the prompt is all that was wanted');
    },
  };
  const onError = ({ error }) => void (refusal = error);
  const result = streamText({ model, maxRetries: 0, messages, allowSystemInMessages: true, onError });
  for (const promised of ['text', 'steps', 'finishReason']) Promise.resolve(result[promised]).catch(() => {});
  await result.consumeStream({ onError: error => void (refusal = error) });
  if (prompt === undefined) throw refusal;
  return { prompt: asJson(spell(prompt)) };
}

async function readSse({ sse, bytes, message, ...request }) {
  if (typeof (sse ?? bytes) !== 'string') throw new Misuse('sse or bytes must be a text');
  const ai = await load(request);
  const errors = [];
  const refuse = error => errors.push(`${error.name}: ${error.message}`);
  const body = bytes === undefined ? Buffer.from(sse) : Buffer.from(bytes, 'base64');
  const transport = new ai.DefaultChatTransport({ fetch: async () => new Response(body) });
  const chunks = [];
  try {
    const received = await transport.sendMessages({ chatId: 'judge', messages: [], trigger: 'submit-message' });
    for await (const chunk of received) chunks.push(chunk);
  } catch (error) {
    refuse(error); // as in a client: what came before it stays, the rest is not read
  }
  let last = null;
  const stream = ReadableStream.from(chunks);
  for await (const state of ai.readUIMessageStream({ message, stream, onError: refuse })) last = state;
  return { ok: errors.length === 0, message: asJson(last), chunks: asJson(chunks), errors, error: errors[0] };
}

const COMMANDS = {
  versions,
  validate,
  'to-model': toModel,
  'check-model': checkModel,
  'to-prompt': toPrompt,
  'stream-text': askStreamText,
  'read-sse': readSse,
  chat,
  cuts,
};

async function answer({ cmd, ...request }) {
  const command = Object.hasOwn(COMMANDS, cmd) ? COMMANDS[cmd] : undefined;
  if (!command) throw new Misuse(`no command ${JSON.stringify(cmd)}; there are ${Object.keys(COMMANDS).join(', ')}`);
  if (!['versions', 'read-sse', 'chat', 'cuts'].includes(cmd) && !Array.isArray(request.messages)) throw new Misuse('messages must be a list');
  return command(request);
}

// ---- the loop

// Stdout is for answers only: whatever the packages print goes to stderr.
for (const method of ['log', 'info', 'debug']) console[method] = console.error;
globalThis.AI_SDK_LOG_WARNINGS = false;

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...request } = JSON.parse(line);
  let reply;
  try {
    reply = { ok: true, ...(await answer(request)) };
  } catch (error) {
    reply = { ok: false, error: `${error.name}: ${error.message}` };
    if (error instanceof Misuse) reply.misuse = true;
  }
  process.stdout.write(`${JSON.stringify({ id, ...reply })}\n`);
}
