// Members of an answer that the API describes as open: read for what they should be, and nothing else.

const member = (of: object, name: string): unknown => (of as Record<string, unknown>)[name];

/** A text that says something. */
export const stringIn = (of: object, name: string): string | undefined => {
  const value = member(of, name);
  return typeof value === "string" && value !== "" ? value : undefined;
};

export const stringsIn = (of: object, name: string): string[] => {
  const value = member(of, name);
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
};

export const countIn = (of: object, name: string): number => {
  const value = member(of, name);
  return typeof value === "number" ? value : 0;
};
