// Below a list that holds as many rows as it may: the way to those that come after.
import { Link } from "@tanstack/react-router";

import { WINDOW } from "../api/list";
import { text } from "../text";

const CLASSES = { p: "list-foot", li: "side-none" };

interface Props {
  /** Where the next rows begin; none: these are the last. */
  next: string | undefined;
  as?: keyof typeof CLASSES;
}

export function NextWindow({ next, as: Tag = "p" }: Props) {
  if (next === undefined) return null;
  return (
    <Tag className={CLASSES[Tag]}>
      {text.processes.windowText(WINDOW)}{" "}
      <Link to="." search={(shown) => ({ ...shown, after: next })}>
        {text.processes.window}
      </Link>
    </Tag>
  );
}
