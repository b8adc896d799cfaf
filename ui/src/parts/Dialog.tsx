// A question that has to be answered before one goes on: the focus is in it, Escape leaves it, and it returns where it was. A press beside it
// leaves it too, unless there is something to write in it: nobody loses that by closing a notice.
import { type ReactNode, useRef } from "react";
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import "./dialog.css";

interface DialogProps {
  title: string;
  isOpen: boolean;
  close: () => void;
  children: ReactNode;
  wide?: boolean;
}

export function Dialog({ title, isOpen, close, children, wide = false }: DialogProps) {
  const box = useRef<HTMLDivElement>(null);
  const isLeft = () => !box.current?.querySelector("form :is(input, textarea)");
  return (
    <ModalOverlay className="veil" isOpen={isOpen} onOpenChange={(open) => (open ? undefined : close())} isDismissable shouldCloseOnInteractOutside={isLeft}>
      <Modal ref={box} className={`modal${wide ? " wide" : ""}`}>
        <AriaDialog className="dialog">
          <Heading slot="title" className="dialog-title">
            {title}
          </Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
