// What a table is given so that its columns sort: the order that is shown, and what a press of a column changes in the address.
import type { SortDescriptor } from "react-aria-components";
import { type Order, orderText } from "../api/order";

export const ordered = (order: Order, set: (sort: string) => void) => ({
  sort: { column: order.field, direction: order.order === "DESC" ? "descending" : "ascending" } satisfies SortDescriptor,
  onSort: ({ column, direction }: SortDescriptor) => set(orderText({ field: String(column), order: direction === "descending" ? "DESC" : "ASC" })),
});
