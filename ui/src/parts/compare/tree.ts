// A file as a tree, without what a file may write in several ways: prefixes, white space, the order of attributes.

export interface Tree {
  /** Without its prefix. */
  name: string;
  attributes: ReadonlyMap<string, string>;
  children: readonly Tree[];
  text: string;
}

const plain = (name: string): string => name.slice(name.indexOf(":") + 1);

function ofElement(element: Element): Tree {
  const attributes = [...element.attributes].filter(({ name }) => !/^xmlns(:|$)/.test(name)).map(({ name, value }) => [plain(name), value.trim()] as const);
  const words = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE);
  return {
    name: element.localName,
    attributes: new Map(attributes.toSorted(([a], [b]) => a.localeCompare(b, "en"))),
    children: [...element.children].map(ofElement),
    text: words.map((node) => node.nodeValue ?? "").join("").trim(),
  };
}

/** Undefined where the file cannot be read. */
export function treeOf(xml: string): Tree | undefined {
  const file = new DOMParser().parseFromString(xml, "text/xml");
  return file.querySelector("parsererror") ? undefined : ofElement(file.documentElement);
}
