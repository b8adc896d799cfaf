// User tasks.
import { post } from "./client";
import { live } from "./live";

/** How many wait for a person. */
export const openTasks = () =>
  live(["tasks", "count"], async (how) => {
    const { page } = await post("/user-tasks/search", {}, { filter: { state: "CREATED" }, page: { limit: 1 } }, how);
    return { total: page.totalItems, more: page.hasMoreTotalItems };
  });
