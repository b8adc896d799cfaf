// Fields for files. A form knows them by a name of its own while they are in the browser; what is sent are references of documents.
import { type Owner, type Reference, dropDocument, isReference, keepDocument } from "../../api/documents";
import { componentsOf } from "./components";
import type { Filled } from "./FormView";

type Values = Record<string, unknown>;
const OF_FORM = /^files::/;

/** Last names of the fields for files. */
export const fileFields = (schema: string): ReadonlySet<string> =>
  new Set(componentsOf(schema).filter((each) => each.type === "filepicker").flatMap((each) => each.key?.split(".").at(-1) ?? []));

const isObject = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

/** The value with members of some names as `each` makes them, and without those for which it makes nothing. */
function map(value: unknown, names: ReadonlySet<string>, each: (member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => map(item, names, each));
  if (!isObject(value) || isReference(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, names.has(name) ? each(member) : map(member, names, each)] as const);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}

const ofForm = (value: unknown): value is string => typeof value === "string" && OF_FORM.test(value);

/** Values for the form: a field for files would take documents that are there already for none, and clear them. */
export const withoutFiles = (values: Values, names: ReadonlySet<string>): Values =>
  map(values, names, (member) => (ofForm(member) || member === null || (Array.isArray(member) && member.every(isReference)) ? undefined : member)) as Values;

/** A document is shown within a form only where the page's policy lets a browser show it: PDF is not, and gets a button. */
export function shownSafely(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shownSafely);
  if (!isObject(value)) return value;
  if (isReference(value)) return /^image\//i.test(value.metadata.contentType ?? "") ? value : { ...value, metadata: { ...value.metadata, contentType: undefined } };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shownSafely(member)]));
}

/** Fields without a file are left as they were, and are not sent. */
export const withReferences = (values: Values, names: ReadonlySet<string>, kept: ReadonlyMap<string, readonly Reference[]>): Values =>
  map(values, names, (member) => (ofForm(member) ? kept.get(member) : member === null ? undefined : member)) as Values;

function usedIn(value: unknown, found: Set<string> = new Set()): Set<string> {
  if (ofForm(value)) found.add(value);
  else if (Array.isArray(value)) for (const each of value) usedIn(each, found);
  else if (isObject(value)) for (const each of Object.values(value)) usedIn(each, found);
  return found;
}

export interface Kept {
  filled: Filled;
  /** When what they were kept for was refused. */
  drop: () => Promise<void>;
}

/** Keeps the files that were chosen, and puts their references where they stand in the form. All of them, or none. */
export async function keepFiles(filled: Filled, schema: string, owner: Owner): Promise<Kept> {
  const names = fileFields(schema);
  const made: Reference[] = [];
  const drop = async () => void (await Promise.all(made.map(dropDocument)));
  const kept = new Map<string, readonly Reference[]>();
  try {
    for (const key of usedIn(filled.now)) {
      const references: Reference[] = [];
      for (const file of filled.files.get(key) ?? []) {
        const reference = await keepDocument(file, owner);
        made.push(reference);
        references.push(reference);
      }
      if (references.length > 0) kept.set(key, references);
    }
  } catch (error) {
    await drop();
    throw error;
  }
  return { filled: { ...filled, now: withReferences(filled.now, names, kept), all: withReferences(filled.all, names, kept) }, drop };
}
