// English.
import { admin } from "./admin";
import { batches } from "./batches";
import { change } from "./change";
import { commands } from "./commands";
import { decisions } from "./decisions";
import { deleted } from "./deleted";
import { feel } from "./feel";
import { frame } from "./frame";
import { home } from "./home";
import { incidents } from "./incidents";
import { instance } from "./instance";
import { jobs } from "./jobs";
import { kept } from "./kept";
import { messages } from "./messages";
import { monitor } from "./monitor";
import { processes } from "./processes";
import { session } from "./session";
import { studio } from "./studio";
import { tasks } from "./tasks";
import { tenants } from "./tenants";
import { words } from "./words";

export const en = { admin, batches, change, commands, decisions, deleted, feel, frame, home, incidents, instance, jobs, kept, messages, monitor, processes, session, studio, tasks, tenants, words };
