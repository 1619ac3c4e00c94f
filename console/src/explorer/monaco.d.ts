declare module "monaco-editor/esm/vs/base/browser/dompurify/dompurify.js" {
  const DOMPurify: { sanitize: (html: string) => string };
  export default DOMPurify;
}

declare module "monaco-editor/esm/vs/editor/browser/config/tabFocus.js" {
  export const TabFocus: { setTabFocusMode: (isOn: boolean) => void };
}
