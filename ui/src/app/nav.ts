// The rooms of the rail, and to which component one needs access for each. A room that is not there yet is not here either.
import { Activity, Cog, FlaskConical, Hexagon, Layers, Mail, Network, PencilRuler, SquareCheckBig, Table2, TriangleAlert, UsersRound, Workflow } from "lucide-react";
import { text } from "../text";

export const rooms = [
  { to: "/", name: text.frame.home, icon: Hexagon, key: "h" },
  { to: "/processes", name: text.frame.processes, icon: Workflow, key: "p", needs: "operate" },
  { to: "/tasks", name: text.frame.tasks, icon: SquareCheckBig, key: "t", needs: "tasklist" },
  { to: "/incidents", name: text.frame.incidents, icon: TriangleAlert, key: "i", needs: "operate" },
  { to: "/decisions", name: text.frame.decisions, icon: Table2, key: "d", needs: "operate" },
  { to: "/jobs", name: text.frame.jobs, icon: Cog, key: "j", needs: "operate" },
  { to: "/messages", name: text.frame.messages, icon: Mail, key: "m", needs: "operate" },
  { to: "/batches", name: text.frame.batches, icon: Layers, key: "b", needs: "operate" },
  { to: "/monitor", name: text.monitor.title, icon: Activity, key: "o", needs: "operate" },
  { to: "/cluster", name: text.frame.cluster, icon: Network, key: "c" },
  { to: "/admin", name: text.admin.title, icon: UsersRound, key: "a", needs: "admin" },
  { to: "/studio", name: text.studio.title, icon: PencilRuler, key: "s" },
  { to: "/feel", name: text.feel.title, icon: FlaskConical, key: "f" },
] as const;
