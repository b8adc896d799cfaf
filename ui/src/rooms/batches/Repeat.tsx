// The same command once more, by the same plan, for those instances alone for which it failed.
import { useQuery } from "@tanstack/react-query";
import { type Batch, type BatchRequest, failedKeys, request } from "../../api/batches";
import { Many, type ManyProps } from "../../parts/Many";
import { text } from "../../text";
import { number } from "../../text/format";
import { pairsOf } from "./terms";

const t = text.batches;
const simple: Partial<Record<Batch["batchOperationType"], ManyProps["command"]>> = {
  CANCEL_PROCESS_INSTANCE: "cancel",
  RESOLVE_INCIDENT: "retry",
  DELETE_PROCESS_INSTANCE: "delete",
};

function commandOf(type: Batch["batchOperationType"], asked: BatchRequest | undefined): ManyProps["command"] | undefined {
  const { migrationPlan: plan, moveInstructions: pairs } = asked ?? {};
  if (plan) return { kind: "migrate", target: plan.targetProcessDefinitionKey, pairs: plan.mappingInstructions };
  return pairs ? { kind: "move", pairs } : simple[type];
}

export function Repeat({ operation }: { operation: Batch }) {
  const wanted = operation.operationsFailedCount > 0 && operation.endDate !== null;
  const key = operation.batchOperationKey;
  const asked = useQuery({ ...request(key), enabled: wanted }).data;
  const failed = useQuery({ ...failedKeys(key), enabled: wanted }).data;
  const command = commandOf(operation.batchOperationType, asked);
  if (!wanted || command === undefined || !failed || failed.length === 0) return null;
  const plan = typeof command === "string" ? [] : [`${command.kind === "move" ? t.moves : t.maps} ${pairsOf(command.pairs) || t.same}`];
  const terms = [t.failedOf(number(failed.length), key), ...plan];
  return <Many command={command} filter={{ processInstanceKey: { $in: failed } }} terms={terms} label={t.repeat(number(failed.length))} />;
}
