import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { useGraphiQL, ToolbarButton } from "@graphiql/react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { base, gatewayURL } from "../api/base";
import { liveClient } from "../api/live";
import { onSignIn, signedIn } from "../api/session";
import { curl } from "../logic/curl";
import { SignIn } from "../ui/SignIn";
import { useDelay } from "../ui/useDelay";
import { knownQuery, type Known } from "./examples";
import { ExamplesPlugin, KnownContext } from "./ExamplesPlugin";
import styles from "./Explorer.module.css";
import { newFetcher, type Outcome } from "./fetcher";

const plugins = [ExamplesPlugin, HISTORY_PLUGIN];

interface Props {
  hint: string | undefined;
  theme: "light" | "dark" | undefined;
  /** The operation that a page of the console opens here. */
  given: { query: string; variables: string } | undefined;
}

/** GraphiQL for the company's API, signed in as the console is. */
export function Explorer({ hint, theme, given }: Props) {
  const { session, ended } = useSyncExternalStore(onSignIn, signedIn);
  const [outcome, setOutcome] = useState<Outcome>();
  const [known, setKnown] = useState<Known>();
  const fetcher = useMemo(() => session && newFetcher(liveClient(session.token), setOutcome), [session]);
  const isPatient = useDelay(300);
  const systemTheme = useSystemTheme();
  useEffect(() => {
    if (fetcher) void readKnown(fetcher).then(setKnown);
  }, [fetcher]);
  return (
    <div className={styles.page}>
      <header className={styles.header}>
        <span className={styles.brand}>agentgraph</span>
        <h1>API explorer</h1>
        <a href={base.href}>Back to the console</a>
        <p role="status" className={styles.outcome}>
          {outcome && summary(outcome)}
        </p>
      </header>
      <main className={styles.main} aria-label="Explorer">
        {fetcher && (
          <KnownContext value={known}>
            <GraphiQL
              fetcher={fetcher as never}
              {...(given && { initialQuery: given.query, initialVariables: given.variables })}
              plugins={plugins}
              visiblePlugin={ExamplesPlugin}
              defaultEditorToolsVisibility="variables"
              defaultQuery={"# Examples open in new tabs.\n# Ctrl-Space completes, Ctrl-Enter runs. Tab leaves the editor; after Ctrl-M it indents.\n\nquery Company {\n  company {\n    name\n  }\n}\n"}
              forcedTheme={theme ?? systemTheme}
              showPersistHeadersSettings={false}
            >
              <GraphiQL.Logo>
                <span />
              </GraphiQL.Logo>
              <GraphiQL.Toolbar>
                {({ prettify, merge, copy }) => (
                  <>
                    {prettify}
                    {merge}
                    {copy}
                    <CopyAsCurl />
                  </>
                )}
              </GraphiQL.Toolbar>
            </GraphiQL>
          </KnownContext>
        )}
      </main>
      {(ended || (!session && isPatient)) && <SignIn ended={ended} hint={hint} />}
    </div>
  );
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The system's theme, live. Monaco itself reads it only once. */
function useSystemTheme(): "light" | "dark" {
  return useSyncExternalStore(
    (listener) => {
      dark.addEventListener("change", listener);
      return () => dark.removeEventListener("change", listener);
    },
    () => (dark.matches ? "dark" : "light"),
  );
}

function summary({ operation, isRefused, status, ms, left, limit }: Outcome): string {
  if (operation === "IntrospectionQuery") return isRefused ? "Introspection is off, so the editor cannot complete or check queries." : "";
  if (operation === "Known") return "";
  return `${status} in ${ms} ms` + (left && limit ? ` · ${left} of ${limit} requests left` : "");
}

/** Reads ids for the examples' variables. An id is empty if the company has no such object. */
async function readKnown(fetcher: ReturnType<typeof newFetcher>): Promise<Known> {
  const { data } = (await fetcher({ query: knownQuery, operationName: "Known" })) as { data?: Record<string, { nodes: { id: string }[] } | null> };
  const id = (list: string) => data?.[list]?.nodes[0]?.id ?? "";
  return { agentId: id("agents"), chatId: id("simulationChats"), executionId: id("agentTestExecutions"), campaignId: id("campaigns") };
}

function CopyAsCurl() {
  const { queryEditor, variableEditor } = useGraphiQL((state) => state);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    const variables = variableEditor?.getValue().trim();
    await navigator.clipboard.writeText(
      curl(gatewayURL("graphql").href, { query: queryEditor?.getValue() ?? "", variables: variables ? JSON.parse(variables) : undefined }),
    );
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <ToolbarButton label={isCopied ? "Copied" : "Copy as curl"} onClick={() => void copy()}>
      <span className={styles.curl} aria-hidden="true">
        {isCopied ? "✓" : ">_"}
      </span>
    </ToolbarButton>
  );
}
