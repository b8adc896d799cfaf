// form-js as an editor of forms, with its palette and its panel of properties.
import { FormEditor } from "@bpmn-io/form-js-editor";
import { type Editor, trustStyles } from "./editor";
import "@bpmn-io/form-js-editor/dist/assets/form-js-editor.css";
import "@bpmn-io/form-js-editor/dist/assets/properties-panel.css";
import "./ink.css";

interface History {
  undo: () => void;
  redo: () => void;
}

export function makeForm(container: HTMLElement): Editor {
  trustStyles();
  const editor = new FormEditor({ container });
  const history = () => editor.get("commandStack", true) as History;
  return {
    open: async (schema) => {
      await editor.importSchema(JSON.parse(schema));
    },
    save: async () => JSON.stringify(editor.saveSchema(), null, 2),
    onChange: (listener) => editor.on("changed", 0, listener),
    // What the server finds against a form is about all of it.
    select: () => undefined,
    undo: () => history().undo(),
    redo: () => history().redo(),
    destroy: () => editor.destroy(),
  };
}
