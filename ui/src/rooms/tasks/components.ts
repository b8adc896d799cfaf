// The components of a form, as its file has them.

export interface Component {
  type?: string;
  key?: string;
  path?: string;
  components?: Component[];
}

/** All of them, groups before what is in them; none where the form cannot be read, which it says itself. */
export function componentsOf(schema: string): Component[] {
  const found: Component[] = [];
  const walk = (each: Component) => {
    found.push(each);
    each.components?.forEach(walk);
  };
  try {
    walk(JSON.parse(schema) as Component);
  } catch {
    return [];
  }
  return found;
}
