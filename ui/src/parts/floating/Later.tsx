// A button whose menu is fetched when somebody is about to press it: a page does without what menus are made of.
import { type ReactNode, Suspense, useEffect, useRef, useState } from "react";

export interface ButtonLook {
  className: string;
  /** Where it has no words, or others. */
  label?: string;
  /** The one that gets the focus when a condition of a filter goes away. */
  "data-add"?: "";
}

interface LaterProps extends ButtonLook {
  children: ReactNode;
  /** The button once more, with its menu. */
  menu: ReactNode;
  fetch: () => Promise<unknown>;
}

export function Later({ label, children, menu, fetch, ...look }: LaterProps) {
  const [wanted, want] = useState(false);
  const ahead = () => void fetch().catch(() => undefined);
  const button = (
    <button type="button" {...look} aria-label={label} aria-haspopup="true" aria-expanded={false} onPointerEnter={ahead} onFocus={ahead} onClick={() => want(true)}>
      {children}
    </button>
  );
  return wanted ? <Suspense fallback={button}>{menu}</Suspense> : button;
}

/** A menu that was waited for opens by itself. Its button has the focus by then, and gets it back when the menu closes. */
export function useOpened() {
  const [isOpen, onOpenChange] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    button.current?.focus();
    // oxlint-disable-next-line react/set-state-in-effect -- only once the button has the focus that it is to get back
    onOpenChange(true);
  }, []);
  return { button, open: { isOpen, onOpenChange } };
}
