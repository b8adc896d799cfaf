// As much of Markdown as the pages of error codes are written in: headings, paragraphs, lists, and code.

export type Block =
  | { kind: "heading"; level: number; text: string }
  | { kind: "text"; text: string }
  | { kind: "list"; items: string[] }
  | { kind: "code"; text: string };

export interface Piece {
  kind: "text" | "code" | "strong" | "link";
  text: string;
  /** Where a link leads. */
  to?: string;
}

const FENCE = /^\s*```/;

/** What comes after a fence, up to the next one. */
function fenced(lines: readonly string[], from: number): string[] {
  const end = lines.findIndex((line, at) => at > from && FENCE.test(line));
  return lines.slice(from + 1, end === -1 ? undefined : end);
}

/** Lines of a table stay as they are; all others go on in the last block. */
function line(blocks: Block[], text: string, goesOn: boolean) {
  const last = blocks.at(-1);
  const [, item] = /^[-*] (.*)$/.exec(text) ?? [];
  if (item !== undefined) {
    if (last?.kind === "list") last.items.push(item);
    else blocks.push({ kind: "list", items: [item] });
  } else if (/^\s*\|/.test(text)) {
    if (last?.kind === "code" && goesOn) last.text += `\n${text.trim()}`;
    else blocks.push({ kind: "code", text: text.trim() });
  } else if (last?.kind === "list" && (goesOn || /^\s/.test(text))) {
    last.items.push(`${last.items.pop() ?? ""} ${text.trim()}`);
  } else if (last?.kind === "text" && goesOn) {
    last.text += ` ${text.trim()}`;
  } else {
    blocks.push({ kind: "text", text: text.trim() });
  }
}

export function blocksOf(source: string): Block[] {
  const lines = source.split("\n");
  const blocks: Block[] = [];
  let goesOn = false;
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at] ?? "";
    const [, hashes, title] = /^(#+) (.*)$/.exec(text) ?? [];
    if (FENCE.test(text)) {
      const code = fenced(lines, at);
      blocks.push({ kind: "code", text: code.join("\n") });
      at += code.length + 1;
    } else if (hashes !== undefined && title !== undefined) {
      blocks.push({ kind: "heading", level: hashes.length, text: title });
    } else if (text.trim() !== "") {
      line(blocks, text, goesOn);
    }
    goesOn = text.trim() !== "" && hashes === undefined && !FENCE.test(text);
  }
  return blocks;
}

const PIECE = /`([^`]+)`|\[([^\]]+)\]\(([^)]+)\)|\*\*([^*]+)\*\*|\*([^*]+)\*/g;

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(PIECE)) {
    if (found.index > from) pieces.push({ kind: "text", text: text.slice(from, found.index) });
    const [whole, code, words, to, strong, slanted] = found;
    if (code !== undefined) pieces.push({ kind: "code", text: code });
    else if (words !== undefined && to !== undefined) pieces.push({ kind: "link", text: words.replaceAll("`", ""), to });
    else pieces.push({ kind: "strong", text: strong ?? slanted ?? whole });
    from = found.index + whole.length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
}
