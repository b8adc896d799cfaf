// Keys are 64-bit numbers and stay text; a brand per kind keeps the key of one thing from being taken for that of another.

declare const kind: unique symbol;
export type Key<Kind extends string> = string & { readonly [kind]: Kind };

export type InstanceKey = Key<"process-instance">;
export type DefinitionKey = Key<"process-definition">;
export type ElementKey = Key<"element-instance">;
export type IncidentKey = Key<"incident">;
export type JobKey = Key<"job">;
export type VariableKey = Key<"variable">;
export type BatchKey = Key<"batch-operation">;
export type TaskKey = Key<"user-task">;
export type FormKey = Key<"form">;
export type DecisionKey = Key<"decision-definition">;
export type RequirementsKey = Key<"decision-requirements">;
/** An element instance, or the process instance itself. */
export type ScopeKey = Key<"process-instance"> | Key<"element-instance">;

/** Which member of an answer holds a key of which kind. */
interface Kinds {
  processInstanceKey: InstanceKey;
  parentProcessInstanceKey: InstanceKey;
  rootProcessInstanceKey: InstanceKey;
  processDefinitionKey: DefinitionKey;
  elementInstanceKey: ElementKey;
  parentElementInstanceKey: ElementKey;
  incidentKey: IncidentKey;
  jobKey: JobKey;
  variableKey: VariableKey;
  batchOperationKey: BatchKey;
  userTaskKey: TaskKey;
  formKey: FormKey;
  decisionDefinitionKey: DecisionKey;
  decisionRequirementsKey: RequirementsKey;
  scopeKey: ScopeKey;
}

/** An answer as the server describes it, with its keys told apart. */
export type Branded<T> = T extends readonly (infer Item)[]
  ? Branded<Item>[]
  : T extends object
    ? {
        [Name in keyof T]: Name extends keyof Kinds
          ? T[Name] extends string
            ? Kinds[Name]
            : T[Name] extends string | null
              ? Kinds[Name] | null
              : Branded<T[Name]>
          : Branded<T[Name]>;
      }
    : T;

/** Text that may be a key: what a person pasted, or an address holds. */
export const looksLikeKey = (text: string): boolean => /^[1-9]\d{0,18}$/.test(text);

/** For the edge of the program, where text from outside is taken for a key of a kind. */
export const asKey = <K extends Key<string>>(text: string): K => text as K;
