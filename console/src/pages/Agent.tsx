export default function Agent() { return null; }
