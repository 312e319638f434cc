import { createRoot } from 'react-dom/client';
import { Chat } from './chat.jsx';

// The chat is in the address, so that a reload finds it again; the ledger knows what was said in it.
if (!location.hash) location.hash = crypto.randomUUID();
const id = location.hash.slice(1);
const messages = await (await fetch(`/api/chat/${id}`)).json();
createRoot(document.getElementById('root')).render(<Chat id={id} initial={messages} />);
