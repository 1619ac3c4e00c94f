import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const source = (path: string) => fileURLToPath(new URL(`src/explorer/${path}`, import.meta.url));

const names = { entryFileNames: "assets/explore-[name]-[hash].js", chunkFileNames: "assets/explore-[name]-[hash].js" };

// The explorer is built separately, so that its two megabytes of editor change only when the explorer changes.
export default defineConfig({
  base: "./",
  plugins: [react()],
  resolve: {
    alias: [
      { find: "monaco-editor/esm/vs/editor/edcore.main.js", replacement: source("editor.ts") },
      { find: /^prettier\/(plugins\/estree|parser-babel)$/, replacement: source("jsonc.ts") },
    ],
  },
  worker: { format: "es", rollupOptions: { output: names } },
  build: {
    target: "es2023",
    emptyOutDir: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4_000,
    rollupOptions: {
      input: "explore.html",
      output: { ...names, assetFileNames: "assets/explore-[name]-[hash][extname]" },
      // GraphiQL's "use no memo" is for a compiler that is not used here.
      onwarn: (warning, warn) => warning.code !== "MODULE_LEVEL_DIRECTIVE" && warn(warning),
    },
  },
});
