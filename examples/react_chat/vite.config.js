import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `npm run dev` asks the back end that uvicorn runs, or `hansard serve` with HANSARD_URL=http://127.0.0.1:8484 and its
// token in HANSARD_TOKEN; `npm run build` makes the folder that fastapi_chat.py serves itself.
const target = process.env.HANSARD_URL ?? 'http://127.0.0.1:8000';
const token = process.env.HANSARD_TOKEN;
const headers = { origin: target, ...(token && { authorization: `Bearer ${token}` }) };
// The proxy leaves a response open whose back end died: the page would wait for the rest of it.
const configure = proxy =>
  proxy.on('proxyRes', (from, _, to) => from.on('close', () => from.complete || to.destroy()));
const proxy = { '/api': { target, changeOrigin: true, headers, configure } };

export default defineConfig({ plugins: [react()], server: { proxy }, preview: { proxy } });
