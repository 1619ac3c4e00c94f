// Mercurius on Fastify: a hand-written schema and resolvers, loaders that read a level at once, prepared statements,
// and operations that are compiled after their first run.

import Fastify from 'fastify';
import mercurius from 'mercurius';
import pg from 'pg';

import { companyOf, listen, pool } from '../peer.mjs';
import { resource, schema } from './schema.mjs';

const database = new pg.Pool(pool);

// rows runs a statement that each connection prepares once.
const rows = async (name, text, values) => (await database.query({ name, text, values })).rows;

// grouped returns the rows of each key, in the order of the keys.
const grouped = (keys, found) => {
  const groups = new Map(keys.map((key) => [key, []]));
  for (const row of found) groups.get(row.key).push(row);
  return keys.map((key) => groups.get(key));
};

const agentColumns = `id, name, channel, direction, language, tags, created_at AS "createdAt", updated_at AS "updatedAt",
  prompt, prompt_version AS "promptVersion", outbound_welcome_message AS "outboundWelcomeMessage",
  inbound_welcome_message AS "inboundWelcomeMessage", is_call_transfer_enabled AS "isCallTransferEnabled",
  fields, classification_tags AS "classificationTags", extracted_values AS "extractedValues",
  knowledge_base_chat_id AS "knowledgeBaseChatId"`;

const one = `SELECT ${agentColumns} FROM agents WHERE company_id = $1 AND id = $2 AND deleted_at IS NULL`;

const page = `SELECT id, name, channel, direction, language, tags, created_at AS "createdAt",
  knowledge_base_chat_id AS "knowledgeBaseChatId"
  FROM agents WHERE company_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $2`;

const tools = `SELECT e.agent_id AS key, t.id, t.name, t.technical_name AS "technicalName", t.description, t.parameters
  FROM agent_tools AS e JOIN tools AS t ON t.company_id = e.company_id AND t.id = e.tool_id
  WHERE e.company_id = $1 AND e.agent_id = ANY ($2) ORDER BY e.agent_id, e.position`;

const subAgents = `SELECT agent_id AS key, id, name, technical_name AS "technicalName", description, delegate_agent_id AS "agentId"
  FROM sub_agents WHERE company_id = $1 AND agent_id = ANY ($2) ORDER BY agent_id, position`;

const delegates = 'SELECT id AS key, id, name, channel FROM agents WHERE company_id = $1 AND id = ANY ($2) AND deleted_at IS NULL';

const chats = `SELECT id AS key, id, name, llm_settings AS "llmSettings"
  FROM knowledge_base_chats WHERE company_id = $1 AND id = ANY ($2)`;

const datasets = `SELECT e.chat_id AS key, d.id, d.name, d.chunk_method AS "chunkMethod"
  FROM knowledge_base_chat_datasets AS e JOIN datasets AS d ON d.company_id = e.company_id AND d.id = e.dataset_id
  WHERE e.company_id = $1 AND e.chat_id = ANY ($2) ORDER BY e.chat_id, e.position`;

const tests = `SELECT parent.id AS key, t.id, t.name, t.kind, t.last_run_status AS "lastRunStatus", t.created_at AS "createdAt"
  FROM unnest($2::text[]) AS parent (id) CROSS JOIN LATERAL (
    SELECT * FROM agent_tests WHERE company_id = $1 AND agent_id = parent.id AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $3) AS t`;

// many and single are loaders: they receive all objects of a level at once.
const many = (name, text, key) => async (asked, { company }) => {
  const keys = asked.map(({ obj }) => obj[key]);
  return grouped(keys, await rows(name, text, [company, [...new Set(keys)]]));
};

const single = (name, text, key) => async (asked, context) => (await many(name, text, key)(asked, context)).map(([row]) => row);

const loaders = {
  Agent: {
    tools: many('tools', tools, 'id'),
    subAgents: many('subAgents', subAgents, 'id'),
    knowledgeBaseChat: single('chats', chats, 'knowledgeBaseChatId'),
    tests: async (asked, { company }) => {
      const keys = asked.map(({ obj }) => obj.id);
      const found = await rows('tests', tests, [company, keys, asked[0].params.first]);
      return grouped(keys, found).map((nodes) => ({ nodes }));
    },
  },
  SubAgent: { agent: single('delegates', delegates, 'agentId') },
  KnowledgeBaseChat: { datasets: many('datasets', datasets, 'id') },
};

const resolvers = {
  Query: {
    agent: async (_, { id }, { company }) => (await rows('one', one, [company, id]))[0],
    agents: async (_, { first }, { company }) => {
      const found = await rows('page', page, [company, first + 1]);
      const nodes = found.slice(0, first);
      const last = nodes.at(-1);
      return { nodes, pageInfo: { hasNextPage: found.length > first, endCursor: last && cursor(last) } };
    },
  },
};

// cursor is a place in the list, in agentgraph's form.
const cursor = ({ createdAt, id }) => Buffer.from(`${createdAt} ${id}`).toString('base64url');

// Times stay texts, with Postgres's precision.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => `${text.replace(' ', 'T').replace('+00', '')}Z`);

const app = Fastify();
app.addHook('onRequest', async (request, reply) => {
  request.company = companyOf(request);
  if (!request.company) return reply.code(401).send();
});
app.register(mercurius, {
  schema, resolvers, loaders, jit: 1, graphiql: false, subscription: false, context: ({ company }) => ({ company }),
});
app.get('/Agent/:id', async (request, reply) => {
  const { data } = await reply.graphql(resource, { company: request.company }, { id: request.params.id });
  return data.agent;
});
await app.listen(listen);
