// What server.mjs offers.
export interface Running {
  url: string;
  stop: () => Promise<void>;
}
export function startServer(settings?: string[]): Promise<Running>;
