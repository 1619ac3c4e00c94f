import { useEffect, useEffectEvent, useId, useState, type KeyboardEvent } from "react";
import { useQuery } from "urql";
import { useLocation } from "wouter";
import { base } from "../api/base";
import { graphql } from "../api/graphql";
import { eachOnce } from "../logic/groups";
import type { Place } from "../logic/keys";
import { withoutOverrides } from "../logic/names";
import { found, placeOfId, withoutVerb } from "../logic/places";
import { may } from "./Act";
import { useModal } from "./Dialog";
import { leave } from "./leave";
import styles from "./Palette.module.css";
import { recent } from "./recent";
import { accountSections, sections } from "./sections";

/** All named objects; types with too many are filtered by the text. */
const PlacesQuery = graphql(`
  query Places($text: String, $rest: String) {
    agents(first: 100, filter: { nameContains: $text }) { pageInfo { hasNextPage } nodes { id name } }
    actedOn: agents(first: 12, filter: { nameContains: $rest }) { nodes { id name } }
    campaigns(first: 100, filter: { nameContains: $text }) { pageInfo { hasNextPage } nodes { id name } }
    datasets(first: 100) { nodes { id name } }
    knowledgeBaseChats(first: 100) { nodes { id name } }
  }
`);

/** Tests, tools and documents with the text in their names. There may be too many to load all names. */
const FoundQuery = graphql(`
  query Found($text: String!) {
    agentTests(first: 8, filter: { nameContains: $text }) { nodes { __typename id name lastRunId agent { id name } } }
    tools(first: 8, filter: { nameContains: $text }) { nodes { id name agents(first: 1) { nodes { id name } } } }
    documents(first: 8, filter: { nameContains: $text }) { nodes { id name } }
  }
`);

/** From this length on, tests, tools and documents are searched. */
const searchedFrom = 2;

interface Group {
  name: string;
  places: Place[];
}

/** A dialog that leads to pages, agents and other things by their names. `onOpened` returns the text that was typed before it opened. */
export default function Palette({ onOpened, onClose, onHelp }: { onOpened: () => string; onClose: () => void; onHelp: () => void }) {
  const [text, setText] = useState("");
  /** The address of the chosen place, since loaded results may move it; undefined for the first place. */
  const [to, setTo] = useState<string>();
  const [location, go] = useLocation();
  const id = useId();
  const { groups, isRead } = useGroups(text, location);
  const places = groups.flatMap((group) => group.places);
  const at = Math.max(0, places.findIndex((place) => place.to === to));
  const chosen = places[at];
  const open = (place: Place) => {
    onClose();
    if (place.to === "explore") window.location.assign(new URL("explore", base));
    else if (place.to === "?") onHelp();
    else if (place.to === "sign-out") void leave();
    else go(place.to);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setTo(places[(at + step + places.length) % Math.max(places.length, 1)]?.to);
    else if (event.key === "Enter" && chosen) open(chosen);
    else return;
    event.preventDefault();
  };
  const element = useModal();
  const begin = useEffectEvent(() => {
    const typed = onOpened();
    if (typed) setText(typed);
  });
  useEffect(() => begin(), []);
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [id, at]);
  return (
    <dialog
      ref={element}
      data-palette
      aria-label="Go to"
      className={styles.palette}
      onClick={(event) => event.target === element.current && onClose()}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Search pages, agents, tests, tools, documents and actions"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={chosen && `${id}-${at}`}
        placeholder="Page, agent, test, run, document, action…"
        autoFocus
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setTo(undefined);
        }}
        onKeyDown={onKey}
      />
      <div id={`${id}-list`} role="listbox" aria-label="Places" className={styles.list}>
        {groups.map((group) => (
          <div key={group.name} role="group" aria-label={group.name}>
            <div className={styles.group} aria-hidden="true">
              {group.name}
            </div>
            {group.places.map((place) => {
              const index = places.indexOf(place);
              return (
                <div key={place.to} dir="auto" id={`${id}-${index}`} role="option" aria-selected={index === at} className={styles.place} onClick={() => open(place)}>
                  {withoutOverrides(place.text)}
                </div>
              );
            })}
          </div>
        ))}
      </div>
      {places.length === 0 && (
        <p className="muted" role="status">
          {isRead ? "Nothing found." : "Searching…"}
        </p>
      )}
      <p className={`muted small ${styles.help}`}>
        <kbd>↑</kbd> <kbd>↓</kbd> choose, <kbd>Enter</kbd> opens, <kbd>Esc</kbd> closes
      </p>
    </dialog>
  );
}

function useGroups(text: string, location: string): { groups: Group[]; isRead: boolean } {
  const [isLarge, setLarge] = useState(false);
  const [{ data, error, fetching }] = useQuery({ query: PlacesQuery, variables: isLarge ? { text, rest: withoutVerb(text) } : { text: "", rest: "" } });
  if (!isLarge && (data?.agents.pageInfo.hasNextPage || data?.campaigns.pageInfo.hasNextPage)) setLarge(true);
  const sought = useSettled(text.trim(), 150);
  const isShort = sought.length < searchedFrom;
  const [more] = useQuery({ query: FoundQuery, variables: { text: sought }, pause: isShort });
  const tests = (!isShort && more.data?.agentTests.nodes) || [];
  const documents = (!isShort && more.data?.documents.nodes) || [];
  const tools = (!isShort && more.data?.tools.nodes) || [];
  const [visited] = useState(recent);
  const named = (path: string, nodes: readonly { id: string; name: string }[] = []) => nodes.map((node) => ({ to: `${path}/${node.id}`, text: node.name }));
  const pages = [...[...sections, ...accountSections].map(([path, name]) => ({ to: `/${path}`, text: name })), { to: "/schedules", text: "Schedules" }, { to: "explore", text: "API explorer" }, { to: "?", text: "Keyboard shortcuts" }];
  const byId = placeOfId(text);
  const groups = [
    { name: "By id", places: byId ? [{ ...byId, text: text.trim() }] : [] },
    { name: "Recent", places: text ? [] : visited.filter((place) => place.to !== location).slice(0, 5) },
    { name: "Agents", places: named("/agents", data?.agents.nodes) },
    { name: "Pages", places: pages },
    { name: "Campaigns", places: named("/campaigns", data?.campaigns.nodes) },
    { name: "Knowledge base chats", places: named("/knowledge/chats", data?.knowledgeBaseChats.nodes) },
    { name: "Datasets", places: named("/knowledge/datasets", data?.datasets.nodes) },
    { name: "Tests", places: tests.map((test) => ({ to: `/tests?agent=${test.agent.id}&edit=${test.id}`, text: `${test.name}, ${test.agent.name}` })) },
    { name: "Recent runs", places: tests.flatMap((test) => (test.lastRunId ? [{ to: `/runs/${test.lastRunId}`, text: `${test.name}, ${test.agent.name}` }] : [])) },
    // A tool is on the page of an agent that has it.
    { name: "Tools", places: tools.flatMap(({ id, name, agents }) => agents.nodes.map((agent) => ({ to: `/agents/${agent.id}/connections?tool=${id}`, text: `${name}, ${agent.name}` }))) },
    { name: "Documents", places: named("/knowledge/documents", documents) },
    { name: "Actions", places: text ? actions(each([...(data?.agents.nodes ?? []), ...(data?.actedOn.nodes ?? [])])) : [] },
  ];
  // The arrow keys go by address, so each place is listed once.
  const fitting = eachOnce(groups.map((group) => ({ ...group, places: found(group.places, text, 12) })));
  const isSearched = isShort ? sought === text.trim() : sought === text.trim() && !more.fetching;
  return { groups: fitting, isRead: !fetching && isSearched && Boolean(data ?? error) };
}

/** The agents, each once. */
function each<Agent extends { id: string }>(agents: readonly Agent[]): Agent[] {
  return [...new Map(agents.map((agent) => [agent.id, agent])).values()];
}

/** The actions that are possible on any page, with the key's scopes. */
function actions(agents: readonly { id: string; name: string }[]): Place[] {
  const synonyms = "create add";
  const creations = [
    { to: "/agents?new=agent", text: "New agent", synonyms },
    { to: "/campaigns?new=campaign", text: "New campaign", synonyms },
    { to: "/knowledge?new=dataset", text: "New dataset", synonyms },
    { to: "/knowledge?new=chat", text: "New knowledge base chat", synonyms },
  ];
  return [
    ...(may("simulate") ? [{ to: "/chats/new", text: "New chat", synonyms }, { to: "/?new=run", text: "Run all tests" }] : []),
    ...(may("write") ? creations : []),
    ...(may("simulate") ? agents.map(({ id, name }) => ({ to: `/chats/new?agent=${id}`, text: `Chat with ${name}` })) : []),
    ...agents.map(({ id, name }) => ({ to: `/tests?agent=${id}`, text: `Tests of ${name}` })),
    ...agents.map(({ id, name }) => ({ to: `/runs/queue?agent=${id}`, text: `Label verdicts of ${name}` })),
    { to: "sign-out", text: "Sign out of all tabs" },
  ];
}

/** The value once it has not changed for `ms` milliseconds. */
function useSettled(value: string, ms: number): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
