// The order of a list as an address says it: a field, with "-" before it where the last comes first.
export interface Order<Field extends string = string> {
  field: Field;
  order: "ASC" | "DESC";
}

/** What the address says if the list has such an order, else what is usual there. */
export function orderIn<Field extends string>(sort: string | undefined, fields: readonly Field[], usual: Order<Field>): Order<Field> {
  const field = fields.find((each) => each === sort?.replace("-", ""));
  return field === undefined || sort === undefined ? usual : { field, order: sort.startsWith("-") ? "DESC" : "ASC" };
}

/** Rows that are alike in what was chosen stand by their keys. */
export const withKey = <Field extends string, Key extends string>(order: Order<Field>, key: Key): Order<Field | Key>[] =>
  order.field === (key as string) ? [order] : [order, { field: key, order: order.order }];

export const orderText = ({ field, order }: Order): string => `${order === "DESC" ? "-" : ""}${field}`;
