// What REST tells about the server itself.
import { get } from "./client";
import { live } from "./live";

export const serverConfiguration = () => live(["cluster", "configuration"], (how) => get("/system/configuration", {}, { signal: how.signal }), 60_000);
