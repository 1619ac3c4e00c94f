import { lazy, Suspense, useMemo, useSyncExternalStore, type ComponentType, type LazyExoticComponent } from "react";
import { Provider } from "urql";
import { Route, Router, Switch } from "wouter";
import { base } from "./api/base";
import { newClient } from "./api/client";
import { onSignIn, signedIn } from "./api/session";
import { Shell } from "./ui/Shell";
import { SignIn } from "./ui/SignIn";
import { Blank } from "./ui/Page";
import { Loading, NotFound } from "./ui/states";
import { useDelay } from "./ui/useDelay";

const pages: [path: string, page: LazyExoticComponent<ComponentType>][] = [
  ["/", lazy(() => import("./pages/Home"))],
  ["/agents", lazy(() => import("./pages/Agents"))],
  ["/agents/:id/:tab?", lazy(() => import("./pages/Agent"))],
  ["/chats", lazy(() => import("./pages/Chats"))],
  ["/chats/new", lazy(() => import("./pages/NewChat"))],
  ["/chats/:id", lazy(() => import("./pages/Chat"))],
  ["/tests", lazy(() => import("./pages/Tests"))],
  ["/tests/:id", lazy(() => import("./pages/Test"))],
  ["/tests/:id/blame", lazy(() => import("./pages/Blame"))],
  ["/schedules", lazy(() => import("./pages/Schedules"))],
  ["/runs/:id", lazy(() => import("./pages/Run"))],
  ["/compare", lazy(() => import("./pages/Compare"))],
  ["/knowledge", lazy(() => import("./pages/Knowledge"))],
  ["/knowledge/datasets/:id", lazy(() => import("./pages/Dataset"))],
  ["/knowledge/documents/:id", lazy(() => import("./pages/Document"))],
  ["/knowledge/chats/:id", lazy(() => import("./pages/KnowledgeBaseChat"))],
  ["/campaigns", lazy(() => import("./pages/Campaigns"))],
  ["/campaigns/:id", lazy(() => import("./pages/Campaign"))],
  ["/consumption", lazy(() => import("./pages/Consumption"))],
  ["/keys", lazy(() => import("./pages/Keys"))],
  ["/webhooks", lazy(() => import("./pages/Webhooks"))],
];

/** The console: the page at the address, and a dialog that asks for a key if there is no session. */
export function App({ hint }: { hint: string | undefined }) {
  const { session, ended } = useSyncExternalStore(onSignIn, signedIn);
  const client = useMemo(() => session && newClient(session), [session]);
  // Other tabs get time to offer their session first.
  const isPatient = useDelay(300);
  return (
    <Router base={base.pathname.replace(/\/$/, "")}>
      {client && (
        <Provider value={client}>
          <Shell>
            <Suspense
              fallback={
                <Blank>
                  <Loading />
                </Blank>
              }
            >
              <Switch>
                {pages.map(([path, Found]) => (
                  // The key makes a page with another id start over, so that it never shows the previous one's content.
                  <Route key={path} path={path}>{(params: { id?: string }) => <Found key={params.id} />}</Route>
                ))}
                <Route>
                  <NotFound />
                </Route>
              </Switch>
            </Suspense>
          </Shell>
        </Provider>
      )}
      {(ended || (!session && isPatient)) && <SignIn ended={ended} hint={hint} />}
    </Router>
  );
}
