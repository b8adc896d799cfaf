// A tab in a bar that may be wider than the screen: the chosen one is in view, whether it was clicked or came by a link.
import { type ReactNode, useEffect, useRef } from "react";
import { Tab } from "react-aria-components";

/** So much of the neighbour is seen that one knows of it. */
const NEIGHBOUR = 32;

/** Where a bar has to be scrolled to so that `tab` is in view; all by their left and right edges on the screen. */
export function scrolledTo(at: number, bar: { left: number; right: number }, tab: { left: number; right: number }): number {
  if (tab.left < bar.left + NEIGHBOUR) return Math.max(0, at - (bar.left + NEIGHBOUR - tab.left));
  if (tab.right > bar.right - NEIGHBOUR) return at + tab.right - bar.right + NEIGHBOUR;
  return at;
}

/** Not by `scrollIntoView`: that would scroll the whole page down to the bar. */
function Chosen() {
  const here = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const tab = here.current?.closest<HTMLElement>(".tab");
    const bar = tab?.parentElement;
    if (!tab || !bar) return undefined;
    // Counts come later than names, and make their tabs wider.
    const observer = new ResizeObserver(() => {
      bar.scrollLeft = scrolledTo(bar.scrollLeft, bar.getBoundingClientRect(), tab.getBoundingClientRect());
    });
    for (const each of [bar, ...bar.children]) observer.observe(each);
    return () => observer.disconnect();
  }, []);
  return <span ref={here} hidden />;
}

export function TabItem({ id, children }: { id: string; children: ReactNode }) {
  return (
    <Tab id={id} className="tab">
      {({ isSelected }) => (
        <>
          {children}
          {isSelected ? <Chosen /> : null}
        </>
      )}
    </Tab>
  );
}
