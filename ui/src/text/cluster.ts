// What the page of the cluster says: it comes with that page, not with the first load.
import { cluster as en } from "./en/cluster";

export type ClusterText = typeof en;
export const cluster: ClusterText = en;
