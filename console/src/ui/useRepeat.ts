import { useEffect, useEffectEvent } from "react";

/** Acts again and again, so many milliseconds apart, while it is on. */
export function useRepeat(action: () => void, ms: number, isOn: boolean): void {
  const act = useEffectEvent(action);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => act(), ms);
    return () => clearInterval(timer);
  }, [isOn, ms]);
}
