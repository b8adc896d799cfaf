// A button, and what floats at it: fields or a list, fetched together with what is within when somebody is about to press the button.
import { type ReactNode, lazy } from "react";
import { type ButtonLook, Later } from "./Later";

export interface FloatingProps extends ButtonLook {
  /** On the button. */
  words: ReactNode;
  /** Of what floats. */
  title: string;
  /** The class of its content. */
  of: string;
  placement: "bottom" | "bottom start" | "bottom end";
  /** What is within it comes from there. */
  fetch: () => Promise<unknown>;
  children: (close: () => void) => ReactNode;
}

const floating = () => import("./Floating");
const Floating = lazy(floating);

export function Popup(props: FloatingProps) {
  const { words, fetch, className, label, "data-add": add } = props;
  return (
    <Later className={className} label={label} data-add={add} fetch={() => Promise.all([floating(), fetch()])} menu={<Floating {...props} />}>
      {words}
    </Later>
  );
}
