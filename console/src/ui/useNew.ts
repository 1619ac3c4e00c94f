import { useSearchParams } from "wouter";

/** What the page's dialog for something new makes, from the parameter `new` of the address, so that other pages can open it. */
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
