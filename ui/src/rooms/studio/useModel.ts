// A model that the server keeps: read once, and sent while it is drawn.
import { useCallback, useEffect, useRef, useState } from "react";
import { newId, server } from "../../api/kept";
import { Problem } from "../../api/problem";
import { router } from "../../app/router";
import { draft, drop } from "./drafts";
import { kindOf } from "./kinds";
import { Sending, type Sent, settled } from "./sending";
import { dropUnsent, keepUnsent, unsent } from "./unsent";

interface Model {
  xml: string;
  revision: string | null;
  shared: boolean;
  /** What the server has of it. */
  base?: string;
  /** Another one each time that it was read. */
  round: number;
}

/** What this browser has and the server has not comes first. A draft from before the login belongs to the user from here on. */
async function read(id: string, round: number): Promise<Model> {
  await settled(id);
  const mine = unsent(id);
  if (mine) return { xml: mine.xml, revision: mine.revision, shared: mine.shared, round };
  try {
    const { body, revision, shared } = await server.get("models", id);
    const xml = String(body.xml ?? "");
    return { xml, base: xml, revision, shared, round };
  } catch (error) {
    const before = draft(id);
    if (!(error instanceof Problem && error.isGone) || before === undefined) throw error;
    if (keepUnsent(id, before.xml, null)) drop(id);
    return { xml: before.xml, revision: null, shared: false, round };
  }
}

/** A model of its own, and to where it is drawn; the server has it from there. */
export function beginModel(xml: string, replace = false): boolean {
  const id = `${kindOf(xml)}-${newId()}`;
  if (!keepUnsent(id, xml, null)) return false;
  void router.navigate({ to: "/studio/$draft", params: { draft: id }, search: {}, replace });
  return true;
}

export function useModel(id: string) {
  const [model, setModel] = useState<Model | Problem>();
  const [sent, setSent] = useState<Sent>({ kind: "sent" });
  const [round, setRound] = useState(0);
  const sending = useRef<Sending>(undefined);
  const latest = useRef("");
  useEffect(() => {
    let current: Sending | undefined;
    let left = false;
    read(id, round).then(
      (found) => {
        if (left) return;
        latest.current = found.xml;
        current = new Sending(server, id, found, setSent);
        sending.current = current;
        setSent({ kind: "sent" });
        setModel(found);
        if (unsent(id)) current.change(found.xml);
      },
      (error: unknown) => left || setModel(error instanceof Problem ? error : new Problem(0, "NO_ANSWER", String(error))),
    );
    return () => {
      left = true;
      current?.end();
    };
  }, [id, round]);
  const change = useCallback((xml: string) => {
    latest.current = xml;
    sending.current?.change(xml);
  }, []);
  /** What is drawn here becomes another model; the other one stays as it is. */
  const copy = () => {
    if (beginModel(latest.current)) dropUnsent(id);
  };
  const theirs = () => {
    dropUnsent(id);
    setRound((before) => before + 1);
  };
  return { model, sent, change, copy, theirs };
}
