// The session ended under an open page, or somebody else began one in another tab: one logs in above it, and what was written and asked for
// goes on.
import { type ReactNode, useEffect } from "react";
import { Heading, Dialog as AriaDialog, Modal, ModalOverlay } from "react-aria-components";
import { queries } from "../../api/live";
import { giveUp, lookAgain, useSession } from "../../api/session";
import { text } from "../../text";
import { router } from "../router";
import { LoginForm } from "./LoginForm";
import { pathOf } from "./next";
import { ProviderLogin } from "./ProviderLogin";
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
  const session = useSession();
  const by = session.kind === "over" ? session.by : undefined;
  const apart = session.kind === "over" && session.at === "provider";
  // Answers that the page does not show are not kept: somebody else may log in next.
  useEffect(() => queries.removeQueries({ type: "inactive" }), []);
  useEffect(() => {
    // One comes back from the tab in which one has logged in.
    const look = () => {
      if (document.visibilityState === "visible") void lookAgain();
    };
    addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  if (by !== undefined) {
    return (
      <Over title={t.byTitle(by.displayName || by.username)} hint={t.byText(name ?? "")} hides>
        <button type="button" className="button main" title={t.otherText} onClick={() => location.reload()}>
          {t.byGo(by.displayName || by.username)}
        </button>
      </Over>
    );
  }
  return (
    <Over title={t.overTitle} hint={apart ? t.overApart : t.overText}>
      {apart ? <ProviderLogin to={pathOf(undefined)} apart /> : <LoginForm name={name} then={() => void queries.invalidateQueries()} />}
      {name === undefined ? null : (
        <p className="login-other">
          <button type="button" className="button quiet small" title={t.otherText} onClick={other}>
            {t.other}
          </button>
        </p>
      )}
    </Over>
  );
}

interface OverProps {
  title: string;
  hint: string;
  /** The page below is not for who sees this. */
  hides?: boolean;
  children: ReactNode;
}

function Over({ title, hint, hides = false, children }: OverProps) {
  return (
    <ModalOverlay className={`veil${hides ? " opaque" : ""}`} isOpen isKeyboardDismissDisabled>
      <Modal className="modal">
        <AriaDialog className="dialog">
          <Heading slot="title" className="dialog-title">
            {title}
          </Heading>
          <p className="muted login-text">{hint}</p>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
