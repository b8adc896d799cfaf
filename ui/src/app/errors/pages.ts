// The pages of error codes, as docs/errors has them and `skep explain` prints them.

const files = import.meta.glob<string>("../../../../docs/errors/*.md", { query: "?raw", import: "default", eager: true });

const pages = new Map(Object.entries(files).map(([path, text]) => [path.replace(/^.*\/|\.md$/g, ""), text]));

/** The page of a code; README is the list of all. */
export const pageOf = (code: string): string | undefined => pages.get(code);
