// In the place of a model that was deleted, although its instances are still in the history.
import { text } from "../text";
import { Note } from "./Note";

export const ModelGone = () => (
  <Note title={text.processes.modelGone} small>
    {text.processes.modelGoneText}
  </Note>
);
