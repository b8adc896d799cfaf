// What all drawing boards have in common, whatever they draw: text in, text out, and a way to tell that it changed.
import { useEffect, useRef, useState } from "react";
import type { Mark } from "../../parts/diagram/marks";
import type { Change } from "../../parts/compare/diff";
import type { Finding } from "./findings";

export interface Editor {
  open: (text: string) => Promise<void>;
  save: () => Promise<string>;
  onChange: (listener: () => void) => void;
  select: (id: string) => void;
  undo: () => void;
  redo: () => void;
  destroy: () => void;
}

export interface BoardProps {
  /** The draft as it was opened: from then on the board has it. */
  source: string;
  findings: readonly Finding[];
  /** Which finding is looked at. */
  shown: string | undefined;
  /** Of the instance that is watched. */
  marks: ReadonlyMap<string, Mark>;
  taken: ReadonlySet<string>;
  /** Against what was deployed. */
  changes: readonly Change[];
  changed: (text: string) => void;
  ready: (editor: Editor) => void;
}

/** An editor for as long as its board is shown. `make` finds its places in the page. */
export function useEditor<E extends Editor>(make: () => E | undefined, { source, changed, ready }: Pick<BoardProps, "source" | "changed" | "ready">): { editor: E | undefined; broken: string | undefined } {
  const [editor, setEditor] = useState<E>();
  const [broken, setBroken] = useState<string>();
  const listener = useRef({ changed, ready });
  useEffect(() => {
    listener.current = { changed, ready };
  });
  useEffect(() => {
    const made = make();
    if (!made) return;
    let gone = false;
    made.open(source).then(
      () => {
        if (gone) return;
        made.onChange(() => void made.save().then((saved) => void (gone || listener.current.changed(saved))));
        setEditor(made);
        listener.current.ready(made);
      },
      (error: unknown) => void (gone || setBroken(error instanceof Error ? error.message : String(error))),
    );
    return () => {
      gone = true;
      made.destroy();
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- what is drawn is the draft as it was opened
  }, []);
  return { editor, broken };
}

/** Editors add style sheets to the page, which its policy takes only with the nonce that it was sent with. */
export function trustStyles() {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
  if (!nonce) return;
  const make = Document.prototype.createElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const made = make.call(document, name, options);
    if (made instanceof HTMLStyleElement) made.nonce = nonce;
    return made;
  }) as typeof document.createElement;
}
