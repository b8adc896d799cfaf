// Planned changes of an instance. They stand in the address, one a line, so that a plan can be shared, and is not lost by a reload:
//
//   cancel charge            cancel charge@225…           all tokens of an element, or one
//   move charge>ship         move charge@225…>ship
//   add ship                 add ship in 225… local {"a":1}
//
// Variables are JSON text, and go to the server as they are written.
import { compactJson } from "../../../parts/json";

export interface Change {
  kind: "add" | "cancel" | "move";
  element: string;
  /** One token of it; all of them without. */
  token?: string;
  /** Where a move goes. */
  to?: string;
  /** The scope that the new token begins in. */
  scope?: string;
  /** A JSON object. */
  variables?: string;
  /** The variables belong to the new token alone, and not to the instance. */
  local?: boolean;
}

const LINE = /^(add|cancel|move) ([^\s@>]+)(?:@(\d+))?(?:>([^\s@>]+))?(?: in (\d+))?(?: (with|local) (\{.*\}))?$/s;

export function read(line: string): Change | undefined {
  const found = LINE.exec(line);
  if (!found) return undefined;
  const [, kind, element = "", token, to, scope, how, variables] = found;
  if ((kind === "move") !== (to !== undefined)) return undefined;
  if (kind === "add") return { kind, element, scope, variables, local: how === "local" };
  if (kind === "cancel") return { kind, element, token };
  return { kind: "move", element, token, to, scope, variables, local: how === "local" };
}

export function write({ kind, element, token, to, scope, variables, local }: Change): string {
  const from = token === undefined ? element : `${element}@${token}`;
  const goal = to === undefined ? "" : `>${to}`;
  const within = scope === undefined ? "" : ` in ${scope}`;
  const data = variables === undefined ? "" : ` ${local ? "local" : "with"} ${compactJson(variables)}`;
  return `${kind} ${from}${goal}${within}${data}`;
}

export const readAll = (lines: readonly string[]): Change[] => lines.flatMap((line) => read(line) ?? []);

/** Where a token arrives, if one does. */
export const arrives = (change: Change): string | undefined => (change.kind === "add" ? change.element : change.to);

/** Of the tokens of an element, those that no change takes away yet. */
export function free<Token extends { elementId: string; elementInstanceKey: string }>(tokens: readonly Token[], changes: readonly Change[]): Token[] {
  const leaving = changes.filter((change) => change.kind !== "add");
  return tokens.filter(
    (each) => !leaving.some((change) => change.element === each.elementId && (change.token === undefined || change.token === each.elementInstanceKey)),
  );
}

const json = (value: unknown): string => JSON.stringify(value);

function variablesOf(change: Change): string {
  if (change.variables === undefined) return "";
  const scope = change.local ? `,"scopeId":${json(arrives(change))}` : "";
  return `,"variableInstructions":[{"variables":${compactJson(change.variables)}${scope}}]`;
}

function added(change: Change): string {
  const scope = change.scope === undefined ? "" : `,"ancestorElementInstanceKey":${json(change.scope)}`;
  return `{"elementId":${json(change.element)}${scope}${variablesOf(change)}}`;
}

function moved(change: Change): string {
  const source = change.token === undefined ? { sourceType: "byId", sourceElementId: change.element } : { sourceType: "byKey", sourceElementInstanceKey: change.token };
  const scope = change.scope === undefined ? { ancestorScopeType: "inferred" } : { ancestorScopeType: "direct", ancestorElementInstanceKey: change.scope };
  return `{"sourceElementInstruction":${json(source)},"targetElementId":${json(change.to)},"ancestorScopeInstruction":${json(scope)}${variablesOf(change)}}`;
}

const ended = (change: Change): string => json(change.token === undefined ? { elementId: change.element } : { elementInstanceKey: change.token });

/** The body of modifyProcessInstance; text, as numbers of variables keep their digits. */
export function bodyOf(changes: readonly Change[]): string {
  const of = (kind: Change["kind"], each: (change: Change) => string) => changes.filter((change) => change.kind === kind).map(each).join(",");
  return `{"activateInstructions":[${of("add", added)}],"moveInstructions":[${of("move", moved)}],"terminateInstructions":[${of("cancel", ended)}]}`;
}
