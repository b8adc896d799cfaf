// The decisions of a DMN file as they are drawn here. Elements are known by their names alone, so that files of every DMN version
// are read alike, as the server does.

export interface Column {
  id: string;
  /** What people call it. */
  label: string;
  /** What is evaluated, or under which name the output goes. */
  text: string;
  type: string;
}

export interface Rule {
  id: string;
  inputs: string[];
  outputs: string[];
  note: string;
}

export interface Table {
  kind: "table";
  hitPolicy: string;
  aggregation: string;
  inputs: Column[];
  outputs: Column[];
  rules: Rule[];
}

export type Logic = Table | { kind: "expression"; text: string } | { kind: "other" };

export interface Node {
  id: string;
  name: string;
  kind: "decision" | "input" | "knowledge";
  /** Ids of what it needs. */
  needs: string[];
}

export interface Model {
  nodes: Node[];
  logic: ReadonlyMap<string, Logic>;
}

const children = (element: Element | undefined, name: string): Element[] => [...(element?.children ?? [])].filter((each) => each.localName === name);
const child = (element: Element | undefined, name: string): Element | undefined => children(element, name)[0];
const textOf = (element: Element | undefined): string => (child(element, "text")?.textContent ?? "").trim();
const attribute = (element: Element | undefined, name: string): string => element?.getAttribute(name) ?? "";

function tableOf(element: Element): Table {
  return {
    kind: "table",
    hitPolicy: attribute(element, "hitPolicy") || "UNIQUE",
    aggregation: attribute(element, "aggregation"),
    inputs: children(element, "input").map((each) => {
      const expression = child(each, "inputExpression");
      const text = textOf(expression);
      return { id: attribute(each, "id"), label: attribute(each, "label") || text, text, type: attribute(expression, "typeRef") };
    }),
    outputs: children(element, "output").map((each) => ({
      id: attribute(each, "id"),
      label: attribute(each, "label") || attribute(each, "name"),
      text: attribute(each, "name"),
      type: attribute(each, "typeRef"),
    })),
    rules: children(element, "rule").map((each) => ({
      id: attribute(each, "id"),
      inputs: children(each, "inputEntry").map(textOf),
      outputs: children(each, "outputEntry").map(textOf),
      note: [...children(each, "annotationEntry").map(textOf), child(each, "description")?.textContent?.trim() ?? ""].filter((note) => note !== "").join(" "),
    })),
  };
}

function logicOf(decision: Element): Logic {
  const table = child(decision, "decisionTable");
  if (table) return tableOf(table);
  const expression = child(decision, "literalExpression");
  return expression ? { kind: "expression", text: textOf(expression) } : { kind: "other" };
}

const KINDS: Record<string, Node["kind"]> = { decision: "decision", inputData: "input", businessKnowledgeModel: "knowledge" };

function needsOf(element: Element): string[] {
  const requirements = [...children(element, "informationRequirement"), ...children(element, "knowledgeRequirement")];
  return requirements.flatMap((each) => [...each.children].map((to) => attribute(to, "href").replace(/^.*#/, ""))).filter((id) => id !== "");
}

export function modelOf(xml: string): Model {
  const document = new DOMParser().parseFromString(xml, "text/xml");
  const broken = document.querySelector("parsererror");
  if (broken) throw new Error(broken.textContent ?? "");
  const nodes: Node[] = [];
  const logic = new Map<string, Logic>();
  for (const element of document.documentElement.children) {
    const kind = KINDS[element.localName];
    if (kind === undefined) continue;
    const id = attribute(element, "id");
    nodes.push({ id, name: attribute(element, "name") || id, kind, needs: needsOf(element) });
    if (kind === "decision") logic.set(id, logicOf(element));
  }
  return { nodes, logic };
}

const WORDS = new Set(["if", "then", "else", "for", "in", "return", "some", "every", "satisfies", "and", "or", "not", "true", "false", "null", "function", "between", "instance", "of"]);

/** Variables that a decision, and those that it asks, seem to read: the names that its inputs begin with. */
export function variablesOf(model: Model, id: string): string[] {
  const names = new Set<string>();
  const seen = new Set<string>();
  const own = new Set(model.nodes.flatMap((each) => (each.kind === "decision" ? [each.id, each.name] : [])));
  const walk = (at: string) => {
    if (seen.has(at)) return;
    seen.add(at);
    const logic = model.logic.get(at);
    const texts = logic?.kind === "table" ? logic.inputs.map((each) => each.text) : logic?.kind === "expression" ? [logic.text] : [];
    for (const text of texts) {
      const plain = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, " ");
      for (const [, before, name] of plain.matchAll(/([.\w]?)\b([A-Za-z_]\w*)\b(?!\s*\()/g)) {
        if (before === "" && name !== undefined && !WORDS.has(name) && !own.has(name)) names.add(name);
      }
    }
    for (const next of model.nodes.find((each) => each.id === at)?.needs ?? []) walk(next);
  };
  walk(id);
  return [...names];
}
