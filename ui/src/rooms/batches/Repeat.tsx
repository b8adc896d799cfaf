// The same command once more, for those instances alone for which it failed. What a plan was made for, a migration for instance,
// has to be planned again: the server does not tell the plan.
import { useQuery } from "@tanstack/react-query";
import { type Batch, failedKeys } from "../../api/batches";
import { Many, type ManyProps } from "../../parts/Many";
import { text } from "../../text";
import { number } from "../../text/format";

const t = text.batches;
const commands: Partial<Record<string, ManyProps["command"]>> = {
  CANCEL_PROCESS_INSTANCE: "cancel",
  RESOLVE_INCIDENT: "retry",
  DELETE_PROCESS_INSTANCE: "delete",
};

export function Repeat({ operation }: { operation: Batch }) {
  const command = commands[operation.batchOperationType];
  const wanted = command !== undefined && operation.operationsFailedCount > 0 && operation.endDate !== null;
  const failed = useQuery({ ...failedKeys(operation.batchOperationKey), enabled: wanted }).data;
  if (!wanted || command === undefined || !failed || failed.length === 0) return null;
  return <Many command={command} filter={{ processInstanceKey: { $in: failed } }} terms={[t.failedOf(number(failed.length), operation.batchOperationKey)]} label={t.repeat(number(failed.length))} />;
}
