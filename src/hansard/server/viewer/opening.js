// Default title of a conversation; the same patterns as in `model/default_title.py`.

const NOT_TYPED = /^(<[a-z_][^<>]*>[^]*>$|Caveat: The messages below were generated |# AGENTS\.md instructions)/;
const COMMAND = /<command-name>([^<]+)<\/command-name>/;
export const LOOKED_AT = 20;

// The first typed text, else the first command, else the first text; null without text.
export function openingWords(messages) {
  const parts = messages.filter((one) => one.role === "user").flatMap((one) => one.parts ?? []);
  const texts = parts.filter((one) => one?.type === "text" && typeof one.text === "string").map((one) => one.text.trim());
  const said = texts.filter(Boolean);
  const command = said.map((text) => COMMAND.exec(text)?.[1].trim()).find(Boolean);
  return said.find((text) => !NOT_TYPED.test(text)) ?? command ?? said[0] ?? null;
}
