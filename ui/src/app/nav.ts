// The rooms of the rail. A room that is not there yet is not here either.
import { Cog, FlaskConical, Hexagon, Layers, Mail, Network, PencilRuler, SquareCheckBig, Table2, TriangleAlert, Workflow } from "lucide-react";
import { text } from "../text";

export const rooms = [
  { to: "/", name: text.frame.home, icon: Hexagon, key: "h" },
  { to: "/processes", name: text.frame.processes, icon: Workflow, key: "p" },
  { to: "/tasks", name: text.frame.tasks, icon: SquareCheckBig, key: "t" },
  { to: "/incidents", name: text.frame.incidents, icon: TriangleAlert, key: "i" },
  { to: "/decisions", name: text.frame.decisions, icon: Table2, key: "d" },
  { to: "/jobs", name: text.frame.jobs, icon: Cog, key: "j" },
  { to: "/messages", name: text.frame.messages, icon: Mail, key: "m" },
  { to: "/batches", name: text.frame.batches, icon: Layers, key: "b" },
  { to: "/cluster", name: text.frame.cluster, icon: Network, key: "c" },
  { to: "/studio", name: text.studio.title, icon: PencilRuler, key: "s" },
  { to: "/feel", name: text.feel.title, icon: FlaskConical, key: "f" },
] as const;
