// The studio: drafts in this browser, files, and models that are deployed; each is drawn, checked by the server, and deployed.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { FilePlus2, FolderOpen, ListChecks, Sparkles, Table2, Trash2 } from "lucide-react";
import { type ChangeEvent, useEffect, useState } from "react";
import { decisionXml } from "../../api/decisions";
import { type DecisionKey, type DefinitionKey, type FormKey, asKey, looksLikeKey } from "../../api/keys";
import { formSchema, xml } from "../../api/xml";
import { isKeptByServer } from "../../api/kept";
import { router } from "../../app/router";
import { announce } from "../../parts/announce";
import { Failure, Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Panel } from "../../parts/Panel";
import { Skeleton } from "../../parts/Shown";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { Deployed } from "./Deployed";
import { drafts, drop, keep, newId } from "./drafts";
import { blank, kindOf } from "./kinds";
import { Models } from "./Models";
import { sample } from "./sample";
import { beginModel } from "./useModel";
import "./studio.css";

const route = getRouteApi("/studio");
const t = text.studio;
const KINDS = [
  { kind: "bpmn", icon: FilePlus2 },
  { kind: "dmn", icon: Table2 },
  { kind: "form", icon: ListChecks },
] as const;

/** A draft of its own, and to where it is drawn. */
function begin(source: string, replace = false) {
  if (isKeptByServer()) {
    if (!beginModel(source, replace)) announce("failed", t.notKept);
    return;
  }
  const id = newId();
  keep(id, source);
  void router.navigate({ to: "/studio/$draft", params: { draft: id }, search: {}, replace });
}

async function open(event: ChangeEvent<HTMLInputElement>) {
  const file = event.target.files?.[0];
  if (file) begin(await file.text());
}

export function Studio() {
  const { definition, decision, form, sample: wanted } = route.useSearch();
  const key = definition !== undefined && looksLikeKey(definition) ? asKey<DefinitionKey>(definition) : undefined;
  const model = useQuery({ ...xml(key ?? asKey<DefinitionKey>("0")), enabled: key !== undefined });
  const rules = decision !== undefined && looksLikeKey(decision) ? asKey<DecisionKey>(decision) : undefined;
  const table = useQuery({ ...decisionXml(rules ?? asKey<DecisionKey>("0")), enabled: rules !== undefined });
  const paper = form !== undefined && looksLikeKey(form) ? asKey<FormKey>(form) : undefined;
  const schema = useQuery({ ...formSchema(paper ?? asKey<FormKey>("0")), enabled: paper !== undefined });
  const example = useQuery({ ...sample, enabled: wanted !== undefined });
  const shown = key !== undefined ? model : rules !== undefined ? table : paper !== undefined ? schema : example;
  const asked = key !== undefined || rules !== undefined || paper !== undefined || wanted !== undefined;
  const source = asked ? shown.data : undefined;
  useEffect(() => {
    if (source !== undefined) begin(source, true);
  }, [source]);
  if (asked) {
    return (
      <>
        <PageTitle title={t.title} />
        {shown.error ? <Failure problem={shown.error} retry={() => void shown.refetch()} /> : <Skeleton rows={4} />}
      </>
    );
  }
  return (
    <div className="reading studio-begin">
      <PageTitle title={t.title} />
      <p className="muted">{isKeptByServer() ? t.hintServer : t.hint}</p>
      <div className="row wrap">
        {KINDS.map(({ kind, icon: Icon }, at) => (
          <button key={kind} type="button" className={`button${at === 0 ? " main" : ""}`} onClick={() => begin(blank(kind, newId()))}>
            <Icon size={14} aria-hidden="true" />
            {t.create[kind]}
          </button>
        ))}
        <Link to="/studio" search={{ sample: "order" }} className="button">
          <Sparkles size={14} aria-hidden="true" />
          {t.sample}
        </Link>
        <label className="button studio-file">
          <FolderOpen size={14} aria-hidden="true" />
          {t.open}
          <input type="file" accept=".bpmn,.dmn,.form,.xml,.json" className="hidden" onChange={(event) => void open(event)} />
        </label>
      </div>
      <Panel title={t.drafts}>
        {isKeptByServer() ? <Models begin={begin} /> : <Drafts />}
      </Panel>
      <Panel title={t.deployed}>
        <Deployed />
      </Panel>
    </div>
  );
}

function Drafts() {
  const [all, setAll] = useState(drafts);
  if (all.length === 0) {
    return (
      <Note title={t.draftsNone} small>
        {t.draftsNoneText}
      </Note>
    );
  }
  return (
    <ul className="studio-list">
      {all.map((each) => (
        <li key={each.id}>
          <button type="button" className="words-button grow" onClick={() => void router.navigate({ to: "/studio/$draft", params: { draft: each.id } })}>
            <span className="clip">{each.name || each.id}</span>
          </button>
          <span className="faint">{t.kinds[kindOf(each.xml)]}</span>
          <span className="faint">
            <Time at={new Date(each.saved).toISOString()} />
          </span>
          <button
            type="button"
            className="button quiet icon small"
            aria-label={t.drop(each.name || each.id)}
            onClick={() => {
              drop(each.id);
              setAll(drafts());
            }}
          >
            <Trash2 size={14} aria-hidden="true" />
          </button>
        </li>
      ))}
    </ul>
  );
}
