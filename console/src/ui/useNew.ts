import { useSearchParams } from "wouter";

/** The kind of object that the page's creation dialog is open for. It is the URL parameter `new`, so other pages can open the dialog. */
export function useNew(): [what: string | undefined, set: (what?: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (what?: string) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        if (what) next.set("new", what);
        else next.delete("new");
        return next;
      },
      { replace: true },
    );
  return [params.get("new") ?? undefined, set];
}
