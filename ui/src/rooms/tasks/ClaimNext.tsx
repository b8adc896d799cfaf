// Takes the first task of the list that nobody has, for those who work one after the other and do not choose.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { RIGHTS } from "../../api/rights";
import { type TaskFilter, claimFirst, taskSort } from "../../api/tasks";
import { announce } from "../../parts/announce";
import { failed } from "../../parts/failed";
import { MayButton } from "../../parts/MayButton";
import { useWho } from "../../parts/who";
import { text } from "../../text";
import type { TaskSearch } from "./search";
import { AskWho } from "./who";

const t = text.tasks;

export function ClaimNext({ search, filter }: { search: TaskSearch; filter: TaskFilter }) {
  const who = useWho();
  const navigate = useNavigate();
  const [asking, ask] = useState(false);
  const [busy, setBusy] = useState(false);
  const claim = async (name: string) => {
    setBusy(true);
    try {
      const task = await claimFirst(filter, taskSort(search.sort, false), name);
      if (task === undefined) announce("done", t.claimNextNone);
      else {
        announce("done", t.claimed);
        void navigate({ to: "/tasks", search: { ...search, task, tab: undefined, start: undefined } });
      }
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <MayButton needs={RIGHTS.tasks.claim} className="button small" disabled={busy} title={t.claimNextHint} onClick={() => (who === "" ? ask(true) : void claim(who))}>
        {t.claimNext}
      </MayButton>
      {asking ? <AskWho close={() => ask(false)} then={(name) => void claim(name)} /> : null}
    </>
  );
}
