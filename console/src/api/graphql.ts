import { initGraphQLTada } from "gql.tada";
import type { introspection } from "./schema-types";

export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: {
    DateTime: string;
    DateBound: string;
    JSONObject: Record<string, unknown>;
    Credits: number;
    Upload: File;
  };
}>();

export type { FragmentOf, ResultOf, VariablesOf } from "gql.tada";
