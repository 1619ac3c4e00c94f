import { createRoot } from "react-dom/client";
import { App } from "./App";
import { enter } from "./api/session";
import { showFieldFaults } from "./ui/fieldFaults";
import { keepFocus } from "./ui/keepFocus";
import "./ui/tokens.css";
import "./ui/base.css";

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root");
// The icon's address is relative to the first page. Browsers load it again when the address changes, so it must be
// absolute.
const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
if (icon) icon.href = new URL(icon.href).href;
const theme = localStorage.getItem("agentgraph:theme");
if (theme) document.documentElement.dataset.theme = theme;
showFieldFaults();
keepFocus();
const hint = await enter();
createRoot(root).render(<App hint={hint} />);
