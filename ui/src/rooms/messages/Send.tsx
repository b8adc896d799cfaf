// A message or a signal, sent by hand.
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { broadcast, correlate, publish } from "../../api/messages";
import { RIGHTS, type Right, toPublish } from "../../api/rights";
import { announce } from "../../parts/announce";
import { CodeField } from "../../parts/code/CodeField";
import { Dialog } from "../../parts/Dialog";
import { failed } from "../../parts/failed";
import { compactJson, jsonError } from "../../parts/json";
import { MayButton, tellLack, useLack } from "../../parts/MayButton";
import { TenantField, useTenantChoice } from "../../parts/tenant";
import { text } from "../../text";

const t = text.messages;
const WAYS = ["publish", "correlate", "signal"] as const;
type Way = (typeof WAYS)[number];

export interface Prefilled {
  way: Way;
  name: string;
  key: string;
  /** Whose it is that waits. */
  tenant?: string;
}

interface Written extends Prefilled {
  seconds: string;
  id: string;
  variables: string;
}

/** Whom a signal reaches, if anybody, only the server knows. */
const neededFor = ({ way, name }: Written): Right | undefined => (way === "publish" ? toPublish(name.trim()) : way === "correlate" ? RIGHTS.correlate : undefined);

/** Sends, and says what became of it. */
async function send({ way, name, key, seconds, id, variables }: Written, tenant: string | undefined) {
  const sent = { name: name.trim(), key, variables: compactJson(variables), tenant };
  if (way === "publish") {
    await publish({ ...sent, id: id.trim(), timeToLive: Number(seconds) * 1000 });
    announce("done", t.published);
  } else if (way === "correlate") {
    const { processInstanceKey } = await correlate(sent);
    announce(
      "done",
      t.correlated,
      <Link to="/processes/i/$key" params={{ key: processInstanceKey }}>
        {t.toInstance}
      </Link>,
    );
  } else {
    await broadcast(sent);
    announce("done", t.broadcast);
  }
}

export default function Send({ first, close }: { first: Prefilled; close: () => void }) {
  const [written, write] = useState<Written>({ ...first, seconds: "3600", id: "", variables: "{}" });
  const [busy, setBusy] = useState(false);
  const needs = neededFor(written);
  const lack = useLack(needs);
  const choice = useTenantChoice(first.tenant);
  const set = (next: Partial<Written>) => write({ ...written, ...next });
  const badJson = jsonError(written.variables);
  const error = badJson === undefined ? (written.variables.trim().startsWith("{") ? undefined : t.notObject) : text.commands.invalid(badJson);
  const badTime = written.way === "publish" && !/^\d{1,9}$/.test(written.seconds);
  const ready = written.name.trim() !== "" && error === undefined && !badTime && choice.ready;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || busy) return;
    if (lack !== undefined) return tellLack(lack);
    setBusy(true);
    try {
      await send(written, choice.tenant);
      close();
    } catch (thrown) {
      failed(thrown);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.sendTitle} isOpen close={close} wide>
      <form className="send" onSubmit={(event) => void submit(event)}>
        <Labelled label={t.how}>
          <select className="field" value={written.way} onChange={(event) => set({ way: WAYS.find((each) => each === event.target.value) ?? "publish" })}>
            {WAYS.map((each) => (
              <option key={each} value={each}>
                {t.ways[each]}
              </option>
            ))}
          </select>
        </Labelled>
        <p className="muted send-text">{t.wayText[written.way]}</p>
        <Labelled label={written.way === "signal" ? t.signalName : t.messageName}>
          <input className="field" autoFocus={first.name === ""} value={written.name} spellCheck="false" onChange={(event) => set({ name: event.target.value })} />
        </Labelled>
        {written.way === "signal" ? null : (
          <Labelled label={t.key}>
            <input className="field" value={written.key} spellCheck="false" onChange={(event) => set({ key: event.target.value })} />
          </Labelled>
        )}
        {written.way === "publish" ? (
          <>
            <Labelled label={t.timeToLive}>
              <input className="field figure" inputMode="numeric" value={written.seconds} aria-invalid={badTime} onChange={(event) => set({ seconds: event.target.value })} />
            </Labelled>
            <Labelled label={t.id}>
              <input className="field" value={written.id} title={t.idHint} spellCheck="false" onChange={(event) => set({ id: event.target.value })} />
            </Labelled>
          </>
        ) : null}
        <TenantField choice={choice} />
        <label className="send-wide">
          <span className="label">{t.variables}</span>
          <CodeField language="json" rows={[5, 16]} value={written.variables} invalid={error !== undefined} write={(variables) => set({ variables })} />
        </label>
        <p className="bad send-wide" role="alert">
          {error ?? (badTime ? t.badTime : "")}
        </p>
        <div className="dialog-actions send-wide">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <MayButton needs={needs} type="submit" className="button main" disabled={!ready || busy}>
            {t.ways[written.way]}
          </MayButton>
        </div>
      </form>
    </Dialog>
  );
}

function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    // The field stands within.
    // oxlint-disable-next-line jsx-a11y/label-has-associated-control
    <label>
      <span className="label">{label}</span>
      {children}
    </label>
  );
}
