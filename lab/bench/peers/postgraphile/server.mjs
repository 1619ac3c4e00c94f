// PostGraphile 5 as a library, with its own preset, on Node's own HTTP server, as it recommends. Operations are planned
// once and statements are prepared. The operations' variables name the company, which saves row security.

import { createServer } from 'node:http';

import pg from 'pg';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

import { companyOf, listen, pool } from '../peer.mjs';

const service = postgraphile({
  extends: [PostGraphileAmberPreset],
  disablePlugins: ['PgIndexBehaviorsPlugin'], // it refuses to order an agent's few tools, which takes no index
  pgServices: [makePgService({ pool: new pg.Pool(pool), schemas: ['public'] })],
  grafast: { explain: false },
  grafserv: { graphiql: false, watch: false, websockets: false },
}).createServ(grafserv);

const server = createServer();
await service.addTo(server);

const [answer] = server.listeners('request');
server.removeAllListeners('request');
server.on('request', (request, response) => {
  if (!companyOf(request)) {
    response.writeHead(401).end();
    return;
  }
  answer(request, response);
});
server.listen(listen.port, listen.host);
