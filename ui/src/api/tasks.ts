// Questions about user tasks, and what people do with them.
import { type Answer, type Body, command, get, post, remove, send } from "./client";
import type { FormKey, TaskKey } from "./keys";
import { PAGE, useList } from "./list";
import { done, live, once } from "./live";
import { Problem } from "./problem";
import { here } from "./tenant";

export type Task = Answer<"/user-tasks/search", "post">["items"][number];
export type TaskFilter = NonNullable<Body<"/user-tasks/search", "post">["filter"]>;
export type TaskVariable = Answer<"/user-tasks/{userTaskKey}/effective-variables/search", "post">["items"][number];
type TaskSort = NonNullable<Body<"/user-tasks/search", "post">["sort"]>;

/** Tasks without the date that comes first here stand behind those that have it. */
const sorts = {
  due: [{ field: "dueDate", order: "ASC" }, { field: "creationDate", order: "ASC" }],
  followUp: [{ field: "followUpDate", order: "ASC" }, { field: "creationDate", order: "ASC" }],
  new: [{ field: "creationDate", order: "DESC" }],
  priority: [{ field: "priority", order: "DESC" }, { field: "creationDate", order: "ASC" }],
  name: [{ field: "name", order: "ASC" }, { field: "creationDate", order: "ASC" }],
  done: [{ field: "completionDate", order: "DESC" }],
} as const satisfies Record<string, TaskSort>;
export type Sort = keyof typeof sorts;

/** In which orders tasks are listed, the usual one first: those to be done, and those that are. */
const SORTS = { open: ["due", "followUp", "new", "priority", "name"], done: ["done", "new", "priority", "name"] } as const satisfies Record<string, readonly Sort[]>;

export const taskSorts = (done: boolean): readonly Sort[] => (done ? SORTS.done : SORTS.open);

/** As the address says, or as it is usual. */
export const taskSort = (sort: string | undefined, done: boolean): Sort => taskSorts(done).find((each) => each === sort) ?? (done ? "done" : "due");

/** All states in which somebody still has to do it, also while a listener is at work. */
export const OPEN: TaskFilter["state"] = { $in: ["CREATED", "CREATING", "ASSIGNING", "UPDATING", "COMPLETING"] };

/** How many are open. */
export const openTasks = () =>
  live(["tasks", "count"], async (how) => {
    const { page } = await post("/user-tasks/search", {}, { filter: { state: OPEN, ...here() }, page: { limit: 1 } }, how);
    return { total: page.totalItems, more: page.hasMoreTotalItems };
  });

/** The open ones of one person: those that are due first, and how many there are. */
export const tasksOf = (assignee: string) =>
  live(["tasks", "of", assignee], async (how) => {
    const { items, page } = await post("/user-tasks/search", {}, { filter: { state: OPEN, assignee, ...here() }, sort: [...sorts.due], page: { limit: 5 } }, how);
    return { items, total: page.totalItems, more: page.hasMoreTotalItems };
  });

export const useTasks = (filter: TaskFilter, sort: Sort, after?: string) =>
  useList(["tasks", "list", filter, sort], (how, from) =>
    post("/user-tasks/search", {}, { filter: { ...filter, ...here() }, sort: [...sorts[sort]], page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from } }, how), after);

export const task = (key: TaskKey) =>
  live(["tasks", "one", key], (how) => get("/user-tasks/{userTaskKey}", { userTaskKey: key }, how), 2_000);

/** The form in the version that the task was made with; null when it has none. */
export const taskForm = (key: TaskKey, form: FormKey | null) =>
  once(["tasks", "form", key, form], async (how) => (await get("/user-tasks/{userTaskKey}/form", { userTaskKey: key }, how)) ?? null);

/** What can be seen from the task, with all of each value. */
const seenFrom = (key: TaskKey, how?: { signal: AbortSignal; eventual: boolean }) =>
  post("/user-tasks/{userTaskKey}/effective-variables/search", { userTaskKey: key }, { sort: [{ field: "name" }], page: { limit: 1000 } }, {
    ...how, query: { truncateValues: "false" },
  });

export const taskVariables = (key: TaskKey) => live(["tasks", "variables", key], (how) => seenFrom(key, how), 5_000);

/** Values as they are at this moment. */
export async function valuesNow(key: TaskKey): Promise<ReadonlyMap<string, string>> {
  const { items } = await seenFrom(key);
  return new Map(items.map((each) => [each.name, each.value]));
}

/** Gives the task to somebody; unless told so, not when another one has it. */
export const assignTask = (key: TaskKey, assignee: string, override = false): Promise<void> =>
  done(post("/user-tasks/{userTaskKey}/assignment", { userTaskKey: key }, { assignee, allowOverride: override }));

/** Gives somebody the first task of a list that nobody has; undefined when there is none. Others may take one at the same time. */
export async function claimFirst(filter: TaskFilter, sort: Sort, assignee: string): Promise<TaskKey | undefined> {
  const free = { ...filter, state: "CREATED", assignee: { $exists: false }, ...here() } as const;
  const { items } = await post("/user-tasks/search", {}, { filter: free, sort: [...sorts[sort]], page: { limit: 20 } });
  for (const { userTaskKey } of items) {
    try {
      await assignTask(userTaskKey, assignee);
      return userTaskKey;
    } catch (error) {
      const taken = error instanceof Problem && (error.status === 409 || error.isGone);
      if (!taken) throw error;
    }
  }
  return undefined;
}

export const unassignTask = (key: TaskKey): Promise<void> => done(remove("/user-tasks/{userTaskKey}/assignee", { userTaskKey: key }));

/** `variables` are names with JSON text. */
export function completeTask(key: TaskKey, variables: ReadonlyMap<string, string>): Promise<void> {
  const members = [...variables].map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  return completeTaskWith(key, `{${members.join(",")}}`);
}

/** `variables` is one object of JSON text. */
export const completeTaskWith = (key: TaskKey, variables: string): Promise<void> =>
  done(command("/user-tasks/{userTaskKey}/completion", { userTaskKey: key }, `{"variables":${variables}}`));

export type Act = "claim" | "unclaim" | "complete";

/** One command for many tasks, a few at a time; resolves with the refusals. */
export async function manyTasks(keys: readonly TaskKey[], act: Act, who: string): Promise<{ key: TaskKey; error: unknown }[]> {
  const rest = [...keys];
  const refused: { key: TaskKey; error: unknown }[] = [];
  const one = (key: TaskKey): Promise<unknown> => {
    const named = { userTaskKey: key };
    if (act === "claim") return post("/user-tasks/{userTaskKey}/assignment", named, { assignee: who, allowOverride: false });
    if (act === "unclaim") return send("delete", "/user-tasks/{userTaskKey}/assignee", named, undefined);
    return post("/user-tasks/{userTaskKey}/completion", named, {});
  };
  const worker = async () => {
    for (let key = rest.shift(); key !== undefined; key = rest.shift()) {
      const now = key;
      await one(now).catch((error: unknown) => refused.push({ key: now, error }));
    }
  };
  await done(Promise.all([worker(), worker(), worker(), worker()]));
  return refused;
}
