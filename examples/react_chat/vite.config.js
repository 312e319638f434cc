import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `npm run dev` asks the backend that uvicorn runs; `npm run build` makes the folder that it serves itself.
export default defineConfig({ plugins: [react()], server: { proxy: { '/api': 'http://127.0.0.1:8000' } } });
