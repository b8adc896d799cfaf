// What server.mjs offers.
export interface Running {
  url: string;
  pid: number | undefined;
  stop: () => Promise<void>;
}
export function startServer(settings?: string[]): Promise<Running>;
export interface Node {
  url: string;
  /** As `kill -9` does. */
  kill: () => Promise<void>;
}
export function startCluster(): Promise<{ nodes: Node[]; stop: () => Promise<void> }>;
