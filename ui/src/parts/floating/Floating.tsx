// What floats at a button, once it was fetched.
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { useOpened } from "./Later";
import type { FloatingProps } from "./Popup";
import "../menu.css";

export default function Floating({ words, title, of, placement, children, label, fetch: _fetch, ...look }: FloatingProps) {
  const { button, open } = useOpened();
  return (
    <DialogTrigger {...open}>
      <Button ref={button} aria-label={label} {...look}>
        {words}
      </Button>
      <Popover className="floating" placement={placement}>
        <Dialog className={of} aria-label={title}>
          {children(() => open.onOpenChange(false))}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
