// A button of the bar whose menu is fetched when somebody is about to press it: the first page does without what menus are made of.
import { type ComponentType, type ReactNode, Suspense, useEffect, useRef, useState } from "react";

interface LaterProps {
  label: string;
  className: string;
  children: ReactNode;
  /** The button once more, with its menu. */
  menu: ComponentType;
  fetch: () => Promise<unknown>;
}

export function Later({ label, className, children, menu: Menu, fetch }: LaterProps) {
  const [wanted, want] = useState(false);
  const ahead = () => void fetch().catch(() => undefined);
  const button = (
    <button type="button" className={className} aria-label={label} aria-haspopup="true" aria-expanded={false} onPointerEnter={ahead} onFocus={ahead} onClick={() => want(true)}>
      {children}
    </button>
  );
  if (!wanted) return button;
  return (
    <Suspense fallback={button}>
      <Menu />
    </Suspense>
  );
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
