// FEEL to try: an expression over variables that somebody wrote, or those of a process instance.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Play, Undo2 } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { evaluate } from "../../api/expression";
import { variablesSeen } from "../../api/instances";
import { type ElementKey, type InstanceKey, asKey, looksLikeKey } from "../../api/keys";
import { kept, once } from "../../api/live";
import { useTenancy } from "../../api/tenant";
import { CodeField } from "../../parts/code/CodeField";
import { jsonError, prettyJson } from "../../parts/json";
import { Failure } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { text } from "../../text";
import { asObject, signed, wrongOf } from "./feel";
import { Outcome } from "./Outcome";
import { useField } from "./useField";
import "./feel.css";

const route = getRouteApi("/feel");
const t = text.feel;

const keyIn = <K extends InstanceKey | ElementKey>(written: string | undefined): K | undefined => (written !== undefined && looksLikeKey(written) ? asKey<K>(written) : undefined);

export function Playground() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const instance = keyIn<InstanceKey>(search.instance);
  const scope = keyIn<ElementKey>(search.scope);
  const theirs = useQuery({ ...variablesSeen(instance ?? asKey("0"), scope), enabled: instance !== undefined });
  const given = instance === undefined ? "{}" : theirs.data === undefined ? undefined : prettyJson(asObject(theirs.data));
  const area = useRef<HTMLTextAreaElement>(null);
  const [turn, setTurn] = useState(0);
  const expression = useField(search.expression ?? "", (next) => void navigate({ search: (now) => ({ ...now, expression: next || undefined }), replace: true }));
  const own = useField(search.with ?? "", (next) => void navigate({ search: (now) => ({ ...now, with: next || undefined }), replace: true }));
  const shown = own.written === "" ? (given ?? "") : own.written;
  const variables = own.settled === "" ? given : own.settled;
  const bad = jsonError(shown);
  const error = given === undefined && own.written === "" ? undefined : bad === undefined ? (shown.trim().startsWith("{") ? undefined : t.notObject) : text.commands.invalid(bad);
  const ready = expression.settled.trim() !== "" && variables !== undefined && jsonError(variables) === undefined && variables.trim().startsWith("{");
  const tenant = useTenancy()?.chosen;
  const query = useQuery({
    ...once(["feel", expression.settled, variables, turn, tenant], ({ signal }) => evaluate(signed(expression.settled), variables ?? "{}", tenant, signal)),
    ...kept,
    gcTime: 0,
    enabled: ready,
  });
  // Of what was written before, the place says nothing.
  const wrong = query.error && ready && expression.settled === expression.written ? wrongOf(query.error.detail, expression.written).place?.offset : undefined;
  const go = () => {
    expression.settle();
    own.settle();
    setTurn(turn + 1);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    go();
  };
  return (
    <>
      <PageTitle title={t.title} />
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- a key of all fields within */}
      <div className="feel" onKeyDown={pressed}>
        <div className="feel-side">
          <label className="feel-field">
            <span className="label">{t.expression}</span>
            <CodeField language="feel" ref={area} data-filter="" autoFocus rows={[4, 14]} value={expression.written} write={expression.write} wrongAt={wrong} />
          </label>
          <div className="feel-row">
            <span className="faint">{expression.cut ? t.tooLong : t.expressionHint}</span>
            <button type="button" className="button main" disabled={!ready} onClick={go}>
              <Play size={14} aria-hidden="true" />
              {t.evaluate}
            </button>
          </div>
          <div className="feel-row feel-whose">
            <label className="label" htmlFor="feel-variables">
              {t.variables}
            </label>
            {instance === undefined ? null : (
              <span className="faint clip grow">
                {own.written === "" ? (scope === undefined ? t.ofInstance : t.ofScope) : t.own}{" "}
                <Link to="/processes/i/$key" params={{ key: instance }} search={{ scope }}>
                  {instance}
                </Link>
              </span>
            )}
            {instance !== undefined && own.written !== "" ? (
              <button type="button" className="button small" onClick={() => own.put("")}>
                <Undo2 size={14} aria-hidden="true" />
                {t.again}
              </button>
            ) : null}
          </div>
          {theirs.error && instance !== undefined ? <Failure problem={theirs.error} retry={() => void theirs.refetch()} small /> : null}
          <CodeField language="json" id="feel-variables" rows={[6, 20]} value={shown} invalid={error !== undefined} write={own.write} />
          <p className={error === undefined ? "faint" : "bad"} role={error === undefined ? undefined : "alert"}>
            {error ?? (own.cut ? t.tooLong : t.variablesHint)}
          </p>
        </div>
        <Outcome
          written={expression.settled}
          query={query}
          ready={ready}
          bad={error !== undefined}
          example={(sample, variablesOf) => {
            expression.put(sample);
            if (instance === undefined || own.written !== "") own.put(variablesOf);
            area.current?.focus();
          }}
          goTo={(offset) => {
            area.current?.focus();
            area.current?.setSelectionRange(offset, offset);
          }}
        />
      </div>
    </>
  );
}
