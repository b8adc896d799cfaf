// Where the variables of an element come from and go to, as its model says; of all elements that say something, without one chosen.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Instance, variables } from "../../api/instances";
import { PAGE } from "../../api/list";
import { xml } from "../../api/xml";
import { Failure, Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { kindOf } from "../../parts/steps";
import { text } from "../../text";
import { number } from "../../text/format";
import { mappings as t } from "../../text/mappings";
import { Mappings } from "./Mappings";
import { type Mapped, mappedAt, mappedOfXml } from "./mapped";
import { useAt } from "./Replay";
import { useScope } from "./scope";
import "./mappings.css";

export function MappingTab({ instance }: { instance: Instance }) {
  const { element } = useScope();
  const model = useQuery(xml(instance.processDefinitionKey));
  // What the parser makes of no text has styles in it, which the page's policy forbids.
  const all = useMemo(() => (model.data === undefined ? [] : mappedOfXml(model.data, instance.processDefinitionId)), [model.data, instance.processDefinitionId]);
  return (
    <Shown query={model} rows={4}>
      {() => (element === undefined ? <All all={all} /> : <Chosen instance={instance} element={element} mapped={mappedAt(all, element)} isAlone={all.length === 0} />)}
    </Shown>
  );
}

/** Elements at once; some have dozens of mappings. */
const FIRST = 50;

function All({ all }: { all: readonly Mapped[] }) {
  const { chooseElement } = useScope();
  const [limit, setLimit] = useState(FIRST);
  if (all.length === 0) {
    return (
      <Note title={t.noneAtAll} small>
        {t.noneAtAllText}
      </Note>
    );
  }
  return (
    <>
      <div className="part-head">
        <span className="clip muted">{t.all}</span>
        <span className="faint">{number(all.length)}</span>
      </div>
      <ul aria-label={t.all}>
        {all.slice(0, limit).map((each) => (
          <li key={each.id} className="mapped">
            <div className="mapped-head">
              <h3 className="clip">
                <button type="button" className="words-button" title={each.name} onClick={() => chooseElement(each.id)}>
                  {each.name}
                </button>
              </h3>
              <span className="faint">{kindOf(each.type)}</span>
            </div>
            <Mappings mapped={each} isBrief />
          </li>
        ))}
      </ul>
      {all.length > limit ? (
        <button type="button" className="button small quiet tree-more" onClick={() => setLimit(limit + 4 * FIRST)}>
          {text.instance.moreWithin}
        </button>
      ) : null}
    </>
  );
}

interface ChosenProps {
  instance: Instance;
  element: string;
  mapped: Mapped | undefined;
  /** There is no other element to look at. */
  isAlone: boolean;
}

const BODY = "MULTI_INSTANCE_BODY";

function Chosen({ instance, element, mapped, isAlone }: ChosenProps) {
  const { key, name, type, runs, chooseScope } = useScope();
  const [at] = useAt();
  const isReached = key !== instance.processInstanceKey;
  const hasValues = mapped !== undefined && isReached && type !== BODY && (mapped.loop !== undefined || (mapped.inputs.length > 0 && mapped.takesInputs));
  const found = useQuery({ ...variables(key, instance.state === "ACTIVE"), enabled: hasValues });
  const values = hasValues ? found.data?.items : undefined;
  const called = name ?? mapped?.name ?? element;
  const showAll = isAlone ? undefined : (
    <button type="button" className="button small" onClick={() => chooseScope(undefined)}>
      {t.showAll}
    </button>
  );
  if (!mapped) {
    return (
      <Note title={t.none(called)} small actions={showAll}>
        {t.noneText}
      </Note>
    );
  }
  const past = runs.filter((each) => each.type !== BODY).length;
  return (
    <>
      <div className="part-head">
        <h3 className="clip" title={called}>{called}</h3>
        <span className="faint mapped-kind">{kindOf(mapped.type)}</span>
        <span className="grow" />
        {showAll}
      </div>
      {values && at !== undefined ? <p className="variables-today">{text.instance.today}</p> : null}
      {isReached ? null : <p className="mapping-hint">{t.notReached}</p>}
      {type === BODY ? <p className="mapping-hint">{t.body}</p> : null}
      {hasValues && past > 1 ? <p className="mapping-hint">{t.newest(past < PAGE ? `${past}` : `${PAGE}+`)}</p> : null}
      {hasValues && found.error && !found.data ? <Failure problem={found.error} retry={() => void found.refetch()} small /> : null}
      <Mappings mapped={mapped} values={values} />
    </>
  );
}
