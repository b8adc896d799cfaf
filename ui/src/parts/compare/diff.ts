// What is different between two models, by the ids of their elements. Where things stand on the paper is not compared.
import type { Tree } from "./tree";

export interface Change {
  kind: "added" | "changed" | "removed";
  id: string;
  name: string;
  /** Its element in BPMN: `serviceTask`. */
  type: string;
  /** What of it changed: attributes and parts, by their names. */
  parts: readonly string[];
}

/** Layout, and what flows say themselves. */
const LEFT_OUT = new Set(["BPMNDiagram", "incoming", "outgoing", "flowNodeRef"]);
/** Wrappers without an identity that matters. */
const NO_ELEMENT = new Set(["definitions", "extensionElements", "laneSet"]);

const isElement = (tree: Tree): boolean => tree.attributes.has("id") && !NO_ELEMENT.has(tree.name);
/** Parts of an element that are drawn by themselves, and compared by themselves. */
const isDrawn = (tree: Tree): boolean => isElement(tree) && !/(EventDefinition|Expression|LoopCharacteristics|ioSpecification|dataInput|dataOutput|inputSet|outputSet|condition|script)$/.test(tree.name);

function elements(tree: Tree, found = new Map<string, Tree>()): Map<string, Tree> {
  for (const child of tree.children) {
    if (LEFT_OUT.has(child.name)) continue;
    const id = child.attributes.get("id");
    if (id !== undefined && isDrawn(child)) found.set(id, child);
    elements(child, found);
  }
  return found;
}

/** The text of a part, with all that is in it but what is compared by itself. */
function written(tree: Tree): string {
  const inner = tree.children.filter((child) => !LEFT_OUT.has(child.name) && !isDrawn(child)).map(written);
  // Ids of parts are made anew by tools that draw.
  const attributes = [...tree.attributes].filter(([name]) => name !== "id").map(([name, value]) => `${name}=${value}`);
  return JSON.stringify([tree.name, attributes, tree.text, inner]);
}

/** What an element says of itself, by name; parts of the same name together. */
function partsOf(tree: Tree): Map<string, string> {
  const parts = new Map<string, string>([...tree.attributes].filter(([name]) => name !== "id"));
  parts.set("type", tree.name);
  const add = (child: Tree) => parts.set(child.name, `${parts.get(child.name) ?? ""}${written(child)}`);
  for (const child of tree.children) {
    if (LEFT_OUT.has(child.name) || isDrawn(child)) continue;
    if (child.name === "extensionElements") child.children.forEach(add);
    else add(child);
  }
  return parts;
}

function different(before: Tree, after: Tree): string[] {
  const [was, is] = [partsOf(before), partsOf(after)];
  return [...new Set([...was.keys(), ...is.keys()])].filter((name) => was.get(name) !== is.get(name)).toSorted();
}

const change = (kind: Change["kind"], id: string, tree: Tree, parts: readonly string[] = []): Change => ({
  kind,
  id,
  name: tree.attributes.get("name")?.replaceAll(/\s+/g, " ") || id,
  type: tree.name,
  parts,
});

/** In the order of the files; what was removed comes last. */
export function changesBetween(before: Tree, after: Tree): Change[] {
  const [was, is] = [elements(before), elements(after)];
  const found: Change[] = [];
  for (const [id, tree] of is) {
    const old = was.get(id);
    if (!old) found.push(change("added", id, tree));
    else {
      const parts = different(old, tree);
      if (parts.length > 0) found.push(change("changed", id, tree, parts));
    }
  }
  for (const [id, tree] of was) if (!is.has(id)) found.push(change("removed", id, tree));
  return found;
}
