// Settings as rows: a name, its value, and where the value comes from.
import type { Settings } from "../../../api/management";

export interface Entry {
  name: string;
  value: string;
  origin: string;
}

export function entriesOf({ contexts }: Settings): Entry[] {
  const groups = Object.values(contexts).flatMap(({ beans }) => Object.values(beans));
  const all = groups.flatMap(({ prefix, inputs }) => Object.entries(inputs).map(([name, { value, origin }]) => ({ name: `${prefix}.${name}`, value, origin })));
  return all.toSorted((a, b) => a.name.localeCompare(b.name));
}

export const isSet = ({ origin }: Entry): boolean => origin !== "default";

const plain = (text: string): string => text.toLowerCase().replaceAll("-", "");

/** Every word has to be in the name, the value or the source; dashes and case do not count. */
export function matching(entries: readonly Entry[], find: string, onlySet: boolean): Entry[] {
  const words = plain(find).split(/\s+/).filter((word) => word !== "");
  return entries.filter((entry) => {
    const text = plain(`${entry.name} ${entry.value} ${entry.origin}`);
    return (!onlySet || isSet(entry)) && words.every((word) => text.includes(word));
  });
}
