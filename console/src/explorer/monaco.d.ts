declare module "monaco-editor/esm/vs/base/browser/dompurify/dompurify.js" {
  const DOMPurify: { sanitize: (html: string) => string };
  export default DOMPurify;
}
