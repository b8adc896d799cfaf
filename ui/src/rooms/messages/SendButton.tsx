// Sends a message or a signal: with what is known of it filled in.
import { Send as SendIcon } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import { text } from "../../text";
import type { Prefilled } from "./Send";

const Send = lazy(() => import("./Send"));
const t = text.messages;

export function SendButton({ way, name, correlationKey = "", tenant, main = false }: Omit<Prefilled, "key"> & { correlationKey?: string; main?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={`button small${main ? " main" : ""}`} title={name === "" ? undefined : t.sendTo(name)} onClick={() => setOpen(true)}>
        <SendIcon size={14} aria-hidden="true" />
        {t.send}
      </button>
      {open ? (
        <Suspense fallback={null}>
          <Send first={{ way, name, key: correlationKey, tenant }} close={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
