// Listeners to the user tasks of all processes.
import { useQuery } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { LISTENER_RIGHTS, RIGHTS } from "../../../api/rights";
import { type Listener, dropListener, listeners } from "../../../api/settings";
import { MayButton } from "../../../parts/MayButton";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { Ask } from "../../../parts/Ask";
import { ListenerForm } from "./ListenerForm";

const t = text.admin;

export default function Listeners() {
  const found = useQuery(listeners());
  const [asked, ask] = useState<{ what: "edit" | "erase"; of: Listener } | { what: "new" }>();
  const close = () => ask(undefined);
  return (
    <section className="list" aria-label={t.sections.listeners}>
      <div className="list-head">
        <span className="grow" />
        <MayButton needs={RIGHTS.listener} className="button small main" onClick={() => ask({ what: "new" })}>
          <Plus size={14} aria-hidden="true" />
          {t.listener}
        </MayButton>
      </div>
      <div className="admin-scroll">
        <Shown query={found} rows={4}>
          {({ items }) =>
            items.length === 0 ? (
              <Note title={t.listenersNone}>{t.listenersNoneText}</Note>
            ) : (
              <ul className="grants listeners">
                {items.map((each) => (
                  <li key={each.id}>
                    <span className="listener-name">
                      <b className="clip" title={each.id}>{each.id}</b>
                      <span className="mono faint clip" title={each.type}>{each.type}</span>
                    </span>
                    <span className="grant-permissions">
                      {each.eventTypes.map((event) => (
                        <span key={event} className="grant-permission">{t.eventNames[event] ?? event}</span>
                      ))}
                    </span>
                    <span className="faint">
                      {`${t.priority} ${each.priority}, ${each.afterNonGlobal ? t.after : t.before}, ${t.retries.toLowerCase()}: ${each.retries}`}
                      {each.source === "CONFIGURATION" ? <span className="listener-source" title={t.listenerFixed}>{`${t.source} ${t.sources[each.source]}`}</span> : null}
                    </span>
                    <span className="row grant-acts">
                      <MayButton needs={each.source === "CONFIGURATION" ? undefined : LISTENER_RIGHTS.edit} className="button quiet icon small" aria-label={`${t.editShort}: ${each.id}`} title={each.source === "CONFIGURATION" ? t.listenerFixed : t.editShort} disabled={each.source === "CONFIGURATION"} onClick={() => ask({ what: "edit", of: each })}>
                        <Pencil size={14} aria-hidden="true" />
                      </MayButton>
                      <MayButton needs={each.source === "CONFIGURATION" ? undefined : LISTENER_RIGHTS.erase} className="button quiet icon small" aria-label={`${t.erase}: ${each.id}`} title={each.source === "CONFIGURATION" ? t.listenerFixed : t.erase} disabled={each.source === "CONFIGURATION"} onClick={() => ask({ what: "erase", of: each })}>
                        <Trash2 size={14} aria-hidden="true" />
                      </MayButton>
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Shown>
      </div>
      {asked?.what === "new" ? <ListenerForm close={close} /> : null}
      {asked?.what === "edit" ? <ListenerForm known={asked.of} close={close} /> : null}
      {asked?.what === "erase" ? (
        <Ask title={t.listenerErase(asked.of.id)} hint={t.listenerEraseText} go={t.erase} said={t.erased(asked.of.id)} command={() => dropListener(asked.of.id)} close={close} />
      ) : null}
    </section>
  );
}
