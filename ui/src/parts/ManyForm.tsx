// A question before something is done to many instances: to which, by the filter that is shown. Above a hundred their number is typed.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Begun } from "../api/many";
import { type Filter, howMany } from "../api/instances";
import { text } from "../text";
import { atLeast } from "../text/format";
import { announce } from "./announce";
import { Dialog } from "./Dialog";
import { failed } from "./failed";

const t = text.commands;
/** From here on a person types how many they are. */
const TYPED = 100;

/** 10,000 and 10000 are the same number. */
const digits = (written: string): string => written.replaceAll(/\D/g, "");

interface ManyFormProps {
  /** With how many instances: "12 instances". */
  title: (instances: string) => string;
  filter: Filter;
  /** The filter in words, as it is shown. */
  terms: readonly string[];
  go: string;
  danger?: boolean;
  /** Whether all else that has to be said is said. */
  ready?: boolean;
  run: () => Promise<Begun>;
  close: () => void;
  wide?: boolean;
  children?: ReactNode;
}

export function ManyForm({ title, filter, terms, go, danger = false, ready = true, run, close, wide = false, children }: ManyFormProps) {
  const [typed, type] = useState("");
  const [busy, setBusy] = useState(false);
  const count = useQuery(howMany(filter)).data;
  const total = count ? atLeast(count.total, count.more) : "…";
  const needsTyping = count !== undefined && count.total > TYPED;
  const counted = count !== undefined && count.total > 0 && (!needsTyping || digits(typed) === digits(total));
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (!counted || !ready || busy) return;
    setBusy(true);
    try {
      const { batchOperationKey } = await run();
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
    <Dialog title={title(t.instances(total, count?.total === 1))} isOpen close={close} wide={wide}>
      <form onSubmit={(event) => void send(event)}>
        <p className="muted">{t.manyText}</p>
        <ul className="many-terms">
          {(terms.length > 0 ? terms : [t.everything]).map((term) => (
            <li key={term}>{term}</li>
          ))}
        </ul>
        {children}
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
          <button type="submit" className={`button ${danger ? "danger" : "main"}`} disabled={!counted || !ready || busy}>
            {go}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
