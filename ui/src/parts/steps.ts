// The steps of a model, from its file: what a diagram shows, as a list that can be chosen from and compared.

export interface Step {
  id: string;
  name: string;
  /** The name of its element in BPMN: `serviceTask`. */
  type: string;
  /** The sub-process that it is in. */
  parent: string | undefined;
  /** It runs once for each item of a list. */
  multi: boolean;
}

const BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL";
const STEP = /(Event|[Tt]ask|Gateway|[Ss]ubProcess|transaction|callActivity)$/;

/** Whether an element of BPMN is a step, by its name. */
export const isStep = (type: string): boolean => STEP.test(type);

/** The name that people gave an element, on one line, or else its id. */
export const nameOf = (name: string | null, id: string): string => name?.replaceAll(/\s+/g, " ").trim() || id;

/** Steps of one process of a file, in its order; none where the file cannot be read. */
export function stepsOf(xml: string, process: string): Step[] {
  if (xml === "") return [];
  const file = new DOMParser().parseFromString(xml, "text/xml");
  const root = [...file.getElementsByTagNameNS(BPMN, "process")].find((each) => each.getAttribute("id") === process);
  if (!root) return [];
  return [...root.getElementsByTagNameNS(BPMN, "*")].flatMap((element): Step[] => {
    const id = element.getAttribute("id");
    if (!isStep(element.localName) || id === null) return [];
    const around = element.parentElement;
    return [
      {
        id,
        name: nameOf(element.getAttribute("name"), id),
        type: element.localName,
        parent: around === root ? undefined : (around?.getAttribute("id") ?? undefined),
        multi: [...element.children].some((child) => child.localName === "multiInstanceLoopCharacteristics"),
      },
    ];
  });
}

/** `serviceTask` as "Service task". */
export function kindOf(type: string): string {
  const words = type.replaceAll(/([A-Z])/g, " $1").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
