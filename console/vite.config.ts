import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The address of the gateway during development.
const gateway = process.env.AGENTGRAPH_URL ?? "http://127.0.0.1:8080";

export default defineConfig(({ command }) => ({
  // Built addresses are relative, because a proxy may strip a prefix.
  base: command === "build" ? "./" : "/console/",
  plugins: [react()],
  build: {
    target: "es2023",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
    // One script for the first load compresses better than one for each set of pages that share modules.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "index", tags: ["$initial"] }] } } },
  },
  server: {
    proxy: {
      "/graphql": { target: gateway, ws: true },
      "/console/session": gateway,
      "/Consumption": gateway,
    },
  },
}));
