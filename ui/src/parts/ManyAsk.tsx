// The question before one command for many instances. Above a hundred their number is typed.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { cancelMany, retryMany } from "../api/commands";
import { howMany } from "../api/instances";
import { text } from "../text";
import { atLeast } from "../text/format";
import { announce } from "./announce";
import { Dialog } from "./Dialog";
import { failed } from "./failed";
import type { ManyProps } from "./Many";

const t = text.commands;
/** From here on a person types how many they are. */
const TYPED = 100;

/** 10,000 and 10000 are the same number. */
const digits = (written: string): string => written.replaceAll(/\D/g, "");

export default function Ask({ command, filter, terms, close }: Omit<ManyProps, "label"> & { close: () => void }) {
  const [typed, type] = useState("");
  const [busy, setBusy] = useState(false);
  const count = useQuery(howMany(filter)).data;
  const total = count ? atLeast(count.total, count.more) : "…";
  const needsTyping = count !== undefined && count.total > TYPED;
  const ready = count !== undefined && count.total > 0 && (!needsTyping || digits(typed) === digits(total));
  const named = t.instances(total, count?.total === 1);
  const go = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || busy) return;
    setBusy(true);
    try {
      const { batchOperationKey } = await (command === "cancel" ? cancelMany : retryMany)(filter);
      announce(
        "done",
        t.begun,
        <Link to="/batches/$key" params={{ key: batchOperationKey }}>
          {t.watch}
        </Link>,
      );
      close();
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={command === "cancel" ? t.cancelManyTitle(named) : t.retryManyTitle(named)} isOpen close={close}>
      <form onSubmit={(event) => void go(event)}>
        <p className="muted">{t.manyText}</p>
        <ul className="many-terms">
          {(terms.length > 0 ? terms : [t.everything]).map((term) => (
            <li key={term} className="clip" title={term}>
              {term}
            </li>
          ))}
        </ul>
        {needsTyping ? (
          <label>
            <span className="label">{t.typeNumber(total)}</span>
            <input className="field figure" inputMode="numeric" value={typed} autoComplete="off" onChange={(event) => type(event.target.value)} />
          </label>
        ) : null}
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className={`button ${command === "cancel" ? "danger" : "main"}`} disabled={!ready || busy}>
            {command === "cancel" ? t.doCancel : t.doRetry}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
