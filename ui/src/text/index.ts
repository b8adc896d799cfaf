// What the interface says. Another language is another module that satisfies the same type.
import { en } from "./en";

export type Text = typeof en;
export const text: Text = en;
