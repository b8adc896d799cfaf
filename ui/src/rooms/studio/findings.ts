// What the server found against a deployment, as it says it in its refusal: by element, with a code.

export interface Finding {
  /** Where: the id of an element, if it names one. */
  element: string | undefined;
  code: string | undefined;
  message: string;
}

const ELEMENT = /^- Element: (\S+)/;
const ERROR = /^\s+- (?:ERROR|WARNING)(?:\[(\w+)\])?:\s*(.*)$/;

/** What has another form is one finding, in the server's words. */
export function findingsOf(detail: string): Finding[] {
  const found: Finding[] = [];
  let element: string | undefined;
  for (const line of detail.split("\n")) {
    const [, id] = ELEMENT.exec(line) ?? [];
    if (id !== undefined) {
      element = id;
      continue;
    }
    const [whole, code, message] = ERROR.exec(line) ?? [];
    if (whole !== undefined) found.push({ element, code, message: message ?? "" });
  }
  return found.length > 0 ? found : [{ element: undefined, code: undefined, message: detail }];
}
