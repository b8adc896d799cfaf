// Sends a message or a signal: with what is known of it filled in.
import { Send as SendIcon } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import type { Right } from "../../api/rights";
import { MayButton } from "../../parts/MayButton";
import { text } from "../../text";
import type { Prefilled } from "./Send";

const Send = lazy(() => import("./Send"));
const t = text.messages;

interface SendButtonProps extends Omit<Prefilled, "key"> {
  correlationKey?: string;
  main?: boolean;
  /** To reach what waits; nothing where what will be sent, and to whom, is said in the dialog. */
  needs?: Right;
}

export function SendButton({ way, name, correlationKey = "", tenant, main = false, needs }: SendButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <MayButton needs={needs} className={`button small${main ? " main" : ""}`} title={name === "" ? undefined : t.sendTo(name)} onClick={() => setOpen(true)}>
        <SendIcon size={14} aria-hidden="true" />
        {t.send}
      </MayButton>
      {open ? (
        <Suspense fallback={null}>
          <Send first={{ way, name, key: correlationKey, tenant }} close={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
