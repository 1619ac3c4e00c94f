import { useEffect, useEffectEvent } from "react";

/** Calls `action` every `ms` milliseconds while `isOn`. */
export function useRepeat(action: () => void, ms: number, isOn: boolean): void {
  const act = useEffectEvent(action);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => act(), ms);
    return () => clearInterval(timer);
  }, [isOn, ms]);
}
