// What a model says about the variables of its elements, from its file: mappings, loops, calls, and where results go.
import { isStep, nameOf } from "../../parts/steps";

/** What is read of an XML element; those of a browser are such. */
export interface Part {
  readonly localName: string;
  readonly namespaceURI: string | null;
  readonly children: Iterable<Part>;
  getAttribute(name: string): string | null;
}

export interface Mapping {
  /** An expression if it begins with `=`, else text; empty: null. */
  source: string;
  /** A variable, or a member of one: `order.id`. Empty where the model names none. */
  target: string;
  /** A later mapping of the element sets the same, and this one has no effect. */
  isReplaced: boolean;
}

export interface Loop {
  isSequential: boolean;
  /** The collection, and the variable that has its item. */
  input: Mapping;
  /** What each item results in, and the list that collects it. */
  output: Mapping | undefined;
}

export interface Call {
  /** The id of a process, or an expression. */
  process: string;
  passesAll: boolean;
  returnsAll: boolean;
}

export interface Mapped {
  id: string;
  name: string;
  /** The name of its element in BPMN: `serviceTask`. */
  type: string;
  loop: Loop | undefined;
  inputs: readonly Mapping[];
  /** Events that only happen take no inputs. */
  takesInputs: boolean;
  call: Call | undefined;
  /** What is evaluated instead of a worker's job, and the variable of the result. */
  result: Mapping | undefined;
  outputs: readonly Mapping[];
  /** What each inner instance of an ad-hoc sub-process results in. */
  collected: Mapping | undefined;
}

const BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL";
const ZEEBE = "http://camunda.org/schema/zeebe/1.0";

const children = (part: Part, namespace: string, name: string): Part[] => [...part.children].filter((each) => each.namespaceURI === namespace && each.localName === name);
const extension = (part: Part, name: string): Part | undefined => children(part, BPMN, "extensionElements").flatMap((each) => children(each, ZEEBE, name))[0];
const attribute = (part: Part, name: string): string => part.getAttribute(name) ?? "";

const pair = (part: Part, source: string, target: string): Mapping => ({ source: attribute(part, source), target: attribute(part, target), isReplaced: false });

/** Both of them, or nothing. */
const output = (part: Part | undefined): Mapping | undefined => {
  const found = part && pair(part, "outputElement", "outputCollection");
  return found?.target ? found : undefined;
};

/** Of mappings to one variable, or to a variable and its member, the last one counts. */
function mappings(part: Part | undefined, name: string): Mapping[] {
  const found = part ? children(part, ZEEBE, name).map((each) => pair(each, "source", "target")) : [];
  const targets = new Set<string>();
  const starts = new Set<string>();
  for (const mapping of found.toReversed()) {
    const names = mapping.target.split(".");
    const paths = names.map((_, at) => names.slice(0, at + 1).join("."));
    mapping.isReplaced = starts.has(mapping.target) || paths.some((path) => targets.has(path));
    targets.add(mapping.target);
    for (const path of paths) starts.add(path);
  }
  return found;
}

function loopOf(part: Part): Loop | undefined {
  const marker = children(part, BPMN, "multiInstanceLoopCharacteristics")[0];
  const characteristics = marker && extension(marker, "loopCharacteristics");
  if (!characteristics) return undefined;
  return { isSequential: attribute(marker, "isSequential").trim() === "true", input: pair(characteristics, "inputCollection", "inputElement"), output: output(characteristics) };
}

function callOf(part: Part): Call | undefined {
  const called = extension(part, "calledElement");
  if (part.localName !== "callActivity" || !called) return undefined;
  const isOn = (name: string) => attribute(called, name).trim() !== "false";
  return { process: attribute(called, "processId"), passesAll: isOn("propagateAllParentVariables"), returnsAll: isOn("propagateAllChildVariables") };
}

function resultOf(part: Part): Mapping | undefined {
  const script = part.localName === "scriptTask" ? extension(part, "script") : undefined;
  if (script) return pair(script, "expression", "resultVariable");
  const decision = part.localName === "businessRuleTask" ? extension(part, "calledDecision") : undefined;
  return decision && pair(decision, "decisionId", "resultVariable");
}

/** What a throw event sends, or passes to handlers, is what its inputs set. */
const SENDS = ["messageEventDefinition", "signalEventDefinition", "compensateEventDefinition"];

function takesInputs(part: Part): boolean {
  if (/^(startEvent|boundaryEvent)$/.test(part.localName)) return false;
  return !/^(intermediateThrowEvent|endEvent)$/.test(part.localName) || SENDS.some((name) => children(part, BPMN, name).length > 0);
}

function mappedOf(part: Part): Mapped | undefined {
  const id = part.getAttribute("id");
  if (id === null || !isStep(part.localName) || part.localName.endsWith("Gateway")) return undefined;
  const mapping = extension(part, "ioMapping");
  const [inputs, outputs] = [mappings(mapping, "input"), mappings(mapping, "output")];
  const [loop, call, result] = [loopOf(part), callOf(part), resultOf(part)];
  const collected = part.localName === "adHocSubProcess" ? output(extension(part, "adHoc")) : undefined;
  if (inputs.length === 0 && outputs.length === 0 && !loop && !call && !result && !collected) return undefined;
  return { id, name: nameOf(part.getAttribute("name"), id), type: part.localName, loop, inputs, takesInputs: takesInputs(part), call, result, outputs, collected };
}

function collect(part: Part, process: string, isInside: boolean, found: Mapped[]) {
  for (const child of part.children) {
    if (child.namespaceURI !== BPMN || child.localName === "extensionElements") continue;
    const mapped = isInside ? mappedOf(child) : undefined;
    if (mapped) found.push(mapped);
    collect(child, process, isInside || (child.localName === "process" && child.getAttribute("id") === process), found);
  }
}

/** The elements of one process of a file that say something about variables, in its order. */
export function mappedIn(definitions: Part, process: string): Mapped[] {
  const found: Mapped[] = [];
  collect(definitions, process, false, found);
  return found;
}

/** The same from its text; nothing where it cannot be read. */
export function mappedOfXml(xml: string, process: string): Mapped[] {
  const file = new DOMParser().parseFromString(xml, "text/xml");
  return file.querySelector("parsererror") ? [] : mappedIn(file.documentElement, process);
}

const INNER = "#innerInstance";

/** What is said of an element; an inner instance of an ad-hoc sub-process is a part of that. */
export const mappedAt = (all: readonly Mapped[], element: string): Mapped | undefined =>
  all.find(({ id }) => id === (element.endsWith(INNER) ? element.slice(0, -INNER.length) : element));
