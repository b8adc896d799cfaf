// All parts in all states, for those who change them: the style guide at /ui/parts. No page leads here, and it asks the server nothing.
import { type ReactNode, useState } from "react";
import { Problem } from "../../api/problem";
import { announce } from "../../parts/announce";
import { Cut } from "../../parts/Cut";
import { Deleted, NoModel } from "../../parts/Deleted";
import { Dialog } from "../../parts/Dialog";
import { Figure } from "../../parts/Figure";
import { Json } from "../../parts/Json";
import { Failure, Filtered, Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Panel } from "../../parts/Panel";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { Answers } from "./Answers";
import { Fields } from "./Fields";
import { Rows } from "./Rows";
import "./gallery.css";

const STATES = [
  "ACTIVE", "INCIDENT", "COMPLETED", "TERMINATED", "SUSPENDED", "CREATED", "FAILED", "TIMED_OUT", "CORRELATED", "PARTIALLY_COMPLETED", "SKIPPED",
] as const;

const PROBLEMS = [
  new Problem(0, "NO_ANSWER", "fetch failed"),
  new Problem(400, "INVALID_ARGUMENT", "The value for filter.processInstanceKey is 'abc' but must be a key: a number, as a string."),
  new Problem(403, "FORBIDDEN", "Unauthorized to perform operation 'UPDATE_PROCESS_INSTANCE' on resource 'PROCESS_DEFINITION', required resource identifiers are one of '[*, order]'"),
  new Problem(403, "FORBIDDEN", "This request requires secondary storage, which is off."),
  new Problem(409, "INVALID_STATE", "The job 2251799813685250 is not in a state in which it can be completed."),
  new Problem(501, "NOT_IMPLEMENTED", "This server does not do that."),
  new Problem(503, "RESOURCE_EXHAUSTED", "Partition 2 takes no new work: its disk has 1.2 GiB left."),
];

export function Gallery() {
  return (
    <>
      <PageTitle title="Parts" />
      <div className="figures">
        <Figure name="Running" value="1,204" hint="active process instances" />
        <Figure name="With incidents" value="12" hint="instances that are stuck" tone="incident" />
        <Figure name="Not there yet" value={undefined} hint="never shown" />
      </div>
      <Section title="States">
        <p className="row wrap">{STATES.map((each) => <State key={each} name={each} />)}</p>
        <p className="row wrap">{STATES.map((each) => <State key={each} name={each} bare />)}</p>
        <p className="row wrap">
          Version 1 <Deleted />
        </p>
        <p className="row wrap">
          <Time at="2026-11-29T10:00:00.000Z" />
          <Time at="2099-01-01T00:00:00.000Z" />
        </p>
      </Section>
      <Section title="Buttons and questions">
        <Buttons />
      </Section>
      <Section title="Fields">
        <Fields />
      </Section>
      <Section title="JSON to read">
        <Json value='{"a":1}' />
        <Json value={`{"orderId":"o-1","big":12345678901234567890123,"items":[${'{"count":2,"price":9.90,"ok":true,"none":null},'.repeat(6)}{}]}`} />
      </Section>
      <Section title="Rows">
        <Rows />
        <Cut shown={1000} page={{ totalItems: 10_000, hasMoreTotalItems: true }} />
      </Section>
      <Section title="Answers">
        <Answers />
      </Section>
      <Section title="Nothing there">
        <Note title="No open tasks">Tasks appear here as soon as an instance reaches a user task.</Note>
        <Note title="In a narrow place" actions={<button type="button" className="button small">Show all</button>} small />
        <NoModel />
        <Filtered title="No instance matches these filters" />
        <Note title="It broke" tone="incident">
          With what the browser says of it.
        </Note>
      </Section>
      <Section title="Refused">
        {PROBLEMS.map((each) => (
          <Failure key={each.message} problem={each} retry={each.isPassing ? () => undefined : undefined} />
        ))}
      </Section>
    </>
  );
}

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <Panel title={title}>
    <div className="gallery">{children}</div>
  </Panel>
);

function Buttons() {
  const [asks, ask] = useState(false);
  return (
    <>
      {["", " small"].map((size) => (
        <p key={size} className="row wrap">
          {["main", "", "quiet", "danger"].map((kind) => (
            <button key={kind} type="button" className={`button ${kind}${size}`} onClick={() => ask(true)}>
              {kind || "plain"}
            </button>
          ))}
          <button type="button" className={`button main${size}`} disabled>
            main, disabled
          </button>
          <button type="button" className={`button${size}`} disabled>
            disabled
          </button>
        </p>
      ))}
      <p className="row wrap">
        <button type="button" className="button" onClick={() => announce("done", "It is done")}>
          Say that it is done
        </button>
        <button type="button" className="button" onClick={() => announce("failed", "It was refused", "With the server's reason.")}>
          Say that it was refused
        </button>
        <button type="button" className="button" onClick={() => announce("going", "It goes on", "Until it has ended.")}>
          Say that it goes on
        </button>
      </p>
      <Dialog title="A question" isOpen={asks} close={() => ask(false)}>
        <p>The focus is in it, and Escape leaves it.</p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={() => ask(false)}>
            Never mind
          </button>
          <button type="button" className="button main" onClick={() => ask(false)}>
            Do it
          </button>
        </div>
      </Dialog>
    </>
  );
}
