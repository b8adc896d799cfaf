// Where an error is: its processes, and within each its elements, with another try for what is at one of them.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { type ErrorElement, type ErrorGroup, type ErrorPlace, byElement } from "../../api/incidents";
import { Many } from "../../parts/Many";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { atLeast, number } from "../../text/format";
import { bulkFilter } from "./filter";
import type { IncidentSearch } from "./search";

const t = text.incidents;
/** So many processes show their elements at once; those of more are fetched when somebody opens them. */
const OPEN = 3;

export const nameOf = (place: ErrorPlace): string => `${place.processDefinitionName ?? place.processDefinitionId} v${place.processDefinitionVersion}`;

interface PlacesProps {
  error: ErrorGroup;
  places: readonly ErrorPlace[];
  search: IncidentSearch;
}

export function Places({ error, places, search }: PlacesProps) {
  return (
    <ul className="error-places" aria-label={t.places}>
      {places.map((place) => (
        <Place key={place.processDefinitionKey} error={error} place={place} search={search} isFew={places.length <= OPEN} />
      ))}
    </ul>
  );
}

interface PlaceProps {
  error: ErrorGroup;
  place: ErrorPlace;
  search: IncidentSearch;
}

function Place({ isFew, ...props }: PlaceProps & { isFew: boolean }) {
  const { error, place, search } = props;
  const isChosen = search.process === place.processDefinitionKey;
  const [open, setOpen] = useState(isFew || isChosen);
  const name = nameOf(place);
  const own: IncidentSearch = { error: search.error, find: search.find, sort: search.sort, process: place.processDefinitionKey };
  const count = place.activeInstancesWithErrorCount;
  return (
    <li>
      <div className={`place${isChosen && search.element === undefined ? " chosen" : ""}`}>
        <button type="button" className={`place-open${open ? " open" : ""}`} aria-expanded={open} aria-label={t.elementsOf(name)} onClick={() => setOpen(!open)}>
          <ChevronRight size={14} aria-hidden="true" />
        </button>
        <Link to="/incidents" search={own} className="clip" activeOptions={{ exact: true }}>
          {name}
        </Link>
        <span className="place-count faint figure">{t.instances(number(count), count === 1)}</span>
        <Many command="retry" filter={bulkFilter(error, own)} terms={[error.errorMessage, name]} label={text.commands.retry} of={name} />
      </div>
      {open ? <Elements {...props} /> : null}
    </li>
  );
}

function Elements({ error, place, search }: PlaceProps) {
  const query = useQuery(byElement(error, place.processDefinitionKey));
  return (
    <Shown query={query} rows={1} small>
      {({ items, cut }) => (
        <ul className="place-elements" aria-label={t.elementsOf(nameOf(place))}>
          {items.map((each) => (
            <Element key={each.elementId} error={error} place={place} search={search} element={each} />
          ))}
          {cut ? <li className="place-cut faint">{t.moreElements}</li> : null}
        </ul>
      )}
    </Shown>
  );
}

function Element({ error, place, search, element }: PlaceProps & { element: ErrorElement }) {
  const { elementId, name, incidents, more } = element;
  const own: IncidentSearch = { error: search.error, find: search.find, sort: search.sort, process: place.processDefinitionKey, element: elementId };
  const isChosen = search.process === own.process && search.element === elementId;
  const where = t.at(name, nameOf(place));
  return (
    <li className={`place${isChosen ? " chosen" : ""}`}>
      <Link to="/incidents" search={own} className="clip" title={elementId} activeOptions={{ exact: true }}>
        {name}
      </Link>
      <span className="place-count faint figure">{t.incidents(atLeast(incidents, more), incidents === 1)}</span>
      <Many command="retry" filter={bulkFilter(error, own)} terms={[error.errorMessage, where]} label={text.commands.retry} of={where} />
    </li>
  );
}
