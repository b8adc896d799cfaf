// The first questions of the page of processes, sent while its code is loaded. Failures are shown by the page, which asks the same.
import { fetchInstances } from "../../api/instances";
import { queries } from "../../api/live";
import { type Definition, counts, newestOf, versions } from "../../api/processes";
import { xml } from "../../api/xml";
import { fetchDiagram } from "../../parts/diagram";
import { countFilter, filterOf, orderOf, withEnded } from "./filter";
import type { ProcessSearch } from "./search";

/** Of the versions of a process, the newest first: the one that is drawn. */
export const drawnOf = (known: readonly Definition[], search: ProcessSearch): Definition | undefined =>
  search.version === undefined ? (newestOf(known) ?? known[0]) : known.find((each) => String(each.version) === search.version);

export async function askFirst(search: ProcessSearch): Promise<void> {
  const filter = filterOf(search);
  if (filter) fetchInstances(filter, orderOf(search), search.after);
  if (search.process === undefined) return;
  fetchDiagram();
  const { items } = await queries.fetchQuery(versions(search.process));
  const drawn = drawnOf(items, search);
  if (drawn === undefined) return;
  void queries.prefetchQuery(xml(drawn.processDefinitionKey));
  if (filter) void queries.prefetchQuery(counts(drawn.processDefinitionKey, countFilter(filter), withEnded(search) || search.heat !== undefined));
}
