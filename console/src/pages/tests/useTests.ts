import { useEffect, useState } from "react";
import type { CombinedError } from "@urql/core";
import { useClient } from "urql";
import { TestsQuery, type AgentOfTests, type TestRow } from "./AgentTests";

/** How many tests are read at once. */
export const testsPerPage = 100;

type Page = AgentOfTests["tests"];

export interface TestList {
  tests: TestRow[];
  totalCount: number;
  /** There are tests that were not read yet. */
  hasMore: boolean;
  /** Further tests are being read. */
  isReading: boolean;
  error: CombinedError | undefined;
  readMore: () => void;
  /** Reads the pages after the first one again. */
  refresh: () => void;
}

/** The tests of the agent, loaded page by page on demand or, with `wantsAll`, to the last. The first page comes with the agent. */
export function useTests(agent: AgentOfTests, folderId: string | null, wantsAll: boolean): TestList {
  const client = useClient();
  const list = `${agent.id} ${folderId ?? ""}`;
  const [wanted, setWanted] = useState({ list, pages: 1 });
  const [read, setRead] = useState<Record<string, Page>>({});
  const [error, setError] = useState<CombinedError>();
  const most = wantsAll ? Infinity : wanted.list === list ? wanted.pages : 1;
  const pages = [agent.tests];
  const cursors: string[] = [];
  for (let last: Page | undefined = agent.tests; last?.pageInfo.endCursor && last.pageInfo.hasNextPage && pages.length < most; ) {
    const cursor: string = last.pageInfo.endCursor;
    cursors.push(cursor);
    last = read[`${list} ${cursor}`];
    if (!last) break;
    pages.push(last);
  }
  const ask = (after: string, requestPolicy: "cache-first" | "network-only") =>
    client.query(TestsQuery, { agentId: agent.id, folderId, first: testsPerPage, after }, { requestPolicy });
  const chain = [list, ...cursors].join(" ");
  useEffect(() => {
    const followed = cursors.map((after) =>
      ask(after, "cache-first").subscribe((result) => {
        setError(result.error);
        const page = result.data?.agent?.tests;
        if (page) setRead((old) => ({ ...old, [`${list} ${after}`]: page }));
      }),
    );
    return () => followed.forEach((each) => each.unsubscribe());
    // The next query follows from the chain of cursors.
  }, [client, chain]);
  return {
    tests: pages.flatMap((page) => page.nodes),
    totalCount: agent.tests.totalCount,
    hasMore: pages.at(-1)?.pageInfo.hasNextPage ?? false,
    isReading: pages.length <= cursors.length && !error,
    error,
    readMore: () => setWanted({ list, pages: pages.length + 1 }),
    refresh: () => {
      setError(undefined);
      for (const after of cursors) void ask(after, "network-only").toPromise();
    },
  };
}
