import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Where a gateway runs while the console is developed.
const gateway = process.env.AGENTGRAPH_URL ?? "http://127.0.0.1:8080";

export default defineConfig(({ command }) => ({
  // Relative when built: the gateway knows how deep a page is, and a proxy may take a prefix off.
  base: command === "build" ? "./" : "/console/",
  plugins: [react()],
  build: {
    target: "es2023",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
  },
  server: {
    proxy: {
      "/graphql": { target: gateway, ws: true },
      "/console/session": gateway,
      "/Consumption": gateway,
    },
  },
}));
