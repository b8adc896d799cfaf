// A question that has to be answered before one goes on: the focus is in it, Escape leaves it, and it returns where it was.
import type { ReactNode } from "react";
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
  return (
    <ModalOverlay className="veil" isOpen={isOpen} onOpenChange={(open) => (open ? undefined : close())} isDismissable>
      <Modal className={`modal${wide ? " wide" : ""}`}>
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
