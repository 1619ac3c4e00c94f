import "./trust";
import { createRoot } from "react-dom/client";
import { enter } from "../api/session";
import { handedOver } from "../logic/handover";
import "../ui/tokens.css";
import "../ui/base.css";
import "@graphiql/react/style.css";
import "@graphiql/plugin-history/style.css";
import "@graphiql/plugin-doc-explorer/style.css";
import "graphiql/graphiql.css";
import { Explorer } from "./Explorer";

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root");
const theme = localStorage.getItem("agentgraph:theme");
if (theme) document.documentElement.dataset.theme = theme;
const given = handedOver(location.hash);
// Reloading the page must not open the given operation again.
if (given) history.replaceState(null, "", location.pathname);
const hint = await enter();
createRoot(root).render(<Explorer hint={hint} given={given} theme={theme === "light" || theme === "dark" ? theme : undefined} />);
