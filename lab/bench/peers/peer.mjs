// Shared by the JavaScript servers: it reads what to serve.

import { readFileSync } from 'node:fs';

const [host, port] = process.env.LISTEN.split(':');

export const listen = { host, port: Number(port) };

// Postgres's address is in PGHOST, PGPORT, PGUSER and PGDATABASE.
export const pool = { max: Number(process.env.POOL), idleTimeoutMillis: 0 };

const companies = JSON.parse(readFileSync(process.env.KEYS, 'utf8'));

// companyOf returns the company of the key in X-Api-Key.
export const companyOf = (request) => companies[request.headers['x-api-key']];
