// Which variables stand as columns: their names as the address holds them.

/** More do not fit on a screen beside what is there already, and each of them is asked for with every page. */
export const MOST = 6;

export const columnsOf = (cols: string | undefined): string[] => [...new Set((cols ?? "").split(",").map((each) => each.trim()).filter((each) => each !== ""))].slice(0, MOST);

/** Nothing where there is none. */
export const written = (names: readonly string[]): string | undefined => (names.length === 0 ? undefined : names.join(","));

export const isName = (name: string): boolean => /^[\p{L}_$][^\s,]*$/u.test(name);
