// The session ended under an open page: one logs in above it, and what was written and asked for goes on.
import { Heading, Dialog as AriaDialog, Modal, ModalOverlay } from "react-aria-components";
import { queries } from "../../api/live";
import { giveUp } from "../../api/session";
import { text } from "../../text";
import { router } from "../router";
import { LoginForm } from "./LoginForm";
import "../../parts/dialog.css";
import "./login.css";

const t = text.session;

/** Away from the page, and from what was asked for on it. */
function other() {
  const { href } = router.state.location;
  giveUp();
  queries.clear();
  void router.navigate({ to: "/login", search: { next: href }, replace: true });
}

export default function SessionOver({ name }: { name: string | undefined }) {
  return (
    <ModalOverlay className="veil" isOpen isKeyboardDismissDisabled>
      <Modal className="modal">
        <AriaDialog className="dialog">
          <Heading slot="title" className="dialog-title">
            {t.overTitle}
          </Heading>
          <p className="muted login-text">{t.overText}</p>
          <LoginForm name={name} then={() => void queries.invalidateQueries()} />
          {name === undefined ? null : (
            <p className="login-other">
              <button type="button" className="button quiet small" title={t.otherText} onClick={other}>
                {t.other}
              </button>
            </p>
          )}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
